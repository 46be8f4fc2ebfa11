/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline in words: the text in a span, the tooltip, the panel beside the lanes. */

function makePart(tag, text, className) {
    const element = document.createElement(tag);
    element.textContent = text;
    element.dir = "ltr";
    if (className)
        element.className = className;
    return element;
}

function makeStateSwatch(id) {
    const swatch = document.createElement("i");
    swatch.className = "swatch";
    swatch.style.background = `var(--state-${id})`;
    return swatch;
}

class TimelineWords {
    constructor(model) {
        this.model = model;
    }
    state(i) {
        return this.model.info.states[this.model.spans.state[i]];
    }
    /* What was waited for, after the kind of wait, once. */
    wait(i) {
        const {label} = this.state(i), what = this.model.strings[this.model.spans.name[i]];
        return !what ? label : what.startsWith(label) ? what : `${label}: ${what}`;
    }
    short(i) {
        const {spans, strings} = this.model, state = this.state(i);
        if (state.id === "mark" || (spans.work[i] && !this.isIdle(i)))
            return strings[spans.name[i]];
        if (state.class !== "waiting")
            return state.id === "running" ? this.model.place(this.sampleIn(i)) : state.label;
        const place = this.model.waitPlace(spans.stack[i]);
        return state.label + (place ? ": " + place : "");
    }
    /* The stack of the sample that is nearest to `t`, within the span; 0 for none. */
    sampleIn(i, t) {
        const {spans, lanes} = this.model, {ts, stack} = lanes[spans.lane[i]].ticks;
        const near = t ?? (spans.start[i] + spans.end[i]) / 2, at = firstAtOrAfter(ts, near);
        const inside = k => k >= 0 && k < ts.length && ts[k] >= spans.start[i] && ts[k] < spans.end[i];
        const [before, after] = [inside(at - 1), inside(at)];
        if (!before && !after)
            return 0;
        return stack[before && (!after || near - ts[at - 1] < ts[at] - near) ? at - 1 : at];
    }
    samplesIn(i) {
        const {spans, lanes} = this.model, {ts, value} = lanes[spans.lane[i]].ticks;
        let sum = 0;
        for (let k = firstAtOrAfter(ts, spans.start[i]); k < ts.length && ts[k] < spans.end[i]; k++)
            sum += value[k];
        return sum;
    }
    isIdle(i) {
        const {spans, lanes} = this.model;
        return lanes[spans.lane[i]].kind === LANE_IDLE;
    }
    /* What is known of a kernel, copy or call, in lines. */
    work(i) {
        const {spans, works} = this.model, work = works[spans.work[i]], lines = [], dur = spans.end[i] - spans.start[i];
        if (!work)
            return lines;
        if (work.grid[0])
            lines.push(`grid ${work.grid.join("\u00d7")}, block ${work.block.join("\u00d7")}` +
                       (work.registers ? `, ${work.registers} registers` : "") +
                       (work.shared ? `, ${formatCount(work.shared)} bytes shared` : ""));
        if (work.occupancy)
            lines.push(`occupancy ${formatShare(work.occupancy - 1, 1000)}, estimated`);
        if (work.bytes)
            lines.push(`${formatCount(work.bytes)} bytes` +
                       (dur ? `, ${(work.bytes / dur).toPrecision(3)} GB/s` : ""));
        if (work.graph)
            lines.push(`node ${work.node} of graph ${work.graph}`);
        if (work.failed)
            lines.push("failed");
        return lines;
    }
    /* The call that asked for what ran on a device. */
    launch(i) {
        const {spans, lanes} = this.model, call = spans.launch[i] - 1;
        if (call < 0)
            return [];
        return [`asked for ${formatDuration(Math.max(spans.start[i] - spans.start[call], 0))} before, ` +
                `by ${this.model.taskName(lanes[spans.lane[call]].task)} in ${this.short(call)}`];
    }
    waker(i) {
        const {spans} = this.model;
        if (spans.waker[i])
            return this.model.taskName(spans.waker[i]);
        return spans.head[i] & SPAN.irq ? "an interrupt" : "";
    }
    /* A wait for the GIL, in its own row: the other thread is who held it, not who ended the wait. */
    isHeld(i) {
        const {spans, lanes} = this.model, {rows} = lanes[spans.lane[i]];
        return this.state(i).id === "gil" && rows.length > 1 && i >= rows[1][0];
    }
    merged(i) {
        const {spans, lanes} = this.model, share = column => formatShare(column[i], 255);
        if (lanes[spans.lane[i]].kind !== LANE_THREAD)
            return `${formatCount(spans.merged[i])} spans too short to keep apart, ${formatShare(this.model.cover(i), 1)} of the time`;
        return `${formatCount(spans.merged[i])} spans too short to keep apart: running ${share(spans.runs)}, ` +
            `runnable ${share(spans.queues)}, waiting ${share(spans.waits)}`;
    }
    /* Of what else than its colour says it is, the most first. */
    parts(i) {
        const {spans, info} = this.model, parts = [...spans.parts.get(i) ?? []].sort((a, b) => b[1] - a[1]);
        return parts.length ? [parts.map(([state, ns]) => `${info.states[state].label} ${formatDuration(ns)}`).join(", ")] : [];
    }
    when(i) {
        const {spans} = this.model, dur = spans.end[i] - spans.start[i], step = Math.max(dur / 100, 1);
        if (!dur)
            return "at " + formatMoment(spans.start[i], 1e3);
        return formatDuration(dur) + (spans.head[i] & SPAN.open ? " and more" : "") +
            `, from ${formatMoment(spans.start[i], step)}`;
    }
    /* Lines of the tooltip: title, then {text, muted}. */
    describe(hit) {
        const {model} = this;
        if (hit.tick !== undefined)
            return this.describeTick(hit);
        if (hit.point !== undefined) {
            const {ts, value} = hit.lane.points;
            return {title: model.laneName(hit.lane), lines: [formatMetric(value[hit.point], hit.lane.unit)],
                    small: this.pointWhen(hit.lane, hit.point)};
        }
        if (hit.span !== undefined)
            return this.describeSpan(hit);
        return this.describeLane(hit);
    }
    pointWhen({points: {ts}, to}, i) {
        const end = i + 1 < ts.length ? ts[i + 1] : to, step = 1e6;
        return end > ts[i] ? `from ${formatMoment(ts[i], step, end)} to ${formatMoment(end, step)}` : "at " + formatMoment(ts[i], step);
    }
    describeTick({lane, tick}) {
        const {model} = this, {ts, value, stack} = lane.ticks, n = value[tick];
        return {title: model.place(stack[tick]) || "[no stack]", kind: model.kinds[model.frames.kind[model.nodes.frame[stack[tick]]]],
                lines: [n > 1 ? `${formatCount(n)} samples from here on` : "1 sample", "at " + formatMoment(ts[tick], 1e3)],
                small: this.stackText(stack[tick], 12)};
    }
    describeSpan({span: i, t}) {
        const {spans} = this.model, state = this.state(i), lines = [this.when(i)];
        if (spans.merged[i])
            return {title: "many short spans", lines: [...lines, this.merged(i), ...this.parts(i)], small: this.stackText(spans.stack[i], 8)};
        lines.push(...this.parts(i), ...this.launch(i), ...this.work(i));
        const waker = this.waker(i), at = this.model.place(spans.wakerStack[i]);
        if (waker)
            lines.push((this.isHeld(i) ? "held" : spans.head[i] & SPAN.open ? "last woken" : "woken") +
                       ` by ${waker}${at ? " in " + at : ""}`);
        const sample = state.id === "running" ? this.sampleIn(i, t) : spans.stack[i];
        if (state.id === "running")
            lines.push(this.countSamples(this.samplesIn(i)));
        return {title: state.id === "mark" ? this.short(i) : this.isIdle(i) ? this.idle(i) : this.wait(i), state, lines, small: this.stackText(sample, 12)};
    }
    /* What the host did, for what, where. */
    idle(i) {
        const {spans, strings} = this.model, what = spans.work[i] || spans.name[i] ? strings[spans.name[i]]
                                                                                   : this.model.waitPlace(spans.stack[i]);
        return this.state(i).label + (what ? ": " + what : "");
    }
    countSamples(n) {
        return n === 0 ? "no sample" : n === 1 ? "1 sample" : formatCount(n) + " samples, the nearest:";
    }
    describeLane({lane}) {
        const lines = [];
        if (lane.shortCount)
            lines.push(`${formatCount(lane.shortCount)} waits and delays too short to be listed: ` +
                       `${formatDuration(lane.shortWait)} waiting, ${formatDuration(lane.shortQueued)} runnable`);
        return {title: this.model.laneName(lane), lines, small: ""};
    }
    /* The kernel's frames are many and alike: the panel at the side has them, the tooltip counts them. */
    stackText(node, most) {
        const all = this.model.stack(node), {kind} = this.model.frames;
        const own = all.findIndex(f => kind[f] !== this.model.kernel), frames = own > 1 ? all.slice(own) : all;
        const text = frames.slice(0, most).map(f => this.model.label(f));
        if (own > 1)
            text.unshift(`[${own} kernel frames]`);
        if (frames.length > most)
            text.push(`\u2026 ${frames.length - most} more`);
        return text.join("\n");
    }
    fillTip(root, hit) {
        const what = this.describe(hit), title = makePart("b", what.title);
        root.replaceChildren(title);
        if (what.state)
            title.prepend(makeStateSwatch(what.state.id));
        else if (what.kind)
            title.prepend(makeSwatch(what.kind.id));
        for (const line of what.lines)
            root.append(makePart("div", line));
        if (what.small)
            root.append(makePart("small", what.small));
    }
}

