/* SPDX-License-Identifier: Apache-2.0 */
/* Which boxes of a tree are wide enough to see, row by row. */

const FLAME_MIN_PIXELS = 0.7;

/*
 * Boxes of row d are those from start[d] to start[d + 1] in node, x and w (pixels). The rows above the zoomed box
 * are its ancestors, full width. A negative node is what's too small to be drawn under the parent ~node, together.
 */
function layoutFlame(model, zoom, width, byWeight) {
    const out = {node: [], x: [], w: [], start: [0], zoomRow: 0, rows: 0};
    const {tree} = model, path = [];
    for (let i = zoom; i >= 0; i = tree.parent[i])
        path.push(i);
    out.zoomRow = path.length - 1;
    while (path.length) {
        addBox(out, path.pop(), 0, width);
        out.start.push(out.node.length);
    }
    if (tree.total[zoom] > 0)
        while (addRow(out, model, byWeight))
            out.start.push(out.node.length);
    out.rows = out.start.length - 1;
    return out;
}

function addBox(out, node, x, w) {
    out.node.push(node);
    out.x.push(x);
    out.w.push(w);
}

/* The row below the last one; false where there is none. */
function addRow(out, model, byWeight) {
    const begin = out.start[out.start.length - 2], end = out.start[out.start.length - 1];
    for (let i = begin; i < end; i++)
        if (out.node[i] >= 0)
            addChildren(out, model, out.node[i], out.x[i], out.w[i], byWeight);
    return out.node.length > end;
}

function addChildren(out, model, node, x, w, byWeight) {
    const {tree} = model, scale = w / tree.total[node], shown = [];
    let small = 0;
    for (let c = tree.first[node]; c >= 0; c = tree.next[c]) {
        if (tree.total[c] * scale >= FLAME_MIN_PIXELS)
            shown.push(c);
        else
            small += tree.total[c];
    }
    sortChildren(model, shown, byWeight);
    for (const c of shown) {
        addBox(out, c, x, tree.total[c] * scale);
        x += tree.total[c] * scale;
    }
    if (small * scale >= FLAME_MIN_PIXELS)
        addBox(out, ~node, x, small * scale);
}

function sortChildren(model, children, byWeight) {
    const {tree} = model, {pruned} = model.profile.frames;
    const last = (a, b) => pruned[tree.frame[a]] - pruned[tree.frame[b]];
    if (children.length < 2)
        return;
    if (byWeight) {
        children.sort((a, b) => last(a, b) || tree.total[b] - tree.total[a]);
    } else if (model.map) { /* the base tree is in this order already */
        const rank = model.rank();
        children.sort((a, b) => last(a, b) || rank[tree.frame[a]] - rank[tree.frame[b]]);
    }
}

/* The box at a pixel of a row, as an index into the layout; -1 where there is none. */
function boxAt(layout, row, px) {
    if (row < 0 || row >= layout.rows)
        return -1;
    let low = layout.start[row], high = layout.start[row + 1] - 1;
    while (low < high) {
        const mid = low + high + 1 >> 1;
        if (layout.x[mid] <= px)
            low = mid;
        else
            high = mid - 1;
    }
    return low <= high && px >= layout.x[low] && px < layout.x[low] + layout.w[low] ? low : -1;
}
