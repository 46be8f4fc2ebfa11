/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of the embedded profile. Its layout is described in src/render/page_data.h. */

function base64Bytes(text) {
    if (Uint8Array.fromBase64)
        return Uint8Array.fromBase64(text);
    const binary = atob(text), bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++)
        bytes[i] = binary.charCodeAt(i);
    return bytes;
}

const TASK = 0; /* the kind of processes and threads: FRAME_NONE */

class Reader {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }
    /* LEB128. Beyond 2^31 the shift operators don't do, beyond 2^53 nothing does. */
    varint() {
        const bytes = this.bytes;
        let byte = bytes[this.at++], value = byte & 0x7f, scale = 128;
        while (byte & 0x80) {
            byte = bytes[this.at++];
            value += (byte & 0x7f) * scale;
            scale *= 128;
        }
        return value;
    }
    text(length) {
        this.at += length;
        return Reader.utf8.decode(this.bytes.subarray(this.at - length, this.at));
    }
}
Reader.utf8 = new TextDecoder();

/* What a name looks like: control characters as pictures, and nothing that turns the direction of other text. */
function visible(name) {
    return name.replace(/[\x00-\x1f]/g, c => String.fromCharCode(0x2400 + c.charCodeAt(0)))
               .replace(/\x7f/g, "\u2421")
               .replace(/[\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

function decodeFrames(r, strings, metrics) {
    const n = r.varint() + 1;
    const frames = {
        n, func: new Array(n), file: new Array(n), module: new Array(n), line: new Int32Array(n),
        kind: new Uint8Array(n), shade: new Uint8Array(n), inlined: new Uint8Array(n), unknown: new Uint8Array(n),
        pruned: new Uint8Array(n), full: null, join: null,
        self: metrics.map(() => new Float64Array(n)), total: metrics.map(() => new Float64Array(n)),
    };
    frames.func[0] = "all";
    frames.file[0] = frames.module[0] = "";
    for (let i = 1; i < n; i++) {
        const flags = r.varint();
        frames.kind[i] = flags & 7;
        frames.inlined[i] = flags >> 3 & 1;
        frames.unknown[i] = flags >> 4 & 1;
        frames.pruned[i] = flags >> 5 & 1;
        frames.shade[i] = flags >> 6 & 3;
        frames.func[i] = strings[r.varint()];
        frames.file[i] = strings[r.varint()];
        frames.module[i] = strings[r.varint()];
        frames.line[i] = r.varint();
        for (let m = 0; m < metrics.length; m++) {
            frames.self[m][i] = r.varint();
            frames.total[m][i] = r.varint();
        }
    }
    return frames;
}

/* What stands in a box: Python functions with their file, as in folded text. */
function labelFrames(frames, kinds) {
    frames.label = frames.full.map((name, f) => {
        if (!frames.file[f] || kinds[frames.kind[f]].id !== "python")
            return name;
        return `${name} (${frames.file[f].slice(frames.file[f].lastIndexOf("/") + 1)})`;
    });
}

/*
 * Processes and threads are called "name (id)". `func` gets the name alone, `full` keeps both, `join` gives each frame
 * the one that stands for all of its name.
 */
function splitTasks(frames, haveIds) {
    const first = new Map();
    frames.full = haveIds ? frames.func.slice() : frames.func;
    frames.join = Int32Array.from(frames.func.keys());
    if (!haveIds)
        return;
    for (let f = 1; f < frames.n; f++) {
        if (frames.kind[f] !== TASK)
            continue;
        frames.func[f] = frames.full[f].replace(/ \(\d+\)$/, "");
        if (!first.has(frames.func[f]))
            first.set(frames.func[f], f);
        frames.join[f] = first.get(frames.func[f]);
    }
}

/* Boxes come in preorder: parents before children, siblings in the order of names. */
function decodeBoxes(r, metrics) {
    const n = r.varint(), path = [];
    const tree = makeTree(n), self = metrics.map(() => new Float64Array(n));
    let depth = -1;
    for (let i = 0; i < n; i++) {
        depth += 1 - r.varint();
        tree.frame[i] = r.varint();
        tree.depth[i] = depth;
        tree.parent[i] = depth ? path[depth - 1] : -1;
        path[depth] = i;
        for (let m = 0; m < metrics.length; m++)
            self[m][i] = r.varint();
    }
    linkChildren(tree);
    return {tree, self};
}

/* Samples with a time: slice s holds the pairs {box, value} from start[s] to start[s + 1]. */
function decodeSlices(r) {
    const n = r.varint(), pairs = r.varint();
    const slices = {n, start: new Int32Array(n + 1), box: new Int32Array(pairs), value: new Float64Array(pairs)};
    let at = 0;
    for (let s = 0; s < n; s++) {
        let count = r.varint(), box = 0;
        slices.start[s] = at;
        while (count--) {
            box += r.varint();
            slices.box[at] = box;
            slices.value[at++] = r.varint();
        }
    }
    slices.start[n] = at;
    return slices;
}

function decodeProfile(bytes, {metrics, kinds, task_ids: taskIds}) {
    const r = new Reader(bytes), strings = [""];
    for (let n = r.varint(); n > 0; n--)
        strings.push(visible(r.text(r.varint())));
    const frames = decodeFrames(r, strings, metrics);
    splitTasks(frames, taskIds);
    labelFrames(frames, kinds);
    const {tree, self} = decodeBoxes(r, metrics);
    return {frames, tree, self, slices: metrics.map(() => decodeSlices(r))};
}
