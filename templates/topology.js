/* SPDX-License-Identifier: Apache-2.0 */
/* The topology pane: zooming, moving, selection, search, hidden kinds, and the way to a process's flame graph. */

const READABLE = 0.9, LARGEST = 6; /* pixels a point: labels can be read from here on; no closer than that */

class TopologyPane {
    constructor(profile, model, root, tip, openFlame) {
        this.profile = profile; /* the flame graph's model: it has the focus */
        this.model = model;
        this.root = root;
        this.tip = tip;
        this.openFlame = openFlame;
        this.svg = root.querySelector(".topology-picture");
        this.search = root.querySelector("#topology-search");
        this.found = root.querySelector(".topology-found");
        this.unfocus = root.querySelector("#topology-unfocus");
        this.words = new TopologyWords(model);
        this.drawing = new TopologyDrawing(model, this.svg);
        this.map = new TopologyMap(model, root.querySelector(".topology-map"), (x, y) => this.centre(x, y));
        this.side = new TopologySide(this, root.querySelector(".topology-what"));
        this.hiddenKinds = new Set();
        this.hiddenRelations = new Set();
        this.selected = this.view = this.from = null;
        this.matches = [];
        this.flames = new Map();
        makeTopologyLegend(this, root.querySelector(".topology-legend"));
        const note = root.querySelector(".topology-note");
        note.textContent = note.title = model.notes.join("; ");
        this.showKinds();
        this.listen();
        profile.subscribe(() => this.showFocus());
    }
    show() {
        this.resize();
    }
    hide() {
        this.tip.root.hidden = true;
    }
    /* ---- view: its middle, and pixels a point ---- */
    resize() {
        const {clientWidth: w, clientHeight: h} = this.svg;
        if (!w || !h || this.printing)
            return; /* hidden: show() comes back here */
        this.size = {w, h};
        this.view ??= this.firstView();
        this.setView(this.view);
    }
    scaleOf(w, h) {
        return Math.min(this.size.w / (w + 24), this.size.h / (h + 24), 2);
    }
    whole() {
        const {width, height} = this.model;
        return {x: width / 2, y: height / 2, scale: this.scaleOf(width, height)};
    }
    /* All of it where that can be read; else what was recorded, with its neighbours as far as they fit. */
    firstView() {
        const whole = this.whole(), recorded = this.model.nodes.filter(node => node.times?.some(ns => ns > 0));
        if (whole.scale >= 0.8 * READABLE || !recorded.length)
            return whole;
        const near = recorded.flatMap(node => [node, ...node.edges.map(edge => this.model.other(edge, node))]);
        const [wide, close] = [near, recorded].map(nodes => this.around(nodes));
        return wide.scale >= READABLE ? {...wide, scale: Math.min(wide.scale, 1.3)}
                                      : {...close, scale: Math.min(Math.max(close.scale, READABLE), 1.1)};
    }
    around(nodes) {
        const left = Math.min(...nodes.map(node => node.x - node.w / 2)), right = Math.max(...nodes.map(node => node.x + node.w / 2));
        const top = Math.min(...nodes.map(node => node.y - node.h / 2)), bottom = Math.max(...nodes.map(node => node.y + node.h / 2));
        return {x: (left + right) / 2, y: (top + bottom) / 2, scale: this.scaleOf(right - left, bottom - top)};
    }
    setView({x, y, scale}) {
        const {width, height} = this.model, least = Math.min(this.whole().scale * 0.6, READABLE);
        const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
        this.view = {x: clamp(x, 0, width), y: clamp(y, 0, height), scale: clamp(scale, least, LARGEST)};
        const w = this.size.w / this.view.scale, h = this.size.h / this.view.scale;
        const seen = {x: this.view.x - w / 2, y: this.view.y - h / 2, w, h};
        this.svg.setAttribute("viewBox", [seen.x, seen.y, w, h].map(value => value.toFixed(2)).join(" "));
        this.svg.classList.toggle("far", this.view.scale < 0.55);
        this.map.show(seen);
    }
    fit() {
        this.setView(this.whole());
    }
    centre(x, y) {
        this.setView({...this.view, x, y});
    }
    panBy(right, down) {
        const {x, y, scale} = this.view;
        this.setView({x: x + right * this.size.w / scale, y: y + down * this.size.h / scale, scale});
    }
    /* What is at `at`, pixels from the middle of the picture, stays there. */
    zoomBy(factor, at = [0, 0]) {
        const {x, y, scale} = this.view, {clientWidth} = this.svg;
        if (!clientWidth)
            return;
        this.setView({x, y, scale: scale * factor});
        const moved = 1 / scale - 1 / this.view.scale;
        this.setView({x: x + at[0] * moved, y: y + at[1] * moved, scale: this.view.scale});
    }
    place(event) {
        const box = this.svg.getBoundingClientRect();
        return [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
    }
    /* Into view, and close enough to be read. */
    bringIntoView({node, edge}) {
        const scale = Math.max(this.view.scale, READABLE), {x, y} = this.view;
        const target = node ?? {x: (edge.arc.x0 + 2 * edge.arc.x1 + edge.arc.x2) / 4, y: (edge.arc.y0 + 2 * edge.arc.y1 + edge.arc.y2) / 4, w: 60, h: 20};
        const inside = Math.abs(target.x - x) + target.w / 2 < this.size.w / 2 / scale &&
            Math.abs(target.y - y) + target.h / 2 < this.size.h / 2 / scale;
        this.setView(inside ? {x, y, scale} : {x: target.x, y: target.y, scale});
    }
    /* ---- kinds ---- */
    showKinds() {
        this.drawing.hide(this.hiddenKinds, this.hiddenRelations);
        if (this.selected && (this.selected.node ?? this.selected.edge).hidden)
            this.select(null);
        else
            this.select(this.selected);
        this.runSearch();
    }
    /* ---- selection ---- */
    select(hit) {
        const {nodes, edges} = this.model, node = hit?.node, edge = hit?.edge;
        const near = new Set(node ? [node, ...node.edges.filter(e => !e.hidden).flatMap(e => [e, e.a, e.b])] : edge ? [edge, edge.a, edge.b] : []);
        this.selected = hit;
        for (const thing of [...nodes, ...edges]) {
            thing.element.classList.toggle("near", near.has(thing));
            thing.element.classList.toggle("selected", thing === node || thing === edge);
        }
        this.svg.classList.toggle("selecting", near.size > 0);
        this.side.fill();
    }
    /* Selects what may be out of view. */
    goTo(hit) {
        const thing = hit.node ?? hit.edge;
        if (thing.hidden)
            return;
        this.select(hit);
        this.bringIntoView(hit);
        hit.node?.element.focus({preventScroll: true});
    }
    /* The nearest node in that direction; one that is far aside counts as further away. */
    step(right, down) {
        const shown = this.model.nodes.filter(node => !node.hidden), from = this.selected?.node ?? this.selected?.edge?.a;
        let best = null, least = Infinity;
        if (!from) {
            this.startFrom(shown);
            return;
        }
        for (const node of shown) {
            const dx = node.x - from.x, dy = node.y - from.y, ahead = dx * right + dy * down, aside = Math.abs(dx * down) + Math.abs(dy * right);
            if (node !== from && ahead > 1 && ahead + 2 * aside < least)
                [best, least] = [node, ahead + 2 * aside];
        }
        if (best)
            this.goTo({node: best});
    }
    startFrom(shown) {
        const {x, y} = this.view, far = node => Math.hypot(node.x - x, node.y - y);
        const busiest = shown.reduce((best, node) => this.model.share(node) > (best ? this.model.share(best) : 0) ? node : best, null);
        const start = busiest ?? shown.reduce((best, node) => !best || far(node) < far(best) ? node : best, null);
        if (start)
            this.goTo({node: start});
    }
    /* The node that an edge was gone to from is where the next one starts. */
    nextEdge(by) {
        const {node, edge} = this.selected ?? {};
        if (node)
            this.from = node;
        else if (!edge || (edge.a !== this.from && edge.b !== this.from))
            this.from = edge?.a ?? null;
        const edges = this.from?.edges.filter(candidate => !candidate.hidden) ?? [];
        if (!edges.length)
            return;
        const at = edge ? edges.indexOf(edge) : by > 0 ? -1 : 0;
        this.goTo({edge: edges[(at + by + edges.length) % edges.length]});
    }
    /* ---- search ---- */
    setSearch(text) {
        this.search.value = text;
        this.runSearch();
    }
    runSearch() {
        const {nodes, edges} = this.model, text = this.search.value;
        let regex = null, problem = "";
        try {
            regex = text ? new RegExp(text, /\p{Lu}/u.test(text) ? "" : "i") : null;
        } catch (error) {
            problem = "not a regular expression";
        }
        const inside = node => regex ? node.members.reduce((n, member) => n + regex.test(member.label), 0) : 0;
        const folded = nodes.map(inside);
        this.matches = regex ? [...nodes.filter((node, i) => !node.hidden && (folded[i] || this.model.nodeMatches(node, regex))).map(node => ({node})),
                                ...edges.filter(edge => !edge.hidden && this.model.edgeMatches(edge, regex)).map(edge => ({edge}))] : [];
        const matched = new Set(this.matches.map(({node, edge}) => node ?? edge));
        for (const thing of [...nodes, ...edges])
            thing.element.classList.toggle("match", matched.has(thing));
        this.svg.classList.toggle("searching", regex !== null);
        this.search.classList.toggle("bad", problem !== "");
        this.found.textContent = regex ? this.sayFound(nodes.reduce((sum, node, i) => sum + (node.hidden ? 0 : folded[i]), 0)) : problem;
    }
    sayFound(folded) {
        const nodes = this.matches.filter(({node}) => node).length, edges = this.matches.length - nodes;
        const left = this.model.nodes.reduce((sum, node) => sum + node.left, 0);
        return `${formatCount(nodes)} ${nodes === 1 ? "node" : "nodes"}, ${formatCount(edges)} ${edges === 1 ? "edge" : "edges"}` +
            (folded ? `; ${formatCount(folded)} of those folded in them` : "") + (left ? `; ${formatCount(left)} are not named here` : "");
    }
    nextMatch(by) {
        const {node, edge} = this.selected ?? {}, n = this.matches.length;
        if (!n)
            return;
        const at = this.matches.findIndex(match => (match.node ?? match.edge) === (node ?? edge));
        this.goTo(this.matches[at < 0 ? by > 0 ? 0 : n - 1 : (at + by + n) % n]);
    }
    /* ---- the flame graph ---- */
    hasFlame(pid) {
        if (!this.flames.has(pid))
            this.flames.set(pid, findProcess(this.profile, pid) !== null);
        return this.flames.get(pid);
    }
    openSelected() {
        const process = this.selected?.node && this.model.processes(this.selected.node).find(({pid}) => this.hasFlame(pid));
        if (process)
            this.openFlame(process.pid);
    }
    /* Whose flame graph is shown is marked here. */
    showFocus() {
        const pid = focusedPid(this.profile), focused = pid ? this.model.nodeOf(pid) : null;
        for (const node of this.model.nodes)
            node.element.classList.toggle("focused", node === focused);
        this.unfocus.hidden = !pid;
        this.unfocus.textContent = pid ? `flame graph of ${focused ? this.model.name(focused) : pid} \u00d7` : "";
    }
    escape() {
        if (this.search.value)
            this.setSearch("");
        else if (this.selected)
            this.select(null);
        else
            this.fit();
    }
    /* ---- the pointer ---- */
    hit(target) {
        const found = target.closest?.("[data-node], [data-edge]");
        if (!found)
            return null;
        return found.dataset.node !== undefined ? {node: this.model.nodes[found.dataset.node]} : {edge: this.model.edges[found.dataset.edge]};
    }
    hover(hit, event) {
        this.tip.root.hidden = !hit;
        if (!hit)
            return;
        this.words.fillTip(this.tip.root, hit);
        this.tip.place(event.clientX, event.clientY);
    }
    listen() {
        const {svg} = this;
        svg.addEventListener("pointermove", event => !this.drag && this.hover(this.hit(event.target), event));
        svg.addEventListener("pointerleave", () => this.hover(null));
        svg.addEventListener("wheel", event => this.wheel(event), {passive: false});
        svg.addEventListener("dblclick", event => {
            const {node} = this.hit(event.target) ?? {};
            if (node)
                this.openSelected();
            else
                this.zoomBy(1.6, this.place(event));
        });
        this.listenToDrag();
        new ResizeObserver(() => this.resize()).observe(svg);
        this.listenToBar();
        this.listenToPrinter();
    }
    /* A press that does not move is a click. */
    listenToDrag() {
        const {svg} = this;
        svg.addEventListener("pointerdown", event => {
            if (event.button === 0)
                this.drag = {x: event.clientX, y: event.clientY, view: this.view, hit: this.hit(event.target), moved: false};
        });
        svg.addEventListener("pointermove", event => {
            const {drag} = this;
            if (!drag)
                return;
            const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
            if (!drag.moved && Math.abs(dx) + Math.abs(dy) <= 4)
                return;
            if (!drag.moved) {
                svg.setPointerCapture(event.pointerId);
                svg.classList.add("dragging");
                this.hover(null);
            }
            drag.moved = true;
            this.setView({x: drag.view.x - dx / drag.view.scale, y: drag.view.y - dy / drag.view.scale, scale: drag.view.scale});
        });
        const end = act => () => {
            const {drag} = this;
            this.drag = null;
            svg.classList.remove("dragging");
            if (act && drag && !drag.moved)
                this.select(drag.hit);
        };
        svg.addEventListener("pointerup", end(true));
        svg.addEventListener("pointercancel", end(false));
    }
    /* Where the page itself scrolls, as one with a report does, the wheel zooms with Ctrl. */
    wheel(event) {
        const unit = event.deltaMode === 1 ? 16 : 1, {scrollHeight, clientHeight} = document.documentElement;
        if (scrollHeight > clientHeight + 1 && getComputedStyle(document.body).overflowY !== "hidden" && !event.ctrlKey)
            return;
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            this.panBy((event.deltaX || event.deltaY) * unit / this.size.w, 0);
            return;
        }
        const amount = Math.max(Math.min(event.deltaY * unit, 200), -200);
        this.zoomBy(Math.exp(-amount / 400), this.place(event));
    }
    listenToBar() {
        this.search.addEventListener("input", () => {
            clearTimeout(this.timer);
            this.timer = setTimeout(() => this.runSearch(), 80);
        });
        this.search.addEventListener("keydown", event => {
            if (event.key !== "Enter")
                return;
            event.preventDefault();
            this.runSearch();
            this.nextMatch(event.shiftKey ? -1 : 1);
            this.search.focus();
        });
        for (const button of this.root.querySelectorAll("[data-zoom]"))
            button.addEventListener("click", () => button.dataset.zoom === "fit" ? this.fit() : this.zoomBy(button.dataset.zoom === "in" ? 1 / 0.7 : 0.7));
        this.unfocus.addEventListener("click", () => this.profile.set({focus: 0}));
    }
    /* On paper it is the whole. */
    listenToPrinter() {
        addEventListener("beforeprint", () => {
            this.printing = true;
            this.svg.setAttribute("viewBox", `-12 -12 ${this.model.width + 24} ${this.model.height + 24}`);
        });
        addEventListener("afterprint", () => {
            this.printing = false;
            this.resize();
        });
    }
}
