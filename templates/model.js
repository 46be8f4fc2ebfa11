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
        this.interpreter = true;  /* CPython's own native frames are shown */
        this.apart = info.apart;  /* processes of one name are */
        this.listeners = [];
        this.reshaped = undefined; /* the tree as these ask for, null: as it is */
        this.refresh();
    }
    subscribe(listener) {
        this.listeners.push(listener);
    }
    set(changes) {
        if (["hiddenKinds", "hiddenFrames", "interpreter", "apart"].some(key => key in changes))
            this.reshaped = undefined;
        Object.assign(this, changes);
        this.refresh();
        for (const listener of this.listeners)
            listener(changes);
    }
    get filtered() {
        return this.range !== null || this.focus !== 0 || this.hiddenKinds.size > 0 ||
            this.hiddenFrames.size > 0 || !this.interpreter;
    }
    get unit() {
        return this.info.metrics[this.metric].unit;
    }
    get sum() {
        return this.tree.total[0];
    }
    /* What a frame is called at the moment, and what its box says. */
    name(f) {
        return this.apart ? this.profile.frames.full[f] : this.profile.frames.func[f];
    }
    label(f) {
        return this.profile.frames.kind[f] === TASK ? this.name(f) : this.profile.frames.label[f];
    }
    isHidden(f) {
        return this.hiddenKinds.has(this.profile.frames.kind[f]) || this.hiddenFrames.has(f) ||
            (!this.interpreter && this.ofInterpreter(f));
    }
    ofInterpreter(f) {
        const {frames} = this.profile;
        return this.info.kinds[frames.kind[f]].id === "native" &&
            /(^|\/)(lib)?python\d[\d.]*[a-z]*(\.so[\d.]*)?$/.test(frames.module[f]);
    }
    /* Each frame's stand-in, 0 for none. */
    become() {
        const {frames} = this.profile, become = this.apart ? Int32Array.from(frames.join.keys()) : frames.join.slice();
        for (let f = 1; f < frames.n; f++)
            if (this.isHidden(f))
                become[f] = 0;
        return become;
    }
    /* Whether a thread stands under a process of its name. */
    hasNamesakes() {
        const {frames, tree} = this.profile, own = box => frames.join[tree.frame[box]];
        for (let i = 1; i < tree.n; i++)
            if (frames.kind[tree.frame[i]] === TASK && own(i) === own(tree.parent[i]))
                return true;
        return false;
    }
    reshape() {
        const {frames, tree} = this.profile, become = this.become();
        if (become.every((to, f) => to === f) && (this.apart || !this.hasNamesakes()))
            return null;
        return reshapeTree(tree, become, frames.kind);
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
        if (this.reshaped === undefined)
            this.reshaped = this.reshape();
        if (!this.reshaped) {
            this.tree = base;
            this.map = null;
            sumTree(base, self);
            return;
        }
        const {tree, map} = this.reshaped, moved = new Float64Array(tree.n);
        for (let i = 0; i < base.n; i++)
            moved[map[i]] += self[i];
        this.tree = tree;
        this.map = map;
        sumTree(tree, moved);
    }
    /* The place of each frame in the order of names. Made when first needed: names are many. */
    rank() {
        if (!this.ranks) {
            const func = this.profile.frames.full, order = Array.from(func.keys());
            order.sort((a, b) => func[a] < func[b] ? -1 : func[a] > func[b] ? 1 : a - b);
            this.ranks = new Int32Array(order.length);
            order.forEach((frame, place) => this.ranks[frame] = place);
        }
        return this.ranks;
    }
    /* Processes and threads: boxes under the root whose frames are tasks. */
    tasks() {
        const {tree, frames} = this.profile, self = this.profile.self[this.metric], found = [];
        const isTask = box => frames.kind[tree.frame[box]] === TASK;
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
