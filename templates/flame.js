/* SPDX-License-Identifier: Apache-2.0 */
/* The flame graph pane: zoom, selection, scrolling, hover. Searching, ranges and menus act on it from outside. */

class FlamePane {
    constructor(model, root) {
        this.model = model;
        this.scroller = root.querySelector(".flame-scroll");
        this.spacer = root.querySelector(".flame-space");
        this.painter = new FlamePainter(root.querySelector(".flame-space canvas"), model.info.kinds);
        this.zoomPath = [];       /* frames from below the root to the zoomed box */
        this.zoom = 0;
        this.selected = this.hover = -1;
        this.matched = null;
        this.byWeight = false;
        this.icicle = false;
        this.listeners = {zoom: [], hover: [], select: [], menu: []};
        model.subscribe(() => this.rebuild());
        this.listen();
        this.rebuild();
    }
    on(what, listener) {
        this.listeners[what].push(listener);
    }
    tell(what, ...details) {
        for (const listener of this.listeners[what])
            listener(...details);
    }
    /* The tree changed: find the zoomed box again as far as its path still exists. */
    rebuild() {
        const path = this.zoomPath.filter(frame => !this.model.isHidden(frame));
        this.zoom = this.follow(0, path, 0);
        this.selected = this.hover = -1;
        this.relayout();
        this.tell("zoom", this.zoom);
        this.tell("select", -1);
    }
    /* The deepest box that the rest of a path leads to from `box`. Where processes were joined before, several fit. */
    follow(box, path, step) {
        const {tree} = this.model, {kind, join} = this.model.profile.frames;
        let best = box;
        if (step === path.length)
            return best;
        for (let child = tree.first[box]; child >= 0; child = tree.next[child]) {
            if (!tree.total[child] || join[tree.frame[child]] !== join[path[step]])
                continue;
            const found = this.follow(child, path, step + 1);
            if (tree.depth[found] > tree.depth[best])
                best = found;
        }
        /* A thread of its process's name is gone where both are joined. */
        return best === box && kind[path[step]] === TASK ? this.follow(box, path, step + 1) : best;
    }
    relayout() {
        const width = this.scroller.clientWidth, height = this.scroller.clientHeight;
        if (!width)
            return; /* the pane is hidden: show() comes back here */
        const selected = this.selected >= 0 ? this.layout.node[this.selected] : null;
        this.layout = layoutFlame(this.model, this.zoom, width, this.byWeight);
        this.selected = selected === null ? -1 : this.layout.node.indexOf(selected);
        this.hover = -1;
        this.height = Math.max(this.layout.rows * FLAME_ROW + 4, height);
        this.spacer.style.height = this.height + "px";
        this.painter.resize(width, height);
        this.scrollToZoom();
        this.repaint();
    }
    show() {
        this.relayout();
    }
    repaint() {
        if (this.frameAsked)
            return;
        this.frameAsked = true;
        requestAnimationFrame(() => {
            this.frameAsked = false;
            if (this.layout)
                this.painter.paint(this);
        });
    }
    /* Of a row, on the canvas. */
    top(row) {
        const y = this.icicle ? row * FLAME_ROW : this.height - 2 - (row + 1) * FLAME_ROW;
        return y - this.scroller.scrollTop;
    }
    rowAt(y) {
        y += this.scroller.scrollTop;
        return Math.floor(this.icicle ? y / FLAME_ROW : (this.height - 2 - y) / FLAME_ROW);
    }
    scrollToZoom() {
        const room = this.scroller.clientHeight, above = Math.max(this.layout.zoomRow - 3, 0) * FLAME_ROW;
        this.scroller.scrollTop = this.icicle ? above : this.height - room - above;
    }
    zoomTo(node) {
        const {tree} = this.model;
        this.zoom = node;
        this.zoomPath = [];
        for (let i = node; i > 0; i = tree.parent[i])
            this.zoomPath.unshift(tree.frame[i]);
        this.hover = -1;
        this.relayout();
        this.selected = node ? this.layout.start[this.layout.zoomRow] : -1;
        this.tell("zoom", node);
        this.tell("select", node ? node : -1);
    }
    zoomOut() {
        if (this.zoom)
            this.zoomTo(Math.max(this.model.tree.parent[this.zoom], 0));
    }
    setMatched(matched) {
        this.matched = matched;
        this.reveal();
        this.repaint();
    }
    /* Scrolls to the match nearest to the root where none is in view. */
    reveal() {
        const {node, start} = this.layout, {frame} = this.model.tree, room = this.scroller.clientHeight;
        let first = null;
        for (let row = 0; this.matched && row + 1 < start.length && start[row + 1] > start[row]; row++) {
            const y = this.top(row);
            let index = start[row];
            while (index < start[row + 1] && !(node[index] >= 0 && this.matched[frame[node[index]]]))
                index++;
            if (index === start[row + 1])
                continue;
            if (y >= 0 && y + FLAME_ROW <= room)
                return;
            first = first === null ? y : first;
        }
        if (first !== null)
            this.scroller.scrollTop += first - room / 2;
    }
    setIcicle(icicle) {
        this.icicle = icicle;
        this.relayout();
    }
    setByWeight(byWeight) {
        this.byWeight = byWeight;
        this.selected = this.hover = -1;
        this.relayout();
    }
    /* The box that keys act on: the selected one, else the hovered one. */
    current() {
        const index = this.selected >= 0 ? this.selected : this.hover;
        return index >= 0 ? this.layout.node[index] : -1;
    }
    rowOf(index) {
        let row = 0;
        while (this.layout.start[row + 1] <= index)
            row++;
        return row;
    }
    select(index) {
        const y = this.top(this.rowOf(index)), room = this.scroller.clientHeight;
        this.selected = index;
        if (y < 0 || y + FLAME_ROW > room)
            this.scroller.scrollTop += y - room / 2;
        this.tell("select", this.layout.node[index]);
        this.repaint();
    }
    /* deeper: +1 to the first child, -1 to the parent. */
    moveRow(deeper) {
        const {layout} = this;
        if (this.selected < 0) {
            this.select(layout.start[layout.zoomRow]);
            return;
        }
        const row = this.rowOf(this.selected) + deeper;
        const middle = deeper > 0 ? layout.x[this.selected] + 0.01
                                  : layout.x[this.selected] + layout.w[this.selected] / 2;
        const index = boxAt(layout, row, middle);
        if (index >= 0 && layout.node[index] >= 0)
            this.select(index);
    }
    moveSide(step) {
        if (this.selected < 0) {
            this.moveRow(0);
            return;
        }
        const row = this.rowOf(this.selected), index = this.selected + step;
        if (index >= this.layout.start[row] && index < this.layout.start[row + 1] && this.layout.node[index] >= 0)
            this.select(index);
    }
    /* The next box in the layout that matches the search. */
    nextMatch(step) {
        const {node} = this.layout, {frame} = this.model.tree, n = node.length;
        if (!this.matched)
            return;
        let index = this.selected >= 0 ? this.selected : step > 0 ? -1 : n;
        for (let tried = 0; tried < n; tried++) {
            index = (index + step + n) % n;
            if (node[index] >= 0 && this.matched[frame[node[index]]]) {
                this.select(index);
                return;
            }
        }
    }
    listen() {
        const {scroller} = this, canvas = this.painter.canvas;
        const at = event => {
            const box = canvas.getBoundingClientRect();
            return boxAt(this.layout, this.rowAt(event.clientY - box.top), event.clientX - box.left);
        };
        const hover = (index, event) => {
            if (index !== this.hover) {
                this.hover = index;
                this.repaint();
            }
            this.tell("hover", index >= 0 ? this.layout.node[index] : null, event);
        };
        canvas.addEventListener("mousemove", event => hover(at(event), event));
        canvas.addEventListener("mouseleave", event => hover(-1, event));
        canvas.addEventListener("click", event => {
            const index = at(event);
            if (index >= 0)
                this.zoomTo(this.layout.node[index] < 0 ? ~this.layout.node[index] : this.layout.node[index]);
        });
        canvas.addEventListener("contextmenu", event => {
            const index = at(event);
            if (index < 0 || this.layout.node[index] < 0)
                return;
            event.preventDefault();
            this.select(index);
            this.tell("menu", this.layout.node[index], event);
        });
        scroller.addEventListener("scroll", () => this.repaint());
        new ResizeObserver(() => this.relayout()).observe(scroller);
    }
}
