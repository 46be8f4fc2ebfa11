/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline pane: zooming, scrolling, selection, search, and the range of time it shares with the flame graph. */

const SHORTEST_VIEW = 200; /* ns */

class TimelinePane {
    constructor(profile, model, root, tip, find) {
        this.profile = profile; /* the flame graph's model: it has the range */
        this.model = model;
        this.root = root;
        this.tip = tip;
        this.scroller = root.querySelector(".timeline-scroll");
        this.spacer = root.querySelector(".timeline-space");
        this.lanes = root.querySelector(".timeline-lanes");
        this.search = root.querySelector("#timeline-search");
        this.filter = root.querySelector("#timeline-filter");
        this.found = root.querySelector(".timeline-found");
        this.words = new TimelineWords(model);
        this.painter = new TimelinePainter(root.querySelector(".timeline-space canvas"), root.querySelector(".timeline-ruler"),
                                           model);
        this.side = new TimelineSide(this, root.querySelector(".timeline-side"), find);
        this.view = {from: model.info.from, to: Math.max(model.info.to, model.info.from + SHORTEST_VIEW)};
        this.folded = new Set();
        this.metrics = {shown: true, open: new Set()};
        this.chooseMetrics();
        this.selected = this.hover = null;
        this.most = new Map();
        this.canSelect = profile.profile.slices[0]?.n > 0;
        this.shown = false;
        this.say();
        this.listen();
        this.relayout();
    }
    show() {
        this.shown = true;
        this.resize();
    }
    hide() {
        this.shown = false;
        this.tip.root.hidden = true;
    }
    readTheme() {
        this.painter.readTheme();
        this.repaint();
    }
    /* What the page left out is said, whatever is in view. */
    say() {
        const {info} = this.model, parts = [];
        if (info.lost_spans)
            parts.push(`${formatCount(info.lost_spans)} spans were lost: there, waiting looks like running`);
        if (info.merged_spans)
            parts.push(`${formatCount(info.merged_spans)} spans below ${formatDuration(info.resolution)} are merged` +
                       (info.apart_to ? `, not those from ${formatMoment(info.apart_from, 1e6)} to ${formatMoment(info.apart_to, 1e6)}` : ""));
        if (info.merged_ticks)
            parts.push(`${formatCount(info.merged_ticks)} samples are counted with their neighbours`);
        if (info.left_lanes)
            parts.push(`${formatCount(info.left_lanes)} threads with the least to show are left out`);
        if (info.left_metrics)
            parts.push(`${formatCount(info.left_metrics)} lanes of metrics are left out`);
        if (info.left_stacks)
            parts.push(`${formatCount(info.left_stacks)} stacks are left out`);
        if (info.left_calls)
            parts.push(`${formatCount(info.left_calls)} calls deep within others are left out`);
        this.root.querySelector("[data-zoom=apart]").hidden = !info.apart_to;
        const note = this.root.querySelector(".timeline-note");
        note.textContent = note.title = parts.join("; ");
    }
    /* ---- layout ---- */
    relayout() {
        let filter = null;
        try {
            filter = laneFilter(this.model, this.filter.value.trim());
            this.filter.classList.remove("bad");
        } catch (error) {
            this.filter.classList.add("bad");
        }
        this.layout = layoutTimeline(this.model, filter, this.folded, this.metrics);
        this.resize();
    }
    resize() {
        const width = this.scroller.clientWidth, height = this.scroller.clientHeight;
        if (!width)
            return; /* hidden: show() comes back here */
        this.spacer.style.height = Math.max(this.layout.height, height) + "px";
        this.painter.resize(width, height);
        this.repaint();
        this.side.fill();
    }
    repaint() {
        if (this.frameAsked || !this.shown)
            return;
        this.frameAsked = true;
        requestAnimationFrame(() => {
            this.frameAsked = false;
            if (this.painter.width)
                this.painter.paint(this);
        });
    }
    /* Of few processes they are open from the start, of many they stay out of the way. */
    chooseMetrics() {
        const {lanes} = this.model, counts = new Map(), button = this.root.querySelector("#timeline-metrics");
        for (const lane of lanes)
            if (lane.kind === LANE_METRIC)
                counts.set(lane.process, (counts.get(lane.process) ?? 0) + 1);
        this.metrics.shown = counts.size <= 20;
        for (const process of counts.keys())
            if (counts.size <= 3 && process)
                this.metrics.open.add(process);
        button.hidden = !counts.size;
        button.setAttribute("aria-pressed", this.metrics.shown);
    }
    toggleMetrics() {
        this.metrics.shown = !this.metrics.shown;
        this.root.querySelector("#timeline-metrics").setAttribute("aria-pressed", this.metrics.shown);
        this.relayout();
    }
    /* Where the axis ends. */
    topOf(lane) {
        if (!this.most.has(lane))
            this.most.set(lane, niceTop(lane.points.value.reduce((a, b) => Math.max(a, b), 0), lane.unit));
        return this.most.get(lane);
    }
    /* How much of a thread's life it was running, as far as that was recorded. */
    busyShare(lane) {
        if (lane.kind !== LANE_THREAD || !this.model.info.switches)
            return "";
        if (lane.busy === undefined) {
            const sums = new Float64Array(this.model.info.states.length);
            this.model.sumStates(lane, 0, this.model.end, sums);
            const all = sums.reduce((a, b) => a + b, 0);
            lane.busy = all ? formatShare(Math.max(sums[0] - lane.shortWait - lane.shortQueued, 0), all) : "";
        }
        return lane.busy;
    }
    threads() {
        return this.layout.rows.filter(row => row.lane?.kind === LANE_THREAD);
    }
    countThreads() {
        const n = this.threads().length;
        return n === 1 ? "1 thread" : formatCount(n) + " threads";
    }
    sumStates(from, to) {
        const sums = new Float64Array(this.model.info.states.length);
        for (const row of this.threads())
            this.model.sumStates(row.lane, from, to, sums);
        return sums;
    }
    /* ---- view ---- */
    setView(from, to) {
        const span = Math.min(Math.max(to - from, SHORTEST_VIEW), this.model.end);
        const middle = (from + to) / 2, begin = Math.min(Math.max(middle - span / 2, 0), this.model.end - span);
        this.view = {from: begin, to: begin + span};
        this.repaint();
        clearTimeout(this.sideTimer);
        if (!this.selected)
            this.sideTimer = setTimeout(() => this.side.fill(), 120);
    }
    zoomBy(factor, at = (this.view.from + this.view.to) / 2) {
        const {from, to} = this.view;
        const span = Math.min(Math.max((to - from) * factor, SHORTEST_VIEW), this.model.end), share = (at - from) / (to - from);
        this.setView(at - span * share, at + span * (1 - share));
    }
    panBy(share) {
        const step = (this.view.to - this.view.from) * share;
        this.setView(this.view.from + step, this.view.to + step);
    }
    fit() {
        this.setView(0, this.model.end);
    }
    /* Where short spans are not merged, as in the rest of a very long run. */
    showApart() {
        const {apart_from: from, apart_to: to} = this.model.info;
        if (to)
            this.setView(from, to);
    }
    zoomToSpan(i) {
        const {start, end} = this.model.spans, margin = (end[i] - start[i]) * 0.15;
        this.setView(start[i] - margin, end[i] + margin);
    }
    bringIntoView(row, t) {
        const {scrollTop, clientHeight} = this.scroller, span = this.view.to - this.view.from;
        if (row.y < scrollTop || row.y + row.h > scrollTop + clientHeight)
            this.scroller.scrollTop = row.y - clientHeight / 2;
        if (t < this.view.from || t > this.view.to)
            this.setView(t - span / 2, t + span / 2);
    }
    timeAt(x) {
        const {from, to} = this.view;
        return from + (x - LABELS) / Math.max(this.painter.width - LABELS, 1) * (to - from);
    }
    /* ---- the range of time, in the flame graph's slices ---- */
    shownRange() {
        if (this.dragged)
            return this.dragged;
        const {range, info} = this.profile;
        return range && {from: range.from * info.slice_ns, to: Math.min(range.to * info.slice_ns, this.model.end)};
    }
    selectRange(from, to) {
        const slice = this.profile.info.slice_ns, {n} = this.profile.profile.slices[this.profile.metric];
        const begin = Math.min(Math.max(Math.floor(from / slice), 0), n - 1);
        this.profile.set({range: {from: begin, to: Math.min(Math.max(Math.ceil(to / slice), begin + 1), n)}});
    }
    showRange() {
        const button = this.root.querySelector("#timeline-unselect"), {range} = this.profile, shown = this.shownRange();
        button.hidden = !range;
        if (range)
            button.textContent = `${formatMoment(shown.from, 1e6, shown.to)} \u2013 ${formatMoment(shown.to, 1e6)} \u00d7`;
        this.repaint();
        if (this.shown)
            this.side.fill();
    }
    /* ---- selection ---- */
    select(hit) {
        this.selected = hit;
        if (hit) {
            const row = this.layout.rows.find(candidate => candidate.lane === hit.lane);
            if (row && hit.span !== undefined)
                this.bringIntoView(row, Math.max(this.model.spans.start[hit.span], Math.min(this.view.from, this.model.spans.end[hit.span])));
        }
        this.side.fill();
        this.repaint();
    }
    selectSpan(i) {
        const lane = this.model.lanes[this.model.spans.lane[i]];
        this.select({lane, span: i, t: (this.model.spans.start[i] + this.model.spans.end[i]) / 2});
    }
    /* The next span of the lane, or the one before. */
    step(by) {
        const span = this.selected?.span, row = this.selected?.lane?.rows.find(([from, to]) => span >= from && span < to);
        if (row && span + by >= row[0] && span + by < row[1])
            this.selectSpan(span + by);
        else if (!row)
            this.panBy(by * 0.1);
    }
    /* The same moment in the next thread up or down. */
    stepLane(by) {
        const rows = this.threads(), {spans} = this.model;
        if (!rows.length)
            return;
        const at = rows.findIndex(row => row.lane === this.selected?.lane), next = rows[at < 0 ? 0 : at + by];
        if (!next)
            return;
        const t = this.selected?.span !== undefined ? (spans.start[this.selected.span] + spans.end[this.selected.span]) / 2
                                                     : (this.view.from + this.view.to) / 2;
        const span = this.spanAt(next.lane, 0, t);
        this.select({lane: next.lane, span: span < 0 ? undefined : span, t});
    }
    spanAt(lane, depth, t) {
        const row = lane.rows[depth], {start, end} = this.model.spans;
        if (!row)
            return -1;
        const i = firstEndingAfter(end, row, t);
        return i < row[1] && start[i] <= t ? i : -1;
    }
    goToWaker(i) {
        const {tasks, lanes, spans} = this.model, lane = lanes[tasks[spans.waker[i] - 1]?.lane];
        if (!lane)
            return;
        if (!this.layout.rows.some(row => row.lane === lane)) {
            this.filter.value = "";
            this.folded.delete(lane.process);
            this.relayout();
        }
        const span = this.spanAt(lane, 0, spans.end[i]);
        this.select({lane, span: span < 0 ? undefined : span, t: spans.end[i]});
    }
    /* ---- search ---- */
    setSearch(text) {
        this.search.value = text;
        this.runSearch();
    }
    runSearch() {
        const {frames, nodes, spans, strings} = this.model, text = this.search.value;
        this.matched = this.matchedNodes = null;
        this.found.textContent = "";
        this.search.classList.remove("bad");
        let regex = null;
        try {
            regex = text ? new RegExp(text, /\p{Lu}/u.test(text) ? "" : "i") : null;
        } catch (error) {
            this.search.classList.add("bad");
            this.found.textContent = "not a regular expression";
        }
        if (regex) {
            const inFrame = frames.func.map((_, f) => f > 0 && regex.test(this.model.label(f)));
            const inString = strings.map(string => string !== "" && regex.test(string));
            const inState = this.model.info.states.map(state => regex.test(state.label));
            const inTask = [false, ...this.model.tasks.map((_, t) => regex.test(this.model.taskName(t + 1)))];
            this.matchedNodes = new Uint8Array(nodes.n);
            for (let i = 1; i < nodes.n; i++)
                this.matchedNodes[i] = this.matchedNodes[nodes.parent[i]] | inFrame[nodes.frame[i]];
            this.matched = new Uint8Array(spans.n);
            for (let i = 0; i < spans.n; i++)
                this.matched[i] = inState[spans.state[i]] || inString[spans.name[i]] || inTask[spans.waker[i]] ||
                    this.matchedNodes[spans.stack[i]] || this.matchedNodes[spans.wakerStack[i]] ? 1 : 0;
            this.matchSamples();
            this.sayFound();
        }
        this.repaint();
    }
    /* Running spans match by the samples in them. */
    matchSamples() {
        for (const lane of this.model.lanes) {
            const {ts, stack} = lane.ticks;
            for (let k = 0; k < ts.length; k++) {
                const i = this.matchedNodes[stack[k]] ? this.spanAt(lane, 0, ts[k]) : -1;
                if (i >= 0 && this.model.spans.state[i] === 0)
                    this.matched[i] = 1;
            }
        }
    }
    sayFound() {
        const {spans, lanes} = this.model;
        let n = 0, ns = 0, ticks = 0;
        for (let i = 0; i < spans.n; i++) {
            n += this.matched[i];
            ns += this.matched[i] ? spans.end[i] - spans.start[i] : 0;
        }
        for (const lane of lanes)
            lane.ticks.stack.forEach((node, k) => ticks += this.matchedNodes[node] ? lane.ticks.value[k] : 0);
        const spanText = `${formatCount(n)} ${n === 1 ? "span" : "spans"}, ${formatDuration(ns)}; `;
        this.found.textContent = (this.model.info.switches ? spanText : "") +
            `${formatCount(ticks)} ${ticks === 1 ? "sample" : "samples"}`;
    }
    nextMatch(by) {
        const rows = this.layout.rows.filter(row => row.lane).flatMap(row => row.lane.rows), {spans} = this.model;
        if (!this.matched)
            return;
        const order = rows.flatMap(([from, to]) => Array.from({length: to - from}, (_, k) => from + k))
                          .filter(i => this.matched[i]).sort((a, b) => spans.start[a] - spans.start[b] || a - b);
        if (!order.length)
            return;
        const at = order.indexOf(this.selected?.span);
        this.selectSpan(order[at < 0 ? 0 : (at + by + order.length) % order.length]);
    }
    escape() {
        if (this.search.value)
            this.setSearch("");
        else if (this.selected)
            this.select(null);
        else if (this.profile.range)
            this.profile.set({range: null});
        else
            this.fit();
    }
    /* ---- the pointer ---- */
    hit(x, y) {
        const at = rowAtHeight(this.layout, y + this.scroller.scrollTop), row = this.layout.rows[at];
        if (!row)
            return null;
        if (!row.lane || x < LABELS)
            return {row, lane: row.lane};
        const t = this.timeAt(x), inside = y + this.scroller.scrollTop - row.y;
        return {row, lane: row.lane, t, ...this.hitLane(row.lane, inside, t, x)};
    }
    hitLane(lane, y, t, x) {
        const {switches} = this.model.info;
        if (lane.kind === LANE_METRIC) {
            const point = firstAtOrAfter(lane.points.ts, t) - 1;
            return point >= 0 && t <= lane.to ? {point} : {};
        }
        if (lane.kind === LANE_THREAD && (!switches || (y >= 16 && y < 22))) {
            const tick = this.nearestTick(lane, t, x);
            if (tick >= 0 || !switches)
                return tick >= 0 ? {tick} : {};
        }
        const depth = lane.kind !== LANE_THREAD ? Math.floor((y - 3) / ROW.mark)
                                                : y < 22 ? 0 : Math.floor((y - 22) / ROW.more) + 1;
        const span = this.spanNear(lane, Math.max(Math.min(depth, lane.rows.length - 1), 0), t);
        return span >= 0 ? {span} : {};
    }
    /* Instants have no width: within three pixels is close enough. */
    spanNear(lane, depth, t) {
        const near = (this.view.to - this.view.from) / this.painter.width * 3, {start, end} = this.model.spans;
        const row = lane.rows[depth];
        if (lane.kind !== LANE_THREAD && row)
            for (let i = row[0]; i < row[1]; i++)
                if (start[i] === end[i] && Math.abs(start[i] - t) <= near)
                    return i;
        return this.spanAt(lane, depth, t);
    }
    nearestTick(lane, t, x) {
        const {ts} = lane.ticks, at = firstAtOrAfter(ts, t);
        const far = k => k >= 0 && k < ts.length ? Math.abs(this.painter.x(ts[k]) - x) : Infinity;
        const best = far(at - 1) < far(at) ? at - 1 : at;
        return far(best) <= 4 ? best : -1;
    }
    setHover(hit, event) {
        this.hover = hit;
        this.repaint();
        const says = hit?.lane && (hit.span !== undefined || hit.tick !== undefined || hit.point !== undefined ||
                                   (hit.t === undefined && hit.lane.shortCount));
        this.tip.root.hidden = !says;
        if (!says)
            return;
        this.words.fillTip(this.tip.root, hit);
        this.tip.place(event.clientX, event.clientY);
    }
    click(hit) {
        if (hit?.row.metrics) {
            if (!this.metrics.open.delete(hit.row.process))
                this.metrics.open.add(hit.row.process);
            this.relayout();
            return;
        }
        if (hit && !hit.lane) {
            if (!this.folded.delete(hit.row.process))
                this.folded.add(hit.row.process);
            this.relayout();
            return;
        }
        this.select(hit && hit.lane && hit.t !== undefined ? hit : null);
    }
    listen() {
        const {canvas, ruler} = this.painter;
        const place = event => {
            const box = canvas.getBoundingClientRect();
            return [event.clientX - box.left, event.clientY - box.top];
        };
        canvas.addEventListener("pointermove", event => !this.drag && this.setHover(this.hit(...place(event)), event));
        canvas.addEventListener("pointerleave", () => this.setHover(null));
        this.listenToPan(canvas, place);
        this.listenToSelect(ruler);
        this.lanes.addEventListener("wheel", event => this.wheel(event, place(event)[0]), {passive: false});
        canvas.addEventListener("dblclick", event => {
            const hit = this.hit(...place(event));
            if (hit?.span !== undefined)
                this.zoomToSpan(hit.span);
        });
        this.scroller.addEventListener("scroll", () => this.repaint());
        new ResizeObserver(() => this.resize()).observe(this.scroller);
        this.profile.subscribe(() => this.showRange());
        this.listenToBar();
    }
    listenToBar() {
        const soon = (input, act) => input.addEventListener("input", () => {
            clearTimeout(input.timer);
            input.timer = setTimeout(act, 80);
        });
        soon(this.search, () => this.runSearch());
        soon(this.filter, () => this.relayout());
        this.search.addEventListener("keydown", event => {
            if (event.key !== "Enter")
                return;
            event.preventDefault();
            this.runSearch();
            this.nextMatch(event.shiftKey ? -1 : 1);
        });
        for (const button of this.root.querySelectorAll("[data-zoom]"))
            button.addEventListener("click", () => {
                const zooms = {fit: () => this.fit(), apart: () => this.showApart(), in: () => this.zoomBy(0.5), out: () => this.zoomBy(2)};
                zooms[button.dataset.zoom]();
            });
        this.root.querySelector("#timeline-metrics").addEventListener("click", () => this.toggleMetrics());
        this.root.querySelector("#timeline-unselect").addEventListener("click", () => this.profile.set({range: null}));
    }
    /* Dragging moves the view; with shift it selects time. A press that does not move is a click. */
    listenToPan(canvas, place) {
        canvas.addEventListener("pointerdown", event => {
            const [x, y] = place(event);
            if (event.button !== 0)
                return;
            this.drag = {x, y, view: this.view, scroll: this.scroller.scrollTop, moved: false, selects: event.shiftKey && this.canSelect};
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener("pointermove", event => {
            const {drag} = this, [x, y] = place(event);
            if (!drag)
                return;
            drag.moved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4;
            if (!drag.moved)
                return;
            this.tip.root.hidden = true;
            if (drag.selects) {
                this.dragRange(this.timeAt(drag.x), this.timeAt(x));
                return;
            }
            const step = (drag.x - x) / (this.painter.width - LABELS) * (drag.view.to - drag.view.from);
            this.setView(drag.view.from + step, drag.view.to + step);
            this.scroller.scrollTop = drag.scroll + drag.y - y;
        });
        canvas.addEventListener("pointerup", event => {
            const {drag} = this;
            this.drag = null;
            if (drag && !drag.moved)
                this.click(this.hit(...place(event)));
            else if (drag?.selects)
                this.endRange();
        });
        canvas.addEventListener("pointercancel", () => this.drag = this.dragged = null);
    }
    listenToSelect(ruler) {
        let anchor = null;
        const time = event => this.timeAt(event.clientX - ruler.getBoundingClientRect().left);
        ruler.addEventListener("pointerdown", event => {
            if (event.button !== 0 || !this.canSelect)
                return;
            anchor = time(event);
            ruler.setPointerCapture(event.pointerId);
        });
        ruler.addEventListener("pointermove", event => anchor !== null && this.dragRange(anchor, time(event)));
        ruler.addEventListener("pointerup", () => {
            anchor = null;
            this.endRange();
        });
        ruler.addEventListener("pointercancel", () => anchor = this.dragged = null);
    }
    dragRange(a, b) {
        const clamp = t => Math.min(Math.max(t, 0), this.model.end);
        this.dragged = {from: clamp(Math.min(a, b)), to: clamp(Math.max(a, b))};
        this.repaint();
    }
    endRange() {
        const range = this.dragged;
        this.dragged = null;
        if (range && this.painter.x(range.to) - this.painter.x(range.from) > 3)
            this.selectRange(range.from, range.to);
        else
            this.profile.set({range: null});
    }
    /* The wheel scrolls lanes where there are more than fit, and zooms where not, or with Ctrl; sideways it moves in time. */
    wheel(event, x) {
        const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
        const amount = (event.deltaX && sideways ? event.deltaX : event.deltaY) * (event.deltaMode === 1 ? 16 : 1);
        const scrolls = this.layout.height > this.scroller.clientHeight;
        if (scrolls && !sideways && !event.ctrlKey && event.target !== this.painter.ruler)
            return;
        event.preventDefault();
        if (sideways)
            this.panBy(amount / 800);
        else
            this.zoomBy(Math.exp(Math.max(Math.min(amount, 200), -200) / 300), this.timeAt(Math.max(x, LABELS)));
    }
}
