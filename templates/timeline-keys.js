/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the timeline; they are its own while it is in view. */

function timelineKeys(timeline) {
    const key = (keys, help, act) => ({keys, help, act, on: "timeline"});
    return [
        key(["/"], "search", () => timeline.search.focus()),
        key(["n"], "next match", () => timeline.nextMatch(1)),
        key(["N"], "previous match", () => timeline.nextMatch(-1)),
        key(["w", "+", "="], "zoom in", () => timeline.zoomBy(0.6)),
        key(["s", "-"], "zoom out", () => timeline.zoomBy(1 / 0.6)),
        key(["a"], "earlier", () => timeline.panBy(-0.15)),
        key(["d"], "later", () => timeline.panBy(0.15)),
        key(["m"], "metrics", () => timeline.toggleMetrics()),
        key(["0"], "the whole run", () => timeline.fit()),
        key(["9"], "where each span is kept, of a very long run", () => timeline.showApart()),
        key(["ArrowLeft"], "the span before", () => timeline.step(-1)),
        key(["ArrowRight"], "the next span", () => timeline.step(1)),
        key(["ArrowUp"], "the thread above", () => timeline.stepLane(-1)),
        key(["ArrowDown"], "the thread below", () => timeline.stepLane(1)),
        key(["Enter"], "zoom to the selected span",
            () => timeline.selected?.span !== undefined && timeline.zoomToSpan(timeline.selected.span)),
        key(["k"], "who woke the selected span", () => timeline.selected?.span !== undefined &&
            timeline.goToWaker(timeline.selected.span)),
    ];
}
