/* SPDX-License-Identifier: Apache-2.0 */
/* Ways of edges: arcs from border to border, those between the same two nodes side by side, around what lies in between;
   and where their labels stand. The other pictures' edges go the same ways: src/render/picture_route.c. */

const BENDS = [0, 22, -22, 44, -44, 75, -75, 115, -115, 165, -165, 230, -230];
const BESIDE = 9;             /* points between two edges of the same nodes */
const ROUND = 120;            /* points that an edge goes out of its way for a node */
const BEYOND = 30;            /* points that it may leave the area of all nodes by */
const MOST_LABELS = 500;      /* beyond these each stands in the middle of its edge */
const MOST_LOOKS = 2e6;       /* of a point of an edge at a node: more would be felt */
const PROBES = [0.12, 0.2, 0.28, 0.36, 0.44, 0.5, 0.56, 0.64, 0.72, 0.8, 0.88];

function arcPoint(arc, t) {
    const s = 1 - t;
    return [s * s * arc.x0 + 2 * s * t * arc.x1 + t * t * arc.x2, s * s * arc.y0 + 2 * s * t * arc.y1 + t * t * arc.y2];
}

/* An arc between the middles of two nodes, whose middle is `bend` beside the straight line; the same side whichever way it goes. */
function makeArc(a, b, bend) {
    const dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1, side = a.index < b.index ? 2 * bend : -2 * bend;
    return {x0: a.x, y0: a.y, x1: (a.x + b.x) / 2 - dy / length * side, y1: (a.y + b.y) / 2 + dx / length * side, x2: b.x, y2: b.y};
}

function isInside(node, x, y, margin) {
    return Math.abs(x - node.x) < node.w / 2 + margin && Math.abs(y - node.y) < node.h / 2 + margin;
}

/* Where the arc crosses the node's border, between `inside` and `outside`. */
function crossing(arc, node, inside, outside) {
    for (let i = 0; i < 18; i++) {
        const middle = (inside + outside) / 2;
        if (isInside(node, ...arcPoint(arc, middle), 1))
            inside = middle;
        else
            outside = middle;
    }
    return outside;
}

/* Between two parameters: a start, a control point, an end. */
function cutArc(arc, from, to) {
    const mix = (p0, p1, p2) => (1 - from) * (1 - to) * p0 + (from + to - 2 * from * to) * p1 + from * to * p2;
    const [x0, y0] = arcPoint(arc, from), [x2, y2] = arcPoint(arc, to);
    return {x0, y0, x1: mix(arc.x0, arc.x1, arc.x2), y1: mix(arc.y0, arc.y1, arc.y2), x2, y2};
}

function countHits(arc, a, b, nodes) {
    const points = PROBES.map(t => arcPoint(arc, t));
    let hits = 0;
    for (const node of nodes)
        if (node !== a && node !== b && points.some(([x, y]) => isInside(node, x, y, 3)))
            hits++;
    return hits;
}

/* Nodes below each other have the length of their lines in each other's way. */
function mostBend(a, b) {
    const wide = Math.max(a.w, b.w);
    return Math.max(Math.hypot(b.x - a.x, b.y - a.y) * 0.6, Math.abs(b.x - a.x) < wide / 2 ? wide : 30);
}

/* Of all nodes. */
function hullOf(nodes) {
    const most = (of, start, pick) => nodes.reduce((best, node) => pick(best, of(node)), start);
    return {left: most(n => n.x - n.w / 2, Infinity, Math.min), right: most(n => n.x + n.w / 2, -Infinity, Math.max),
            top: most(n => n.y - n.h / 2, Infinity, Math.min), bottom: most(n => n.y + n.h / 2, -Infinity, Math.max)};
}

/* It leaves the picture, or the box around all. */
function isOutside(arc, hull) {
    const [x, y] = arcPoint(arc, 0.5);
    return x < hull.left - BEYOND || x > hull.right + BEYOND || y < hull.top - BEYOND || y > hull.bottom + BEYOND;
}

/* Around what lies in between, unless that is a long way round. */
function bestBend(a, b, nodes, hull) {
    let best = 0, least = Infinity;
    for (const bend of BENDS) {
        if (Math.abs(bend) > mostBend(a, b))
            break;
        const arc = makeArc(a, b, bend), cost = (countHits(arc, a, b, nodes) + isOutside(arc, hull)) * ROUND + Math.abs(bend);
        if (cost < least)
            [best, least] = [bend, cost];
        if (least <= Math.abs(bend))
            break;
    }
    return best;
}

const LABEL_CHAR = 4.6;       /* points: how wide a label is, by its letters, and how high */
const LABEL_HIGH = 10;
const LABEL_PLACES = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82];

/* The area that two have in common; x, y is the middle. */
function covered(one, other) {
    const w = (one.w + other.w) / 2 - Math.abs(one.x - other.x), h = (one.h + other.h) / 2 - Math.abs(one.y - other.y);
    return w > 0 && h > 0 ? w * h : 0;
}

/* Two labels cannot be read where they cover each other; a node still can. */
function coverCost(at, labels, nodes) {
    return labels.reduce((sum, label) => sum + 3 * covered(at, label), 0) + nodes.reduce((sum, node) => sum + covered(at, node), 0);
}

/* Gives each edge that has a label the place on its arc where that covers least. */
function placeLabels({nodes, edges}) {
    const labels = [];
    for (const edge of edges) {
        if (!edge.label)
            continue;
        let least = Infinity;
        for (const t of LABEL_PLACES) {
            const [x, y] = arcPoint(edge.arc, t), at = {x, y, w: edge.label.length * LABEL_CHAR, h: LABEL_HIGH};
            const cost = coverCost(at, labels, nodes);
            if (cost < least)
                [edge.labelAt, least] = [at, cost];
            if (!least || labels.length > MOST_LABELS)
                break;
        }
        labels.push(edge.labelAt);
    }
}

/* Gives each edge an `arc`. */
function routeEdges({nodes, edges}) {
    const pairs = new Map(), looks = nodes.length * edges.length * PROBES.length, hull = hullOf(nodes);
    for (const edge of edges) {
        const key = Math.min(edge.a.index, edge.b.index) * nodes.length + Math.max(edge.a.index, edge.b.index);
        if (!pairs.has(key))
            pairs.set(key, []);
        pairs.get(key).push(edge);
    }
    for (const together of pairs.values()) {
        const {a, b} = together[0], around = looks < MOST_LOOKS ? bestBend(a, b, nodes, hull) : 0;
        together.forEach((edge, i) => {
            const beside = (i - (together.length - 1) / 2) * BESIDE;
            const arc = makeArc(edge.a, edge.b, around + beside);
            edge.arc = cutArc(arc, crossing(arc, edge.a, 0, 0.5), crossing(arc, edge.b, 1, 0.5));
        });
    }
    placeLabels({nodes, edges});
}
