/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows there are, and where: processes with their lanes below, filtered and folded. */

const ROW = {process: 24, thread: 25, more: 8, mark: 17, metric: 46, metrics: 20, ticks: 20};

const FEW_METRICS = 4; /* need no header */

function laneHeight(lane, switches) {
    if (lane.kind === LANE_METRIC)
        return ROW.metric;
    if (lane.kind !== LANE_THREAD)
        return lane.depth * ROW.mark + 6;
    return (switches ? ROW.thread : ROW.ticks) + (lane.depth - 1) * ROW.more;
}

/* A filter by name or id; null for none; throws SyntaxError. */
function laneFilter(model, text) {
    if (!text)
        return null;
    const regex = new RegExp(text, /\p{Lu}/u.test(text) ? "" : "i");
    return lane => {
        const process = model.processes[lane.process];
        return regex.test(model.laneName(lane)) || regex.test(`${process.name} ${process.pid}`);
    };
}

/* Rows from the top: {y, h, process}, {y, h, process, metrics: how many} or {y, h, lane, index, alone}. A process
 * of one thread and nothing else needs no header: alone. Many metrics lie below a header of their own, which
 * opens them; metrics.shown says whether they are in at all. A filter shows what it finds. */
function layoutTimeline(model, filter, folded, metrics) {
    const rows = [], lanes = new Map(), counts = new Map();
    let y = 0, process = -1;
    for (const lane of model.lanes) {
        if (lane.kind === LANE_METRIC)
            counts.set(lane.process, (counts.get(lane.process) ?? 0) + 1);
        if (lane.kind !== LANE_METRIC || metrics.shown)
            lanes.set(lane.process, (lanes.get(lane.process) ?? 0) + (lane.kind === LANE_THREAD ? 1 : 2));
    }
    const add = (row, h) => {
        rows.push(Object.assign(row, {y, h}));
        y += h;
    };
    let headed = -1;
    model.lanes.forEach((lane, index) => {
        if (filter && !filter(lane))
            return;
        if (lane.kind === LANE_METRIC && !metrics.shown)
            return;
        if (lane.process !== process) {
            process = lane.process;
            if (lanes.get(process) > 1)
                add({process}, ROW.process);
        }
        if (folded.has(process))
            return;
        const grouped = lane.kind === LANE_METRIC && !filter && counts.get(process) > FEW_METRICS;
        if (grouped && headed !== process) {
            add({process, metrics: counts.get(process)}, ROW.metrics);
            headed = process;
        }
        if (!grouped || metrics.open.has(process))
            add({lane, index, process, alone: lanes.get(process) === 1}, laneHeight(lane, model.info.switches));
    });
    return {rows, height: y};
}

/* The top of an axis that holds `most`: 1, 2 or 5 in the unit that it is written in. */
function niceTop(most, unit) {
    const kind = unit ? (unit - 1) >> 1 : -1, scale = kind === 0 && (unit - 1) & 1 ? 1e7 : kind === 3 ? 1e6 : kind === 4 ? 1e9 : 1;
    let step = kind === 1 ? 1024 ** Math.floor(Math.log(Math.max(most, 1)) / Math.log(1024)) : scale;
    if (!(most > 0))
        return step;
    const power = 10 ** Math.floor(Math.log10(most / step));
    for (const factor of [1, 2, 5])
        if (power * factor * step >= most * 0.98) /* a hair above does not halve the picture */
            return power * factor * step;
    return power * 10 * step;
}

function rowAtHeight({rows}, y) {
    let from = 0, to = rows.length;
    while (from < to) {
        const middle = (from + to) >> 1;
        if (rows[middle].y + rows[middle].h > y)
            to = middle;
        else
            from = middle + 1;
    }
    return y >= 0 && from < rows.length ? from : -1;
}

/* Steps of 1, 2 or 5 so that labels have room. */
function niceStep(span, pixels, room) {
    const least = span / pixels * room, power = 10 ** Math.floor(Math.log10(least));
    for (const factor of [1, 2, 5])
        if (power * factor >= least)
            return power * factor;
    return power * 10;
}

/* A moment of the run, to the digit that `step` tells apart, in the unit that suits `scale`. */
function formatMoment(ns, step, scale = ns) {
    const [unit, size] = scale >= 1e9 ? ["s", 1e9] : scale >= 1e6 ? ["ms", 1e6] : scale >= 1e3 ? ["\u00b5s", 1e3] : ["ns", 1];
    const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
    return (ns / size).toFixed(Math.min(digits, 9)) + " " + unit;
}
