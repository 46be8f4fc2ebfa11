/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of the topology as SVG: boxes, edges above them, nodes above these. Colours come from the style sheet. */

const LINE_HEIGHT = 13; /* points, of a node's label */

/* The name of SVG's namespace looks like an address, of which a page has none: the parser knows it. */
function makeShape(tag, attributes, ...children) {
    const element = document.createElementNS(document.querySelector("svg").namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes))
        element.setAttribute(name, value);
    element.append(...children);
    return element;
}

function pathOf(points) {
    return "M" + points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L") + "Z";
}

/* Outlines of the shapes that graph_kinds.def names, around 0, 0. */
function makeOutline(shape, w, h) {
    const x = w / 2, y = h / 2, common = {class: "outline"};
    switch (shape) {
    case "ellipse":
        return makeShape("rect", {...common, x: -x, y: -y, width: w, height: h, rx: y});
    case "cds":
        return makeShape("path", {...common, d: pathOf([[-x, -y], [x - 7, -y], [x, 0], [x - 7, y], [-x, y]])});
    case "folder":
    case "tab":
    case "note":
        return makeShape("path", {...common, d: pathOf([[-x, -y], [x - 7, -y], [x, 7 - y], [x, y], [-x, y]])});
    case "component":
    case "box3d":
        return makeShape("rect", {...common, x: -x, y: -y, width: w, height: h, rx: 1, "stroke-width": 1.6});
    default:
        return makeShape("rect", {...common, x: -x, y: -y, width: w, height: h, rx: 3});
    }
}

