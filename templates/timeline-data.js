/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of the embedded timeline. Its layout is described in src/render/timeline_data.h. */

const LANE_THREAD = 0, LANE_METRIC = 1, LANE_MARKS = 2, LANE_STREAM = 3, LANE_IDLE = 4;
const SPAN = {merged: 32, stack: 64, name: 128, waker: 256, open: 512, irq: 1024, row: 2048, launch: 4096, work: 8192, parts: 16384};

function decodeTimelineFrames(r, strings) {
    const n = r.varint(), frames = {kind: new Uint8Array(n), func: [], file: [], module: [], line: new Int32Array(n)};
    for (let f = 0; f < n; f++) {
        frames.kind[f] = r.varint();
        frames.func.push(strings[r.varint()]);
        frames.file.push(strings[r.varint()]);
        frames.module.push(strings[r.varint()]);
        frames.line[f] = r.varint();
    }
    return frames;
}

function decodeTimelineNodes(r) {
    const n = r.varint() + 1, nodes = {n, parent: new Int32Array(n), frame: new Int32Array(n)};
    for (let i = 1; i < n; i++) {
        nodes.parent[i] = i - r.varint();
        nodes.frame[i] = r.varint();
    }
    return nodes;
}

/* All spans of all lanes; a row of a lane is a run of them, [from, to). */
class Spans {
    constructor(n) {
        this.start = new Float64Array(n);
        this.end = new Float64Array(n);
        this.head = new Uint16Array(n);
        for (const column of ["state", "runs", "queues", "waits"])
            this[column] = new Uint8Array(n);
        for (const column of ["merged", "stack", "name", "waker", "wakerStack", "lane", "launch", "work"])
            this[column] = new Int32Array(n);
        this.parts = new Map(); /* of spans that are of several states: [state, ns] of each */
        this.n = 0;
    }
    read(r, lane, before) {
        const i = this.n++, head = r.varint(), gap = r.varint();
        if (head & SPAN.row)
            before = 0;
        this.head[i] = head;
        this.state[i] = head & 31;
        this.lane[i] = lane;
        this.start[i] = before + (gap % 2 ? -(gap + 1) / 2 : gap / 2);
        this.end[i] = this.start[i] + r.varint();
        if (head & SPAN.merged) {
            this.merged[i] = r.varint();
            this.runs[i] = r.varint();
            this.queues[i] = r.varint();
            this.waits[i] = r.varint();
        }
        if (head & SPAN.stack)
            this.stack[i] = r.varint();
        if (head & SPAN.name)
            this.name[i] = r.varint();
        if (head & SPAN.waker) {
            this.waker[i] = r.varint();
            this.wakerStack[i] = r.varint();
        }
        if (head & SPAN.launch)
            this.launch[i] = r.varint();
        if (head & SPAN.work)
            this.work[i] = r.varint();
        if (head & SPAN.parts)
            this.parts.set(i, Array.from({length: r.varint()}, () => [r.varint(), r.varint()]));
        return i;
    }
}

function readRows(r, spans, lane, index) {
    let before = 0;
    lane.rows = lane.n ? [[spans.n, spans.n]] : [];
    for (let k = 0; k < lane.n; k++) {
        const i = spans.read(r, index, before);
        if (spans.head[i] & SPAN.row)
            lane.rows.push([i, i]);
        lane.rows[lane.rows.length - 1][1] = i + 1;
        before = spans.end[i];
    }
}

/* Pairs of a time and a value, with the stack between them where it is asked for. */
function readSeries(r, n, stacks) {
    const series = {n, ts: new Float64Array(n), value: new Float64Array(n), stack: new Int32Array(stacks ? n : 0)};
    for (let i = 0, at = 0; i < n; i++) {
        at += r.varint();
        series.ts[i] = at;
        if (stacks)
            series.stack[i] = r.varint();
        series.value[i] = r.varint();
    }
    return series;
}

function decodeLanes(r, strings, room) {
    const lanes = [], spans = new Spans(room);
    for (let n = r.varint(); n > 0; n--) {
        const lane = {};
        for (const key of ["kind", "process", "task", "name", "depth", "from", "to", "shortCount", "shortWait", "shortQueued",
                           "n", "nticks", "unit"])
            lane[key] = r.varint();
        lane.to += lane.from;
        lane.name = strings[lane.name];
        lane.rows = [];
        if (lane.kind === LANE_METRIC)
            lane.points = readSeries(r, lane.n, false);
        else
            readRows(r, spans, lane, lanes.length);
        lane.ticks = readSeries(r, lane.nticks, true);
        lanes.push(lane);
    }
    return {lanes, spans};
}

/* What was asked of a GPU: struct gpu_work of the model. */
function decodeWorks(r) {
    const works = [null];
    for (let n = r.varint(); n > 0; n--) {
        const work = {};
        for (const key of ["op", "context", "stream"])
            work[key] = r.varint();
        work.grid = [r.varint(), r.varint(), r.varint()];
        work.block = [r.varint(), r.varint(), r.varint()];
        for (const key of ["shared", "graph", "node", "bytes", "registers", "occupancy", "from", "to", "failed"])
            work[key] = r.varint();
        works.push(work);
    }
    return works;
}

