/* SPDX-License-Identifier: Apache-2.0 */
/* What a box is, in words: the tooltip at the pointer and the line below the graph. */

function describeSmall(model, node) {
    const {tree} = model;
    let count = 0, sum = 0;
    for (let c = tree.first[node]; c >= 0; c = tree.next[c]) {
        if (!tree.total[c])
            continue;
        count++;
        sum += tree.total[c];
    }
    return {name: "too small to draw", self: 0, total: null,
            where: `the smallest of ${formatCount(count)} callees of ${model.name(tree.frame[node])}` +
                   ": click to zoom in"};
}

function describePruned(model) {
    return `frames lighter than ${formatShare(model.info.pruned.min_share, 1)}, left out to keep the file small`;
}

function describe(model, node) {
    if (node < 0)
        return describeSmall(model, ~node);
    const {tree, sum} = model, {frames} = model.profile, f = tree.frame[node], parts = [];
    if (frames.pruned[f])
        parts.push(describePruned(model));
    if (frames.file[f])
        parts.push(frames.file[f] + (frames.line[f] ? ":" + frames.line[f] : ""));
    if (frames.module[f])
        parts.push(frames.module[f]);
    if (frames.inlined[f])
        parts.push("inlined");
    return {name: model.name(f), kind: f && !frames.pruned[f] ? model.info.kinds[frames.kind[f]] : null,
            where: parts.join("\n"), self: tree.self[node], total: tree.total[node], sum};
}

function describeWeight(model, what) {
    return `total ${formatValue(what.total, model.unit)} (${formatShare(what.total, what.sum)}), ` +
        `self ${formatValue(what.self, model.unit)} (${formatShare(what.self, what.sum)})`;
}

class Tooltip {
    constructor(model, pane, root, line) {
        this.model = model;
        this.root = root;
        this.line = line;
        pane.on("hover", (node, event) => this.hover(node, event));
        pane.on("select", node => this.say(node));
        pane.on("menu", () => this.root.hidden = true);
    }
    hover(node, event) {
        this.root.hidden = node === null;
        if (node === null)
            return;
        const what = describe(this.model, node), part = (tag, text) => {
            const element = document.createElement(tag);
            element.textContent = text;
            element.dir = "ltr";
            return element;
        };
        this.root.replaceChildren(part("b", what.name));
        if (what.kind) {
            const kind = part("span", what.kind.label);
            kind.prepend(makeSwatch(what.kind.id));
            this.root.append(kind);
        }
        if (what.total !== null)
            this.root.append(part("div", describeWeight(this.model, what)));
        if (what.where)
            this.root.append(part("small", what.where));
        this.place(event.clientX, event.clientY);
    }
    place(x, y) {
        const {offsetWidth: w, offsetHeight: h} = this.root;
        this.root.style.left = Math.max(Math.min(x + 14, innerWidth - w - 8), 4) + "px";
        this.root.style.top = (y + 18 + h > innerHeight ? Math.max(y - h - 10, 4) : y + 18) + "px";
    }
    say(node) {
        this.line.replaceChildren();
        if (node < 0)
            return;
        const what = describe(this.model, node), name = document.createElement("b");
        name.textContent = what.name;
        this.line.append(name, "  " + describeWeight(this.model, what) + "  " + what.where.replace(/\n/g, "  "));
    }
}