/* What is selected, else time by state: of the selected range, else of what is in view. */
class TimelineSide {
    constructor(pane, root, find) {
        this.pane = pane;
        this.model = pane.model;
        this.root = root;
        this.find = find; /* looks a function up in the flame graph */
    }
    fill() {
        const {selected} = this.pane;
        this.root.replaceChildren();
        if (selected && (selected.span !== undefined || selected.tick !== undefined))
            this.fillSelected(selected);
        else
            this.fillStates();
    }
    fillSelected(hit) {
        const what = this.pane.words.describe(hit), {spans} = this.model, i = hit.span;
        const head = makePart("h3", what.title);
        if (what.state)
            head.prepend(makeStateSwatch(what.state.id));
        this.root.append(head, makePart("p", this.model.laneName(hit.lane), "side-lane"));
        for (const line of what.lines)
            this.root.append(makePart("p", line));
        this.root.append(this.actions(hit));
        if (i === undefined) {
            this.addStack("stack", hit.lane.ticks.stack[hit.tick]);
            return;
        }
        const running = what.state?.id === "running";
        this.addStack(running ? "sampled stack" : "stack", running ? this.pane.words.sampleIn(i, hit.t) : spans.stack[i]);
        const who = this.pane.words.isHeld(i) ? "who held it: " : "who woke it: ";
        this.addStack(who + this.pane.words.waker(i), spans.wakerStack[i]);
    }
    actions({span}) {
        const group = makePart("div", "", "side-actions"), {spans} = this.model, {pane} = this;
        if (span === undefined)
            return group;
        if (spans.end[span] > spans.start[span]) {
            group.append(makeButton("zoom", "show this span alone (Enter)", () => pane.zoomToSpan(span)));
            if (pane.canSelect)
                group.append(makeButton("select time", "filter the flame graph by it",
                                        () => pane.selectRange(spans.start[span], spans.end[span])));
        }
        if (spans.waker[span] && this.model.tasks[spans.waker[span] - 1].lane >= 0)
            group.append(pane.words.isHeld(span)
                             ? makeButton("holder", "what the holder did then (k)", () => pane.goToWaker(span))
                             : makeButton("waker", "what the waker did then (k)", () => pane.goToWaker(span)));
        return group;
    }
    addStack(title, node) {
        const frames = this.model.stack(node);
        if (!frames.length)
            return;
        const list = document.createElement("ol");
        for (const f of frames) {
            const item = document.createElement("li"), button = makeButton(this.model.label(f), this.where(f),
                                                                           () => this.find(this.model.frames.func[f]));
            button.prepend(makeSwatch(this.model.kinds[this.model.frames.kind[f]].id));
            item.append(button);
            list.append(item);
        }
        this.root.append(makePart("h4", title), list);
    }
    where(f) {
        const {file, line, module} = this.model.frames;
        return [file[f] + (file[f] && line[f] ? ":" + line[f] : ""), module[f]].filter(Boolean).join("\n");
    }
    /* What GPUs did, and why they did nothing. */
    fillDevices(range) {
        const {model} = this, sums = new Float64Array(model.info.states.length);
        for (const {lane} of this.pane.layout.rows)
            if (lane?.kind === LANE_STREAM || lane?.kind === LANE_IDLE)
                model.sumRows(lane, range.from, range.to, sums);
        const all = sums.reduce((a, b) => a + b, 0);
        if (all)
            this.root.append(makePart("h4", "GPUs: streams, and devices when idle"), this.table(sums, all));
    }
    table(sums, all) {
        const {states} = this.model.info, table = document.createElement("table");
        const order = [...sums.keys()].filter(s => sums[s] > 0).sort((a, b) => sums[b] - sums[a]);
        for (const s of order) {
            const row = table.insertRow();
            row.insertCell().append(makeStateSwatch(states[s].id), states[s].label);
            row.insertCell().textContent = formatDuration(sums[s]);
            row.insertCell().textContent = formatShare(sums[s], all);
        }
        return table;
    }
    fillStates() {
        const range = this.pane.shownRange() ?? this.pane.view;
        const sums = this.pane.sumStates(range.from, range.to), all = sums.reduce((a, b) => a + b, 0);
        this.root.append(makePart("h3", this.pane.shownRange() ? "Selected time" : "Time in view"),
                         makePart("p", `${formatDuration(range.to - range.from)} of ${this.pane.countThreads()}`));
        this.fillDevices(range);
        if (!this.model.info.switches) {
            this.root.append(makePart("p", "Switches were not recorded: there are samples at most, and between them nothing is " +
                                           "known. Record with the offcpu collector to see what threads wait for."));
            return;
        }
        this.root.append(this.table(sums, all), makePart("p", "Click a span for its stack. Waits too short to be listed look like running.",
                                         "side-hint"));
    }
}