/* A span takes three bytes or more: that bounds how many there can be. */
function decodeTimeline(bytes) {
    const r = new Reader(bytes), strings = [""], processes = [], tasks = [];
    for (let n = r.varint(); n > 0; n--)
        strings.push(visible(r.text(r.varint())));
    const frames = decodeTimelineFrames(r, strings), nodes = decodeTimelineNodes(r);
    for (let n = r.varint(); n > 0; n--)
        processes.push({pid: r.varint(), name: strings[r.varint()], device: r.varint() === 1});
    for (let n = r.varint(); n > 0; n--)
        tasks.push({pid: r.varint(), tid: r.varint(), name: strings[r.varint()], process: r.varint(), lane: r.varint() - 1});
    const works = decodeWorks(r), {lanes, spans} = decodeLanes(r, strings, Math.floor((bytes.length - r.at) / 3));
    return {strings, frames, nodes, processes, tasks, works, lanes, spans};
}

/* What is in a decoded timeline, by name. */
class TimelineModel {
    constructor(data, info, kinds) {
        Object.assign(this, data);
        this.info = info;
        this.kinds = kinds;
        this.end = Math.max(info.end, 1);
        this.kernel = kinds.findIndex(kind => kind.id === "kernel");
        this.gil = kinds.findIndex(kind => kind.id === "gil");
        this.mark = info.states.findIndex(state => state.id === "mark");
        this.python = kinds.findIndex(kind => kind.id === "python");
    }
    label(f) {
        const {func, file, kind} = this.frames;
        if (!file[f] || kind[f] !== this.python)
            return func[f];
        return `${func[f]} (${file[f].slice(file[f].lastIndexOf("/") + 1)})`;
    }
    /* Frames of a stack, the innermost first. */
    stack(node) {
        const frames = [];
        for (; node; node = this.nodes.parent[node])
            frames.push(this.nodes.frame[node]);
        return frames;
    }
    /* The innermost frame that is not the kernel's, nor the wait for the GIL itself, in words. */
    place(node) {
        const frames = this.stack(node), {kind} = this.frames, own = frames.find(f => kind[f] !== this.kernel && kind[f] !== this.gil);
        return frames.length ? this.label(own ?? frames[0]) : "";
    }
    /* Where a thread waits, as its author would say it: the innermost Python function, where there is one. */
    waitPlace(node) {
        const python = this.stack(node).find(f => this.frames.kind[f] === this.python);
        return python === undefined ? this.place(node) : this.label(python);
    }
    taskName(task) {
        return task ? `${this.tasks[task - 1].name} ${this.tasks[task - 1].tid}` : "";
    }
    laneName(lane) {
        if (lane.kind === LANE_THREAD)
            return this.taskName(lane.task);
        const name = lane.kind === LANE_MARKS ? "marks" : lane.name;
        return lane.task ? `${name}, ${this.taskName(lane.task)}` : name;
    }
    /* The same of all rows of a lane that is no thread's. A span that is cut has less of each of its parts. */
    sumRows(lane, from, to, sums) {
        const {spans} = this;
        for (const row of lane.rows)
            for (let i = firstEndingAfter(spans.end, row, from); i < row[1] && spans.start[i] < to; i++) {
                const all = spans.end[i] - spans.start[i], time = Math.min(spans.end[i], to) - Math.max(spans.start[i], from);
                for (const [state, ns] of spans.parts.get(i) ?? [[spans.state[i], all * this.cover(i)]])
                    sums[state] += all ? ns * time / all : 0;
            }
    }
    /* For how much of its time something went on: less than all of it where a span stands for many. */
    cover(i) {
        const {merged, runs, queues} = this.spans;
        return merged[i] ? (runs[i] * 256 + queues[i]) / 65535 : 1;
    }
    /* Time by state within [from, to) of one lane, in ns. Merged spans count by their shares. */
    sumStates(lane, from, to, sums) {
        const {spans} = this, row = lane.rows[0], running = 0, queued = 1;
        if (lane.kind !== LANE_THREAD || !row)
            return;
        for (let i = firstEndingAfter(spans.end, row, from); i < row[1] && spans.start[i] < to; i++) {
            const time = Math.min(spans.end[i], to) - Math.max(spans.start[i], from);
            if (!spans.merged[i]) {
                sums[spans.state[i]] += time;
                continue;
            }
            const waits = this.info.states[spans.state[i]].class === "waiting" ? spans.state[i] : 3;
            sums[running] += time * spans.runs[i] / 255;
            sums[queued] += time * spans.queues[i] / 255;
            sums[waits] += time * spans.waits[i] / 255;
        }
    }
}

/* Rows are in the order of time: the first span of one that ends after `t`. */
function firstEndingAfter(end, [from, to], t) {
    while (from < to) {
        const middle = (from + to) >> 1;
        if (end[middle] > t)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

function firstAtOrAfter(ts, t) {
    let from = 0, to = ts.length;
    while (from < to) {
        const middle = (from + to) >> 1;
        if (ts[middle] >= t)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}
