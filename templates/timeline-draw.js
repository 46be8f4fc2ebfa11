/* SPDX-License-Identifier: Apache-2.0 */
/* Painting of the timeline: the ruler, and the rows that are in sight. */

const LABELS = 216, RULER = 26; /* px: the column of names, the height of the ruler */

class TimelinePainter {
    constructor(canvas, ruler, model) {
        this.canvas = canvas;
        this.ruler = ruler;
        this.model = model;
        this.readTheme();
    }
    readTheme() {
        const style = getComputedStyle(document.documentElement), value = name => style.getPropertyValue(name).trim();
        this.fills = this.model.info.states.map(state => value("--state-" + state.id));
        this.kinds = this.model.kinds.map(kind => value(`--${kind.id}-0`));
        for (const name of ["ground", "panel", "line", "text", "muted", "accent", "accent-soft", "veil", "match", "box-text"])
            this[name] = value("--" + name);
        this.font = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
    }
    resize(width, height) {
        this.width = width;
        this.height = height;
        this.context = sizeCanvas(this.canvas, width, height);
        this.rulerContext = sizeCanvas(this.ruler, width, RULER);
    }
    x(t) {
        return LABELS + (t - this.view.from) / (this.view.to - this.view.from) * (this.width - LABELS);
    }
    paint(pane) {
        const c = this.context;
        this.pane = pane;
        this.view = pane.view;
        this.step = niceStep(this.view.to - this.view.from, Math.max(this.width - LABELS, 1), 90);
        c.font = this.font;
        c.textBaseline = "middle";
        c.clearRect(0, 0, this.width, this.height);
        this.paintGrid(c);
        this.inLanes(c, () => {
            this.rowsInSight(row => this.paintRow(c, row));
            this.paintMarkLines(c);
            this.paintFlow(c);
            this.paintRange(c, this.height);
        });
        this.rowsInSight(row => this.paintName(c, row));
        c.fillStyle = this.line;
        c.fillRect(LABELS - 1, 0, 1, this.height);
        this.paintRuler();
    }
    rowsInSight(paint) {
        const {layout, scroller} = this.pane, top = scroller.scrollTop;
        for (let i = Math.max(rowAtHeight(layout, top), 0); i < layout.rows.length; i++) {
            if (layout.rows[i].y - top > this.height)
                return;
            paint(layout.rows[i]);
        }
    }
    inLanes(c, paint) {
        c.save();
        c.beginPath();
        c.rect(LABELS, 0, this.width - LABELS, this.height);
        c.clip();
        paint();
        c.restore();
    }
    top(row) {
        return row.y - this.pane.scroller.scrollTop;
    }
    ticks(paint) {
        for (let t = Math.ceil(this.view.from / this.step) * this.step; t <= this.view.to; t += this.step)
            paint(t, Math.round(this.x(t)));
    }
    paintGrid(c) {
        c.fillStyle = this.line;
        c.globalAlpha = 0.55;
        this.ticks((t, x) => c.fillRect(x, 0, 1, this.height));
        c.globalAlpha = 1;
    }
    paintRow(c, row) {
        const y = this.top(row);
        if (row.metrics) {
            c.fillStyle = this.ground;
            c.fillRect(LABELS, y, this.width - LABELS, row.h);
        } else if (!row.lane) {
            c.fillStyle = this.panel;
            c.fillRect(LABELS, y, this.width - LABELS, row.h);
        } else if (row.lane.kind === LANE_METRIC) {
            this.paintMetric(c, row.lane, y, row.h);
        } else if (row.lane.kind === LANE_THREAD) {
            this.paintThread(c, row.lane, y);
        } else {
            row.lane.rows.forEach((spans, d) => this.paintSpans(c, spans, y + 3 + d * ROW.mark, ROW.mark - 3));
        }
        c.fillStyle = this.line;
        c.fillRect(LABELS, y + row.h - 1, this.width - LABELS, 1);
    }
    paintThread(c, lane, y) {
        if (!this.model.info.switches) {
            this.paintTicks(c, lane, y + 3, ROW.ticks - 7);
            return;
        }
        lane.rows.forEach((spans, d) => d ? this.paintSpans(c, spans, y + ROW.thread - 3 + (d - 1) * ROW.more, ROW.more - 2)
                                          : this.paintSpans(c, spans, y + 3, 13));
        this.paintTicks(c, lane, y + 17, 4);
    }
    /* Spans that share a pixel make it the colour of the state with the most time in it; where they are merged
       ones of a device, as high as much of the time it was at it. */
    paintSpans(c, row, y, h) {
        const {spans, lanes} = this.model, sums = new Float64Array(this.fills.length), {matched} = this.pane;
        const threads = row[0] < row[1] && lanes[spans.lane[row[0]]].kind === LANE_THREAD;
        let column = -1, lit = false, merged = false;
        const flush = () => {
            if (column < 0)
                return;
            const most = sums.indexOf(Math.max(...sums));
            const high = merged ? Math.max(h * Math.min(sums.reduce((a, b) => a + b), 1), 2) : h;
            this.fill(c, column, y + h - high, 1, high, most, lit);
            sums.fill(0);
            column = -1;
            lit = merged = false;
        };
        for (let i = firstEndingAfter(spans.end, row, this.view.from); i < row[1] && spans.start[i] < this.view.to; i++) {
            const from = this.x(spans.start[i]), to = this.x(spans.end[i]), at = Math.floor(from);
            const hit = !matched || matched[i] === 1;
            if (to - from < 1) {
                if (at !== column)
                    flush();
                column = at;
                sums[spans.state[i]] += Math.max((to - from) * (threads ? 1 : this.model.cover(i)), 1e-3);
                merged ||= !threads && spans.merged[i] > 0;
                lit ||= hit;
                continue;
            }
            flush();
            this.paintSpan(c, i, Math.max(from, LABELS - 2), Math.min(to, this.width + 2), y, h, hit);
        }
        flush();
    }
    fill(c, x, y, w, h, state, lit) {
        c.globalAlpha = lit ? 1 : 0.18;
        c.fillStyle = this.fills[state];
        c.fillRect(x, y, w, h);
        c.globalAlpha = 1;
    }
    paintSpan(c, i, from, to, y, h, lit) {
        const {spans, lanes} = this.model, x = Math.round(from), w = Math.max(Math.round(to) - x, 1), {selected, hover} = this.pane;
        const low = spans.merged[i] && lanes[spans.lane[i]].kind !== LANE_THREAD ? h * (1 - this.model.cover(i)) : 0;
        this.fill(c, x, y + Math.min(low, h - 2), w, h - Math.min(low, h - 2), spans.state[i], lit);
        if (spans.merged[i])
            this.paintMerged(c, i, x, y, w, h);
        else if (w > 42 && h > 9 && lit)
            this.paintText(c, this.pane.words.short(i), x, y, w, h);
        if (w > 3 && !spans.merged[i]) { /* neighbours of one state stay apart */
            c.fillStyle = this.ground;
            c.fillRect(x + w - 0.5, y, 0.5, h);
        }
        if (selected?.span === i || hover?.span === i) {
            c.strokeStyle = selected?.span === i ? this.accent : this.text;
            c.lineWidth = selected?.span === i ? 2 : 1;
            c.strokeRect(x + 0.5, y - 0.5, w - 1, h + 1);
        }
    }
    /* Shares of a merged span as bars from below: running, then runnable, on the ground of its state. */
    paintMerged(c, i, x, y, w, h) {
        const {spans, lanes} = this.model;
        if (lanes[spans.lane[i]].kind !== LANE_THREAD)
            return; /* it has the colour of most of its time, and is as high as much of it was so */
        const runs = spans.runs[i] / 255 * h, queues = spans.queues[i] / 255 * h;
        c.fillStyle = this.fills[this.model.info.states[spans.state[i]].class === "waiting" ? spans.state[i] : 3];
        c.fillRect(x, y, w, h);
        c.fillStyle = this.fills[1];
        c.fillRect(x, y + h - runs - queues, w, queues);
        c.fillStyle = this.fills[0];
        c.fillRect(x, y + h - runs, w, runs);
    }
    paintText(c, text, x, y, w, h) {
        const from = Math.max(x, LABELS) + 4, room = x + w - from - 3;
        if (!text)
            return;
        const fit = fitText(c, text, room);
        if (fit !== text && fit.length < 9)
            return;
        c.fillStyle = this["box-text"];
        c.fillText(fit, from, y + h / 2 + 0.5);
    }
    paintTicks(c, lane, y, h) {
        const {ts, stack} = lane.ticks, {frame} = this.model.nodes, {kind} = this.model.frames;
        let last = -1;
        for (let i = firstAtOrAfter(ts, this.view.from); i < ts.length && ts[i] <= this.view.to; i++) {
            const x = Math.floor(this.x(ts[i]));
            if (x === last)
                continue;
            last = x;
            const lit = !this.pane.matchedNodes || this.pane.matchedNodes[stack[i]];
            const on = this.pane.hover?.tick === i && this.pane.hover.lane === lane;
            c.globalAlpha = lit ? 1 : 0.15;
            c.fillStyle = on ? this.text : this.kinds[stack[i] ? kind[frame[stack[i]]] : 6];
            c.fillRect(x, y, on ? 2 : 1.5, h);
        }
        c.globalAlpha = 1;
    }
    paintMetric(c, lane, y, h) {
        const {ts, value} = lane.points, most = this.pane.topOf(lane), room = h - 10;
        const at = i => y + h - 3 - value[i] / (most || 1) * room;
        c.fillStyle = this.line;
        c.globalAlpha = 0.7;
        for (const share of [0.5, 1])
            c.fillRect(LABELS, Math.round(y + h - 3 - share * room), this.width - LABELS, 1);
        c.globalAlpha = 1;
        const begin = Math.max(firstAtOrAfter(ts, this.view.from) - 1, 0);
        if (!ts.length)
            return;
        c.beginPath();
        c.moveTo(this.x(ts[begin]), y + h - 3);
        let last = begin;
        for (let i = begin; i < ts.length; i++) { /* a value holds until the next */
            if (i > begin)
                c.lineTo(this.x(ts[i]), at(i - 1));
            c.lineTo(this.x(ts[i]), at(i));
            last = i;
            if (ts[i] > this.view.to)
                break;
        }
        const end = this.x(last + 1 < ts.length ? this.view.to : Math.max(ts[last], lane.to));
        c.lineTo(end, at(last));
        c.lineTo(end, y + h - 3);
        c.closePath();
        c.fillStyle = this["accent-soft"];
        c.fill();
        c.strokeStyle = this.accent;
        c.lineWidth = 1;
        c.stroke();
    }
    /* Instants of a process go through all of its lanes. */
    paintMarkLines(c) {
        const {spans, lanes} = this.model, {layout} = this.pane, {mark} = this.model;
        c.strokeStyle = this.fills[mark];
        c.setLineDash([3, 3]);
        c.lineWidth = 1;
        for (const row of layout.rows) {
            if (row.lane?.kind !== LANE_MARKS || !lanes[row.index].rows.length)
                continue;
            const inside = layout.rows.filter(other => other.lane && (!row.process || other.process === row.process));
            const end = inside[inside.length - 1], [from, to] = row.lane.rows[0];
            let last = -10;
            for (let i = from; i < to; i++) {
                const x = Math.round(this.x(spans.start[i])) + 0.5;
                if (spans.start[i] !== spans.end[i] || x - last < 4 || x < LABELS || x > this.width)
                    continue;
                last = x;
                c.beginPath();
                c.moveTo(x, this.top(row) + 2);
                c.lineTo(x, this.top(end) + end.h);
                c.stroke();
                c.fillStyle = this.muted;
                c.fillText(fitText(c, this.model.strings[spans.name[i]], 120), x + 3, this.top(row) + 3 + ROW.mark / 2);
            }
        }
        c.setLineDash([]);
    }
    /* From the thread that woke to the selected or hovered wait's end; from a call to what it asked for. */
    paintFlow(c) {
        const {spans, tasks} = this.model, i = (this.pane.hover?.span ?? -1) >= 0 ? this.pane.hover.span
                                                                                  : this.pane.selected?.span ?? -1;
        if (i >= 0 && spans.launch[i])
            this.paintLaunch(c, spans.launch[i] - 1, i);
        if (i < 0 || !spans.waker[i])
            return;
        const rowOf = lane => this.pane.layout.rows.find(row => row.index === lane);
        const from = rowOf(tasks[spans.waker[i] - 1].lane), to = rowOf(spans.lane[i]);
        if (!from || !to || from === to)
            return;
        const x = this.x(spans.end[i]), y0 = this.top(from) + 9, y1 = this.top(to) + (from.y < to.y ? 2 : 17);
        const head = from.y < to.y ? -6 : 6;
        c.strokeStyle = c.fillStyle = this.text;
        c.lineWidth = 1.5;
        c.beginPath();
        c.arc(x, y0, 2.5, 0, 2 * Math.PI);
        c.fill();
        c.beginPath();
        c.moveTo(x, y0);
        c.lineTo(x, y1);
        c.stroke();
        c.beginPath();
        c.moveTo(x, y1);
        c.lineTo(x - 4, y1 + head);
        c.lineTo(x + 4, y1 + head);
        c.fill();
    }
    /* The middle of a span's row; null where its lane is not there. */
    middle(i) {
        const {spans, lanes} = this.model, row = this.pane.layout.rows.find(r => r.index === spans.lane[i]);
        if (!row)
            return null;
        const depth = lanes[spans.lane[i]].rows.findIndex(([from, to]) => i >= from && i < to);
        return this.top(row) + 3 + depth * ROW.mark + (ROW.mark - 3) / 2;
    }
    paintLaunch(c, call, ran) {
        const {spans} = this.model, y0 = this.middle(call), y1 = this.middle(ran);
        if (y0 === null || y1 === null)
            return;
        const x0 = this.x(spans.start[call]), x1 = this.x(spans.start[ran]), head = x1 - x0 > 8 ? 5 : 0;
        c.strokeStyle = c.fillStyle = this.text;
        c.lineWidth = 1.5;
        c.beginPath();
        c.arc(x0, y0, 2.5, 0, 2 * Math.PI);
        c.fill();
        c.beginPath();
        c.moveTo(x0, y0);
        c.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, x1 - head, y1);
        c.stroke();
        c.beginPath();
        c.moveTo(x1, y1);
        c.lineTo(x1 - 6, y1 - 4);
        c.lineTo(x1 - 6, y1 + 4);
        c.fill();
    }
    paintRange(c, height) {
        const range = this.pane.shownRange();
        if (!range)
            return;
        const from = this.x(range.from), to = this.x(range.to);
        c.fillStyle = this.veil;
        c.fillRect(LABELS, 0, from - LABELS, height);
        c.fillRect(to, 0, this.width - to, height);
        c.fillStyle = this.accent;
        c.fillRect(from - 1, 0, 2, height);
        c.fillRect(to - 1, 0, 2, height);
    }
    paintName(c, row) {
        const y = this.top(row), {selected} = this.pane;
        c.fillStyle = row.lane ? this.ground : this.panel;
        c.fillRect(0, y, LABELS - 1, row.h);
        if (row.lane && selected?.lane === row.lane) {
            c.fillStyle = this["accent-soft"];
            c.fillRect(0, y, LABELS - 1, row.h - 1);
        }
        c.fillStyle = this.line;
        c.fillRect(0, y + row.h - 1, LABELS - 1, 1);
        if (row.metrics)
            this.paintMetricsName(c, row, y);
        else if (!row.lane)
            this.paintProcessName(c, row, y);
        else if (row.lane.kind === LANE_METRIC)
            this.paintMetricName(c, row, y);
        else
            this.paintNamePair(c, this.model.laneName(row.lane), this.pane.busyShare(row.lane), y, row);
    }
    paintProcessName(c, row, y) {
        const {name, pid} = this.model.processes[row.process], folded = this.pane.folded.has(row.process);
        c.fillStyle = this.muted;
        c.fillText(folded ? "\u25b8" : "\u25be", 8, y + row.h / 2);
        c.fillStyle = this.text;
        c.font = "600 " + this.font;
        c.fillText(fitText(c, row.process ? `${name} ${pid}` : name, LABELS - 30), 22, y + row.h / 2);
        c.font = this.font;
    }
    paintMetricsName(c, row, y) {
        c.fillStyle = this.muted;
        c.fillText(this.pane.metrics.open.has(row.process) ? "\u25be" : "\u25b8", 22, y + row.h / 2);
        c.fillText(row.metrics === 1 ? "1 metric" : `${row.metrics} metrics`, 36, y + row.h / 2);
    }
    /* With the axis: the ends of what is drawn. */
    paintMetricName(c, row, y) {
        const {lane, h} = row, room = h - 10, top = formatMetric(this.pane.topOf(lane), lane.unit);
        c.fillStyle = this.muted;
        c.textAlign = "right";
        c.font = this.font.replace("11px", "10px");
        c.fillText(top, LABELS - 8, y + h - 3 - room + 5);
        c.fillText("0", LABELS - 8, y + h - 8);
        c.textAlign = "left";
        c.font = this.font;
        c.fillStyle = this.line;
        c.fillRect(LABELS - 5, Math.round(y + h - 3 - room), 4, 1);
        c.fillRect(LABELS - 5, y + h - 3, 4, 1);
        c.fillStyle = this.text;
        c.fillText(fitText(c, this.model.laneName(lane), LABELS - 36 - c.measureText(top).width), 22, y + h / 2);
    }
    paintNamePair(c, name, value, y, {h, alone}) {
        const room = value ? c.measureText(value).width + 8 : 0, x = alone ? 8 : 22;
        c.fillStyle = this.text;
        c.font = alone ? "600 " + this.font : this.font;
        c.fillText(fitText(c, name, LABELS - x - 12 - room), x, y + h / 2);
        c.font = this.font;
        c.fillStyle = this.muted;
        c.textAlign = "right";
        c.fillText(value, LABELS - 8, y + h / 2);
        c.textAlign = "left";
    }
    paintRuler() {
        const c = this.rulerContext;
        c.font = this.font;
        c.textBaseline = "middle";
        c.clearRect(0, 0, this.width, RULER);
        c.fillStyle = this.panel;
        c.fillRect(0, 0, this.width, RULER);
        c.fillStyle = this.muted;
        c.fillText("drag here to select time", 22, RULER / 2);
        this.inLanes(c, () => {
            this.ticks((t, x) => {
                c.fillStyle = this.line;
                c.fillRect(x, RULER - 7, 1, 7);
                c.fillStyle = this.muted;
                c.fillText(formatMoment(t, this.step, this.view.to), x + 4, RULER / 2 - 1);
            });
            this.paintRange(c, RULER);
        });
        c.fillStyle = this.line;
        c.fillRect(0, RULER - 1, this.width, 1);
    }
}

function sizeCanvas(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1, c = canvas.getContext("2d");
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    return c;
}

/* The text, or its beginning with an ellipsis. Widths are guessed first: measuring is slow. */
function fitText(c, text, room) {
    if (text.length * 9 < room || c.measureText(text).width <= room)
        return text;
    let n = Math.min(text.length, Math.ceil(room / 3));
    while (n > 1 && c.measureText(text.slice(0, n) + "\u2026").width > room)
        n -= Math.ceil(n / 12);
    return n > 0 ? text.slice(0, n) + "\u2026" : "";
}

function formatCompact(n) {
    for (const [unit, scale] of [["G", 1e9], ["M", 1e6], ["k", 1e3]])
        if (n >= scale * 10)
            return +(n / scale).toPrecision(3) + " " + unit;
    return formatCount(n);
}