class TopologyDrawing {
    constructor(model, svg) {
        this.model = model;
        this.svg = svg;
        routeEdges(model);
        const layer = (name, things, make) => makeShape("g", {class: name}, ...things.map(thing => thing.element = make(thing)));
        svg.append(layer("boxes", model.with_boxes ? model.boxes : [], box => this.makeBox(box)),
                   layer("edges", model.edges, edge => this.makeEdge(edge)),
                   layer("nodes", model.nodes, node => this.makeNode(node)));
    }
    makeBox(box) {
        const kind = this.model.kinds[box.kind].id;
        const group = makeShape("g", {class: "box", "data-kind": kind},
                                makeShape("rect", {x: box.x, y: box.y, width: box.w, height: box.h, rx: 6}));
        if (box.label)
            group.append(makeShape("text", {x: box.x + 7, y: box.y + 12}, box.label));
        return group;
    }
    makeNode(node) {
        const {shape, id} = this.model.kinds[node.kind], {w, h, lines} = node;
        const group = makeShape("g", {class: "node", "data-node": node.index, transform: `translate(${node.x} ${node.y})`, role: "button",
                                      tabindex: -1, "aria-label": `${id}: ${this.model.name(node)}`, style: `--fill: var(--node-${id})`});
        if (node.count > 1)
            group.append(this.makeStack(shape, w, h));
        group.append(makeOutline(shape, w, h));
        if (node.times)
            group.append(this.makeBar(node));
        lines.forEach((line, i) => group.append(
            makeShape("text", {y: (i - (lines.length - 1) / 2) * LINE_HEIGHT, class: line.startsWith("+ ") ? "more" : ""}, line)));
        return group;
    }
    /* Who stands for several has another one behind. */
    makeStack(shape, w, h) {
        const behind = makeOutline(shape, w, h);
        behind.setAttribute("transform", "translate(3 3)");
        return behind;
    }
    /* The share of the CPU time, along the lower edge. */
    makeBar(node) {
        const {w, h} = node, width = Math.max(this.model.share(node) * (w - 4), this.model.share(node) ? 1 : 0);
        return makeShape("g", {class: "share"}, makeShape("rect", {class: "whole", x: 2 - w / 2, y: h / 2 - 4.5, width: w - 4, height: 2.5}),
                         makeShape("rect", {class: "part", x: 2 - w / 2, y: h / 2 - 4.5, width: width.toFixed(2), height: 2.5}));
    }
    makeEdge(edge) {
        const {id, directed} = this.model.relations[edge.kind], {x0, y0, x1, y1, x2, y2} = edge.arc;
        const point = (x, y) => `${x.toFixed(1)} ${y.toFixed(1)}`, way = `M${point(x0, y0)}Q${point(x1, y1)} ${point(x2, y2)}`;
        const group = makeShape("g", {class: "edge", "data-edge": edge.index, "data-relation": id,
                                      style: `--ink: var(--edge-${id}); --thick: ${this.thickness(edge).toFixed(2)}`},
                                makeShape("path", {class: "touch", d: way}), makeShape("path", {class: "line", d: way}));
        if (directed)
            group.append(this.makeHead(x1, y1, x2, y2));
        if (directed && edge.both)
            group.append(this.makeHead(x1, y1, x0, y0));
        if (edge.label)
            group.append(makeShape("text", {x: edge.labelAt.x.toFixed(1), y: edge.labelAt.y.toFixed(1)}, edge.label));
        return group;
    }
    makeHead(fromX, fromY, x, y) {
        const dx = x - fromX, dy = y - fromY, length = Math.hypot(dx, dy) || 1, ux = dx / length, uy = dy / length;
        return makeShape("path", {class: "head", d: pathOf([[x, y], [x - 7 * ux + 3 * uy, y - 7 * uy - 3 * ux],
                                                           [x - 7 * ux - 3 * uy, y - 7 * uy + 3 * ux]])});
    }
    /* By the logarithm of what went along, as in the other pictures; waits by the longest of them. */
    thickness(edge) {
        const bytes = edge.bytesAb + edge.bytesBa;
        if (this.model.isWait(edge))
            return 0.8 + 2.2 * (this.model.mostWait ? edge.weight / this.model.mostWait : 0);
        return bytes < 1024 ? 0.9 : Math.min(0.9 + Math.log2(bytes / 1024) / 10, 3);
    }
    /* What is of a hidden kind, or ends at such, is not there; nor is a box with nothing in it. */
    hide(hiddenKinds, hiddenRelations) {
        const {nodes, edges, boxes} = this.model, full = new Set();
        for (const node of nodes) {
            node.hidden = hiddenKinds.has(node.kind);
            node.element.classList.toggle("gone", node.hidden);
            for (let box = node.hidden ? -1 : node.box; box >= 0; box = boxes[box].parent)
                full.add(box);
        }
        for (const edge of edges) {
            edge.hidden = hiddenRelations.has(edge.kind) || edge.a.hidden || edge.b.hidden;
            edge.element.classList.toggle("gone", edge.hidden);
        }
        boxes.forEach((box, i) => box.element?.classList.toggle("gone", !full.has(i)));
    }
}

/* The whole in a corner, and what of it is in view. */
class TopologyMap {
    constructor(model, svg, move) {
        this.svg = svg;
        this.size = {w: model.width, h: model.height};
        const scale = Math.min(170 / model.width, 110 / model.height);
        svg.setAttribute("viewBox", `0 0 ${model.width} ${model.height}`);
        svg.setAttribute("width", Math.round(model.width * scale));
        svg.setAttribute("height", Math.round(model.height * scale));
        for (const node of model.nodes)
            svg.append(makeShape("rect", {x: node.x - node.w / 2, y: node.y - node.h / 2, width: node.w, height: node.h,
                                          style: `fill: var(--node-${model.kinds[node.kind].id})`}));
        this.frame = makeShape("rect", {class: "frame", style: `--thick: ${1.5 / scale}`});
        svg.append(this.frame);
        const to = event => {
            const box = svg.getBoundingClientRect();
            move((event.clientX - box.left) / scale, (event.clientY - box.top) / scale);
        };
        svg.addEventListener("pointerdown", event => {
            svg.setPointerCapture(event.pointerId);
            to(event);
        });
        svg.addEventListener("pointermove", event => event.buttons & 1 && to(event));
    }
    show({x, y, w, h}) {
        const all = x <= 0 && y <= 0 && x + w >= this.size.w && y + h >= this.size.h;
        this.svg.toggleAttribute("hidden", all);
        for (const [name, value] of Object.entries({x, y, width: w, height: h}))
            this.frame.setAttribute(name, value);
    }
}
