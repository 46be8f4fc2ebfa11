/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown at the moment: the profile through the filters. Panes subscribe and read; controls call set(). */

class Model {
    constructor(profile, info) {
        this.profile = profile;
        this.info = info;
        this.metric = 0;
        this.range = null;        /* {from, to}: slices, `to` excluded */
        this.focus = 0;           /* a box of the base tree; 0: all */
        this.hiddenKinds = new Set();
        this.hiddenFrames = new Set();
        this.listeners = [];
        this.cut = null;          /* the tree without what is hidden */
        this.refresh();
    }
    subscribe(listener) {
        this.listeners.push(listener);
    }
    set(changes) {
        if ("hiddenKinds" in changes || "hiddenFrames" in changes)
            this.cut = null;
        Object.assign(this, changes);
        this.refresh();
        for (const listener of this.listeners)
            listener(changes);
    }
    get filtered() {
        return this.range !== null || this.focus !== 0 || this.hiddenKinds.size > 0 || this.hiddenFrames.size > 0;
    }
    get unit() {
        return this.info.metrics[this.metric].unit;
    }
    get sum() {
        return this.tree.total[0];
    }
    hidden() {
        const frames = this.profile.frames, hidden = new Uint8Array(frames.n);
        for (let f = 1; f < frames.n; f++)
            if (this.hiddenKinds.has(frames.kind[f]) || this.hiddenFrames.has(f))
                hidden[f] = 1;
        return hidden;
    }
    /* Self weight of the base boxes within the time range and the focus. */
    baseSelf() {
        const base = this.profile.tree, whole = this.profile.self[this.metric];
        let self = whole;
        if (this.range) {
            const slices = this.profile.slices[this.metric];
            self = new Float64Array(base.n);
            for (let i = slices.start[this.range.from], end = slices.start[this.range.to]; i < end; i++)
                self[slices.box[i]] += slices.value[i];
        }
        if (this.focus) {
            const end = subtreeEnd(base, this.focus), part = new Float64Array(base.n);
            part.set(self.subarray(this.focus, end), this.focus);
            self = part;
        }
        return self;
    }
    refresh() {
        const base = this.profile.tree, self = this.baseSelf();
        if (!this.hiddenKinds.size && !this.hiddenFrames.size) {
            this.tree = base;
            this.map = null;
            sumTree(base, self);
            return;
        }
        if (!this.cut)
            this.cut = withoutFrames(base, this.hidden());
        const {tree, map} = this.cut, moved = new Float64Array(tree.n);
        for (let i = 0; i < base.n; i++)
            moved[map[i]] += self[i];
        this.tree = tree;
        this.map = map;
        sumTree(tree, moved);
    }
    /* The place of each frame in the order of names. Made when first needed: names are many. */
    rank() {
        if (!this.ranks) {
            const func = this.profile.frames.func, order = Array.from(func.keys());
            order.sort((a, b) => func[a] < func[b] ? -1 : func[a] > func[b] ? 1 : a - b);
            this.ranks = new Int32Array(order.length);
            order.forEach((frame, place) => this.ranks[frame] = place);
        }
        return this.ranks;
    }
    /* Processes and threads: boxes under the root whose frames are tasks. */
    tasks() {
        const {tree, frames} = this.profile, self = this.profile.self[this.metric], found = [];
        const isTask = box => frames.kind[tree.frame[box]] === 0;
        const weight = box => {
            let sum = 0;
            for (let i = box, end = subtreeEnd(tree, box); i < end; i++)
                sum += self[i];
            return sum;
        };
        for (let p = tree.first[0]; p >= 0; p = tree.next[p]) {
            if (!isTask(p))
                continue;
            found.push({box: p, depth: 0, weight: weight(p)});
            for (let t = tree.first[p]; t >= 0; t = tree.next[t])
                if (isTask(t))
                    found.push({box: t, depth: 1, weight: weight(t)});
        }
        return found;
    }
}
