/* SPDX-License-Identifier: Apache-2.0 */
/* The strip above the flame graph: weight over time by the kind of the innermost frame; dragging selects a range. */

class TimelineRange {
    constructor(model, root) {
        this.model = model;
        this.root = root;
        this.canvas = root.querySelector("canvas");
        this.label = root.querySelector(".range-label");
        this.clear = root.querySelector("button");
        root.hidden = model.profile.slices.every(slices => slices.n === 0);
        if (root.hidden)
            return;
        this.clear.addEventListener("click", () => model.set({range: null}));
        this.listen();
        model.subscribe(() => this.draw());
        new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
        this.draw();
    }
    get slices() {
        return this.model.profile.slices[this.model.metric];
    }
    /* Weight of each bin and kind, within the focus. */
    bins(n) {
        const {slices} = this, {tree, frames} = this.model.profile, kinds = this.model.info.kinds.length;
        const begin = this.model.focus, end = begin ? subtreeEnd(tree, begin) : tree.n;
        const weight = new Float64Array(n * kinds);
        for (let s = 0; s < slices.n; s++) {
            const bin = Math.floor(s * n / slices.n);
            for (let i = slices.start[s]; i < slices.start[s + 1]; i++)
                if (slices.box[i] >= begin && slices.box[i] < end)
                    weight[bin * kinds + frames.kind[tree.frame[slices.box[i]]]] += slices.value[i];
        }
        return weight;
    }
    draw() {
        const width = this.canvas.parentElement.clientWidth, height = 44, ratio = window.devicePixelRatio || 1;
        if (!width)
            return;
        const c = this.canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        this.canvas.style.width = width + "px";
        this.canvas.style.height = height + "px";
        c.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.width = width;
        this.drawBars(c, style, height);
        this.drawRange(c, style, height);
        this.say();
    }
    /* Few samples make wide bars: single ones would only show how the timer ticked. */
    binCount() {
        const enough = Math.max(Math.floor(this.slices.box.length / 8), 30);
        return Math.min(Math.floor(this.width / 3), this.slices.n, enough);
    }
    drawBars(c, style, height) {
        const {kinds} = this.model.info, n = this.binCount();
        const weight = this.bins(n), step = this.width / n;
        const sums = new Float64Array(n).map((_, b) => {
            let sum = 0;
            for (let k = 0; k < kinds.length; k++)
                sum += weight[b * kinds.length + k];
            return sum;
        });
        const most = sums.reduce((a, b) => Math.max(a, b), 1);
        for (let b = 0; b < n; b++) {
            let y = height;
            for (let k = 0; k < kinds.length; k++) {
                const h = weight[b * kinds.length + k] / most * (height - 2);
                if (!h)
                    continue;
                c.fillStyle = style.getPropertyValue(`--${kinds[k].id}-1`);
                c.fillRect(b * step, y - h, Math.max(step - 0.5, 0.5), h);
                y -= h;
            }
        }
    }
    drawRange(c, style, height) {
        const range = this.dragged || this.model.range;
        if (!range)
            return;
        const from = range.from / this.slices.n * this.width, to = range.to / this.slices.n * this.width;
        c.fillStyle = style.getPropertyValue("--veil");
        c.fillRect(0, 0, from, height);
        c.fillRect(to, 0, this.width - to, height);
        c.fillStyle = style.getPropertyValue("--accent");
        c.fillRect(from - 1, 0, 2, height);
        c.fillRect(to - 1, 0, 2, height);
    }
    say() {
        const range = this.dragged || this.model.range, slice = this.model.info.slice_ns;
        this.clear.hidden = !this.model.range;
        if (!range) {
            this.label.textContent = `0 \u2013 ${formatDuration(this.slices.n * slice)}: drag to select a part`;
            return;
        }
        this.label.textContent = `${formatDuration(range.from * slice)} \u2013 ${formatDuration(range.to * slice)}` +
            (this.dragged ? "" : ` (${formatShare(this.model.sum, this.model.info.metrics[this.model.metric].sum)})`);
    }
    sliceAt(event) {
        const x = event.clientX - this.canvas.getBoundingClientRect().left;
        return Math.min(Math.max(x / this.width, 0), 1) * this.slices.n;
    }
    listen() {
        let anchor = null;
        this.canvas.addEventListener("pointerdown", event => {
            if (event.button !== 0)
                return;
            anchor = this.sliceAt(event);
            this.canvas.setPointerCapture(event.pointerId);
        });
        this.canvas.addEventListener("pointermove", event => {
            if (anchor === null)
                return;
            const here = this.sliceAt(event);
            this.dragged = {from: Math.floor(Math.min(anchor, here)), to: Math.ceil(Math.max(anchor, here))};
            this.draw();
        });
        this.canvas.addEventListener("pointerup", () => {
            const {dragged} = this;
            anchor = null;
            this.dragged = null;
            /* A click without a drag takes the selection away. */
            const wide = dragged && (dragged.to - dragged.from) / this.slices.n * this.width >= 3;
            this.model.set({range: wide ? dragged : null});
        });
        this.canvas.addEventListener("pointercancel", () => {
            anchor = this.dragged = null;
            this.draw();
        });
    }
}
