/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of the embedded topology, and looking things up in it. Its layout is described in src/render/topology_data.h. */

function decodeTopology(text) {
    const data = JSON.parse(text), names = data.names.map(visible);
    const nodes = data.nodes.map(([label, id, kind, count, box, x, y, w, h, first, last, source, times, attrs, members, left], index) => ({
        index, lines: label.split("\n").map(visible), id: visible(id), kind, count, box, x, y, w, h, first, last, source,
        times: times || null, attrs: decodeAttrs(attrs, names), members: decodeMembers(members), left, edges: [],
    }));
    const edges = data.edges.map(([kind, a, b, both, count, bytesAb, bytesBa, messagesAb, messagesBa, first, last, weight, waitedA, waitedB,
                                   label, attrs], index) => ({
        index, kind, a: nodes[a], b: nodes[b], both, count, bytesAb, bytesBa, messagesAb, messagesBa, first, last, weight, waitedA, waitedB,
        label: visible(label), attrs: decodeAttrs(attrs, names),
    }));
    for (const edge of edges) {
        edge.a.edges.push(edge);
        edge.b.edges.push(edge);
    }
    const boxes = data.boxes.map(([label, kind, parent, x, y, w, h]) => ({label: visible(label), kind, parent, x, y, w, h}));
    return {...data, title: visible(data.title), notes: data.notes.map(visible), unseen: data.unseen.map(visible), nodes, edges, boxes};
}

function decodeAttrs(flat, names) {
    const attrs = [];
    for (let i = 0; i < flat.length; i += 2)
        attrs.push([names[flat[i]], typeof flat[i + 1] === "string" ? visible(flat[i + 1]) : flat[i + 1]]);
    return attrs;
}

function decodeMembers(flat) {
    const members = [];
    for (let i = 0; i < flat.length; i += 2)
        members.push({label: visible(flat[i]), pid: flat[i + 1]});
    return members;
}

class TopologyModel {
    constructor(data) {
        Object.assign(this, data);
        this.sums = this.times.map((_, t) => this.nodes.reduce((sum, node) => sum + (node.times ? node.times[t] : 0), 0));
        this.start = [...this.nodes, ...this.edges].reduce((least, {first}) => first ? Math.min(least, first) : least, Infinity);
        this.mostWait = this.edges.reduce((most, edge) => this.isWait(edge) ? Math.max(most, edge.weight) : most, 0);
    }
    isWait(edge) {
        return this.relations[edge.kind].id === "wait";
    }
    name(node) {
        return node.lines.filter((line, i) => !i || !line.startsWith("+ ")).join(" ");
    }
    other(edge, node) {
        return edge.a === node ? edge.b : edge.a;
    }
    share(node) {
        return node.times && this.sums[0] ? node.times[0] / this.sums[0] : 0;
    }
    /* The processes that a node stands for, as far as the page names them. */
    processes(node) {
        if (node.members.length)
            return node.members.filter(member => member.pid);
        const pid = node.attrs.find(([name]) => name === "pid")?.[1];
        return this.kinds[node.kind].id === "process" && node.count === 1 && pid ? [{label: this.name(node), pid}] : [];
    }
    nodeOf(pid) {
        return this.nodes.find(node => this.processes(node).some(process => process.pid === pid));
    }
    /* How many nodes or edges of a kind there are, those that others stand for too. */
    count(things, kind) {
        return things.reduce((sum, thing) => sum + (thing.kind === kind ? thing.count : 0), 0);
    }
    nodeMatches(node, regex) {
        return regex.test(this.name(node)) || regex.test(node.id) || regex.test(this.kinds[node.kind].id) ||
            node.attrs.some(([, value]) => value !== null && regex.test(String(value)));
    }
    edgeMatches(edge, regex) {
        return regex.test(this.relations[edge.kind].id) || (edge.label && regex.test(edge.label)) ||
            edge.attrs.some(([, value]) => value !== null && regex.test(String(value)));
    }
}

/* The profile's box of a process, and the metric in which it has one with weight, the current one first; null: none. */
function findProcess(profile, pid) {
    const {tree, frames, self} = profile.profile, ending = ` (${pid})`;
    if (!profile.info.task_ids)
        return null;
    const isTask = box => box > 0 && frames.kind[tree.frame[box]] === TASK;
    const boxes = [];
    for (let box = 1; box < tree.n; box++)
        if (isTask(box) && !isTask(tree.parent[box]) && frames.full[tree.frame[box]].endsWith(ending))
            boxes.push({box, end: subtreeEnd(tree, box)});
    const metrics = [profile.metric, ...self.keys()];
    for (const metric of metrics) {
        let best = null, most = 0;
        for (const {box, end} of boxes) {
            let sum = 0;
            for (let i = box; i < end; i++)
                sum += self[metric][i];
            if (sum > most)
                [best, most] = [box, sum];
        }
        if (best)
            return {box: best, metric};
    }
    return null;
}

/* The pid of the process that the flame graph is of; 0: of all. */
function focusedPid(profile) {
    const {tree, frames} = profile.profile;
    for (let box = profile.focus; box > 0; box = tree.parent[box]) {
        const parent = tree.parent[box];
        if (frames.kind[tree.frame[box]] === TASK && (parent <= 0 || frames.kind[tree.frame[parent]] !== TASK))
            return +(/ \((\d+)\)$/.exec(frames.full[tree.frame[box]])?.[1] ?? 0);
    }
    return 0;
}
