/* SPDX-License-Identifier: Apache-2.0 */
/* The topology in words: the tooltip, the panel at the side, the legend in which kinds are hidden. */

class TopologyWords {
    constructor(model) {
        this.model = model;
    }
    kind(node) {
        const {id} = this.model.kinds[node.kind];
        const inside = node.lines.slice(1).filter(line => line.startsWith("+ ")).map(line => " " + line).join("");
        return (node.count > 1 ? `${formatCount(node.count)} of kind ${id}` : id) + inside;
    }
    when({first, last}) {
        const at = ns => ns > this.model.start ? formatDuration(ns - this.model.start) : "the start";
        if (!first && !last)
            return "";
        return last > first ? `seen from ${at(first)} to ${at(last)}` : `seen at ${at(last)}`;
    }
    /* "12.0 KiB in 3 messages"; "" where nothing was counted. */
    amount(bytes, messages) {
        if (!bytes && !messages)
            return "";
        return formatBytes(bytes) + (messages ? ` in ${formatCount(messages)} ${messages === 1 ? "message" : "messages"}` : "");
    }
    flows(edge) {
        const [a, b] = [this.model.name(edge.a), this.model.name(edge.b)];
        const ab = this.amount(edge.bytesAb, edge.messagesAb), ba = this.amount(edge.bytesBa, edge.messagesBa);
        return [ab && `${a} \u2192 ${b}: ${ab}`, ba && `${b} \u2192 ${a}: ${ba}`].filter(Boolean);
    }
    waits(edge) {
        const [a, b] = [this.model.name(edge.a), this.model.name(edge.b)];
        const said = (who, whom, ns) => ns > 0 && `${who} waited ${formatDuration(ns)} for ${whom}`;
        return [said(a, b, edge.waitedA), said(b, a, edge.waitedB)].filter(Boolean);
    }
    edgeTitle(edge) {
        const {directed} = this.model.relations[edge.kind], arrow = !directed ? "\u2013" : edge.both ? "\u2194" : "\u2192";
        return `${this.model.name(edge.a)} ${arrow} ${this.model.name(edge.b)}`;
    }
    edgeKind(edge) {
        const {id} = this.model.relations[edge.kind];
        return edge.count > 1 ? `${id} \u00d7${formatCount(edge.count)}` : id;
    }
    edgeLines(edge) {
        const weight = edge.weight !== null && !this.model.isWait(edge) ? [`weight ${formatNumber(edge.weight)}`] : [];
        return [...this.flows(edge), ...this.waits(edge), ...weight, this.when(edge)].filter(Boolean);
    }
    /* Of each time: how long, and which part of what all processes have of it. */
    timeRows(node) {
        return !node.times ? [] : this.model.times.map((label, t) => ({label, ns: node.times[t], share: formatShare(node.times[t], this.model.sums[t])}))
                                      .filter(row => row.ns > 0);
    }
    attrRows(node) {
        const clock = /_ns$/, size = /(bytes|shm_size|resident|mapped|memory|memory_limit|mrlen)$/;
        return node.attrs.filter(([, value]) => value !== null && value !== "").map(([name, value]) => {
            if (typeof value === "number" && size.test(name))
                return [name, formatBytes(value)];
            if (typeof value === "number" && clock.test(name) && !/net_ns|pid_ns/.test(name))
                return [name, value > 1e17 ? new Date(value / 1e6).toISOString().replace("T", " ").slice(0, 23) : formatDuration(value)];
            return [name, String(value)];
        });
    }
    makeSwatch(what, id) {
        const swatch = makePart("i", "", "swatch" + (what === "edge" ? " stroke" : ""));
        swatch.style.background = `var(--${what}-${id})`;
        return swatch;
    }
    /* ---- the tooltip ---- */
    fillTip(root, {node, edge}) {
        root.replaceChildren(makePart("b", node ? this.model.name(node) : this.edgeTitle(edge)));
        const kind = makePart("span", node ? this.kind(node) : this.edgeKind(edge));
        kind.prepend(this.makeSwatch(node ? "node" : "edge", node ? this.model.kinds[node.kind].id : this.model.relations[edge.kind].id));
        root.append(kind);
        if (!node) {
            root.append(...this.edgeLines(edge).map(line => makePart("div", line)),
                        makePart("small", this.model.relations[edge.kind].meaning));
            return;
        }
        root.append(...this.timeRows(node).map(({label, ns, share}) => makePart("div", `${label} ${formatDuration(ns)}, ${share} of all`)));
        const attrs = this.attrRows(node).filter(([name]) => !node.times || name === "cmdline").slice(0, 8).map(([name, value]) => `${name}: ${value.slice(0, 160)}`);
        const members = node.members.slice(0, 6).map(member => member.label);
        const more = node.members.length + node.left - members.length;
        if (more > 0 && members.length)
            members.push(`and ${formatCount(more)} more`);
        root.append(makePart("small", [...(members.length ? members : attrs), this.when(node)].filter(Boolean).join("\n")));
    }
}

