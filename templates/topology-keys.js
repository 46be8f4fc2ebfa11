/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the topology; they are its own while it is in view. */

function topologyKeys(topology) {
    const key = (keys, help, act) => ({keys, help, act, on: "topology"});
    return [
        key(["/"], "search", () => topology.search.focus()),
        key(["n"], "next match", () => topology.nextMatch(1)),
        key(["N"], "previous match", () => topology.nextMatch(-1)),
        key(["+", "="], "zoom in", () => topology.zoomBy(1 / 0.7)),
        key(["-"], "zoom out", () => topology.zoomBy(0.7)),
        key(["0"], "the whole picture", () => topology.fit()),
        key(["a"], "move the view left", () => topology.panBy(-0.2, 0)),
        key(["d"], "move the view right", () => topology.panBy(0.2, 0)),
        key(["w"], "move the view up", () => topology.panBy(0, -0.2)),
        key(["s"], "move the view down", () => topology.panBy(0, 0.2)),
        key(["ArrowLeft"], "the next node to the left", () => topology.step(-1, 0)),
        key(["ArrowRight"], "the next node to the right", () => topology.step(1, 0)),
        key(["ArrowUp"], "the next node above", () => topology.step(0, -1)),
        key(["ArrowDown"], "the next node below", () => topology.step(0, 1)),
        key(["e"], "the selected node's edges, one after the other", () => topology.nextEdge(1)),
        key(["Enter"], "the flame graph of the selected process", () => topology.openSelected()),
    ];
}
