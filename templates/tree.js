/* SPDX-License-Identifier: Apache-2.0 */
/* Stack trees as flat arrays. A parent's index is below its children's, so one pass backwards sums up. */

function makeTree(n) {
    return {
        n, frame: new Int32Array(n), parent: new Int32Array(n), depth: new Int32Array(n),
        first: new Int32Array(n).fill(-1), next: new Int32Array(n).fill(-1),
        self: null, total: null,
    };
}

function linkChildren(tree) {
    for (let i = tree.n - 1; i > 0; i--) {
        const parent = tree.parent[i];
        tree.next[i] = tree.first[parent];
        tree.first[parent] = i;
    }
}

function sumTree(tree, self) {
    const total = Float64Array.from(self);
    for (let i = tree.n - 1; i > 0; i--)
        total[tree.parent[i]] += total[i];
    tree.self = self;
    tree.total = total;
}

/* The end of the subtree of `box` in a tree that is in preorder. */
function subtreeEnd(tree, box) {
    let end = box + 1;
    while (end < tree.n && tree.depth[end] > tree.depth[box])
        end++;
    return end;
}

/*
 * The tree with other frames: each box gets the frame that `become` has for its own. Where that is 0 its weight and
 * its children go to the parent, and so does a process or thread that would stand under one of the same name. Equal
 * children become one. `map` gives each old box its new one.
 */
function reshapeTree(base, become, kind) {
    let size = 1024;
    while (size < base.n * 2)
        size *= 2;
    const slots = new Int32Array(size), map = new Int32Array(base.n);
    const frame = new Int32Array(base.n), parent = new Int32Array(base.n);
    let n = 1;
    parent[0] = -1;
    for (let i = 1; i < base.n; i++) {
        const under = map[base.parent[i]], f = become[base.frame[i]];
        if (!f || (kind[f] === TASK && frame[under] === f)) {
            map[i] = under;
            continue;
        }
        let at = (Math.imul(under, 0x9e3779b1) ^ Math.imul(f, 0x85ebca6b)) >>> 0;
        at = (at ^ at >>> 15) & size - 1;
        while (slots[at] && (parent[slots[at]] !== under || frame[slots[at]] !== f))
            at = at + 1 & size - 1;
        if (!slots[at]) {
            slots[at] = n;
            parent[n] = under;
            frame[n++] = f;
        }
        map[i] = slots[at];
    }
    const tree = makeTree(n);
    tree.frame.set(frame.subarray(0, n));
    tree.parent.set(parent.subarray(0, n));
    for (let i = 1; i < n; i++)
        tree.depth[i] = tree.depth[parent[i]] + 1;
    linkChildren(tree);
    return {tree, map};
}

/* Self and total of each frame; a recursive function counts once in a stack. */
function frameSums(tree, nframes) {
    const self = new Float64Array(nframes), total = new Float64Array(nframes), open = new Int32Array(nframes);
    let i = 0;
    for (;;) {
        const f = tree.frame[i];
        self[f] += tree.self[i];
        if (!open[f]++)
            total[f] += tree.total[i];
        if (tree.first[i] >= 0) {
            i = tree.first[i];
            continue;
        }
        while (i >= 0) {
            open[tree.frame[i]]--;
            if (tree.next[i] >= 0)
                break;
            i = tree.parent[i];
        }
        if (i < 0)
            return {self, total};
        i = tree.next[i];
    }
}