/* What is selected, or what all of it is. */
class TopologySide {
    constructor(pane, root) {
        this.pane = pane;
        this.model = pane.model;
        this.words = pane.words;
        this.root = root;
    }
    fill() {
        const {selected} = this.pane;
        this.root.replaceChildren();
        if (selected?.node)
            this.fillNode(selected.node);
        else if (selected?.edge)
            this.fillEdge(selected.edge);
        else
            this.fillAll();
    }
    add(...parts) {
        this.root.append(...parts);
    }
    addTable(rows, className = "") {
        const table = makePart("table", "", className);
        for (const cells of rows) {
            const row = table.insertRow();
            for (const cell of cells)
                row.append(makePart("td", cell));
        }
        if (rows.length)
            this.add(table);
    }
    addList(title, items) {
        const list = document.createElement("ol");
        for (const item of items)
            list.append(item);
        if (items.length)
            this.add(makePart("h4", title), list);
    }
    makeItem(text, title, swatch, action, figures = "") {
        const item = document.createElement("li"), button = makeButton("", title, action);
        button.append(...(swatch ? [swatch] : []), makePart("bdi", text), makePart("span", figures));
        item.append(button);
        return item;
    }
    fillAll() {
        const {model} = this;
        this.add(makePart("h3", model.title));
        this.add(makePart("p", `${formatCount(model.of_nodes)} nodes and ${formatCount(model.of_edges)} edges` +
                               (model.nodes.length < model.of_nodes ? `, drawn as ${formatCount(model.nodes.length)} and ${formatCount(model.edges.length)}` : "")));
        for (const note of model.notes)
            this.add(makePart("p", note, "side-lane"));
        if (model.unseen.length)
            this.add(makePart("h4", "Not seen"), ...model.unseen.map(line => makePart("p", line, "side-lane")));
        const recorded = model.nodes.filter(node => node.times && !node.hidden && node.times.some(ns => ns > 0));
        recorded.sort((a, b) => b.times[0] - a.times[0]);
        this.addList("CPU time of processes", recorded.slice(0, 8).map(node => this.makeItem(
            model.name(node), "select it", this.words.makeSwatch("node", model.kinds[node.kind].id), () => this.pane.goTo({node}),
            formatShare(node.times[0], model.sums[0]))));
        this.add(makePart("p", "Click a node or an edge for what is known of it, and to see its neighbours alone.", "side-hint"));
    }
    fillNode(node) {
        const {model, words} = this, kind = makePart("p", words.kind(node), "side-lane");
        kind.prepend(words.makeSwatch("node", model.kinds[node.kind].id));
        this.add(makePart("h3", model.name(node)), kind);
        this.addActions(node);
        this.addTable(words.timeRows(node).map(({label, ns, share}) => [label, formatDuration(ns), share]));
        this.addEdges(node);
        this.addMembers(node);
        const rows = words.attrRows(node), when = words.when(node);
        if (node.count === 1)
            rows.push(["id", node.id]);
        if (node.source)
            rows.push(["found by", node.source]);
        if (when)
            rows.push(["seen", when.replace("seen ", "")]);
        this.add(makePart("h4", "What is known of it"));
        this.addTable(rows, "attrs");
    }
    addActions(node) {
        const [process] = node.members.length ? [] : this.model.processes(node);
        if (!process)
            return;
        const actions = makePart("div", "", "side-actions");
        const found = this.pane.hasFlame(process.pid);
        if (found)
            actions.append(makeButton("its flame graph", "the flame graph of this process alone (Enter)",
                                      () => this.pane.openFlame(process.pid)));
        else if (node.times)
            actions.append(makePart("p", "no sample of it", "side-lane"));
        this.add(actions);
    }
    addEdges(node) {
        const {model, words} = this;
        const weight = edge => edge.bytesAb + edge.bytesBa + (model.isWait(edge) ? edge.weight / 1e3 : 0);
        const shown = node.edges.filter(edge => !edge.hidden).sort((a, b) => weight(b) - weight(a) || a.index - b.index);
        const items = shown.map(edge => {
            const out = edge.a === node, {directed, id} = model.relations[edge.kind];
            const arrow = !directed ? "\u2013" : edge.both ? "\u2194" : out ? "\u2192" : "\u2190";
            const [there, back] = model.isWait(edge) ? [edge.waitedA, edge.waitedB].map(ns => ns && formatDuration(ns))
                                                     : [edge.bytesAb, edge.bytesBa].map(bytes => bytes && formatBytes(bytes));
            const [mine, theirs] = out ? [there, back] : [back, there];
            const figures = [mine && `\u2192 ${mine}`, theirs && `\u2190 ${theirs}`].filter(Boolean).join(" ");
            return this.makeItem(`${id} ${arrow} ${model.name(model.other(edge, node))}`, words.edgeTitle(edge),
                                 words.makeSwatch("edge", id), () => this.pane.goTo({edge}), figures);
        });
        this.addList(items.length === 1 ? "1 edge" : `${formatCount(items.length)} edges`, items.slice(0, 200));
    }
    addMembers(node) {
        const {members, left} = node;
        if (!members.length && !left)
            return;
        const items = members.slice(0, 200).map(member => {
            if (member.pid && this.pane.hasFlame(member.pid))
                return this.makeItem(member.label, "the flame graph of this process alone", null, () => this.pane.openFlame(member.pid));
            return makePart("li", member.label);
        });
        const more = members.length - items.length + left;
        if (more)
            items.push(makePart("li", `and ${formatCount(more)} more`));
        this.addList(`Stands for ${formatCount(members.length + left)}`, items);
    }
    fillEdge(edge) {
        const {model, words} = this, kind = makePart("p", words.edgeKind(edge), "side-lane");
        kind.prepend(words.makeSwatch("edge", model.relations[edge.kind].id));
        this.add(makePart("h3", words.edgeTitle(edge)), kind, ...words.edgeLines(edge).map(line => makePart("p", line)),
                 makePart("p", model.relations[edge.kind].meaning + ".", "side-hint"));
        if (edge.attrs.length)
            this.addTable(edge.attrs.map(([name, value]) => [name, String(value)]), "attrs");
        this.addList("Its ends", [edge.a, edge.b].map((node, i) => this.makeItem(model.name(node), "select it",
            words.makeSwatch("node", model.kinds[node.kind].id), () => this.pane.goTo({node}), "ab"[i])));
    }
}

/* A check box for each kind. */
function makeTopologyLegend(pane, root) {
    const {model, words} = pane;
    const add = (title, what, kinds, things, hidden) => {
        const list = makePart("div", "", "legend");
        kinds.forEach((kind, k) => {
            const count = model.count(things, k);
            if (!count)
                return;
            const label = makePart("label", ""), box = document.createElement("input");
            box.type = "checkbox";
            box.checked = true;
            box.dataset[what] = kind.id;
            box.addEventListener("change", () => {
                if (box.checked)
                    hidden.delete(k);
                else
                    hidden.add(k);
                pane.showKinds();
            });
            label.title = kind.meaning ?? "";
            label.append(box, words.makeSwatch(what, kind.id), kind.id + " ", makePart("span", formatCount(count)));
            list.append(label);
        });
        root.append(makePart("h4", title), list);
    };
    add("Nodes", "node", model.kinds, model.nodes, pane.hiddenKinds);
    add("Edges", "edge", model.relations, model.edges, pane.hiddenRelations);
}
