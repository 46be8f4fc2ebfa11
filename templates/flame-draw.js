/* SPDX-License-Identifier: Apache-2.0 */
/* Painting of a laid-out flame graph onto a canvas that shows a window of its rows. */

const FLAME_ROW = 18, FLAME_FONT = "11px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";

class FlamePainter {
    constructor(canvas, kinds) {
        this.canvas = canvas;
        this.context = canvas.getContext("2d");
        this.kinds = kinds;
        this.readTheme();
    }
    readTheme() {
        const style = getComputedStyle(document.documentElement);
        const get = name => style.getPropertyValue(name).trim();
        this.fills = [];
        for (const kind of this.kinds)
            for (let shade = 0; shade < 3; shade++)
                this.fills.push(get(`--${kind.id}-${shade}`));
        this.colors = {text: get("--box-text"), match: get("--match"), matchText: get("--match-text"),
                       accent: get("--accent"), small: get("--small"), stripe: get("--stripe"),
                       ground: get("--ground")};
    }
    resize(width, height) {
        const ratio = window.devicePixelRatio || 1;
        this.width = width;
        this.height = height;
        this.canvas.width = Math.round(width * ratio);
        this.canvas.height = Math.round(height * ratio);
        this.canvas.style.width = width + "px";
        this.canvas.style.height = height + "px";
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.context.font = FLAME_FONT;
        this.pitch = this.context.measureText("0".repeat(64)).width / 64;
    }
    /* view: {model, layout, matched, hover, selected, top(row) -> y on the canvas} */
    paint(view) {
        const {layout} = view, c = this.context;
        c.clearRect(0, 0, this.width, this.height);
        c.font = FLAME_FONT;
        c.textBaseline = "middle";
        for (let row = 0; row < layout.rows; row++) {
            const y = view.top(row);
            if (y > -FLAME_ROW && y < this.height)
                this.paintRow(view, row, y);
        }
        this.outline(view, view.hover, 1);
        this.outline(view, view.selected, 2);
    }
    paintRow(view, row, y) {
        const {layout} = view;
        this.context.globalAlpha = row < layout.zoomRow ? 0.55 : 1;
        for (let i = layout.start[row]; i < layout.start[row + 1]; i++) {
            if (layout.node[i] < 0)
                this.paintSmall(layout.x[i], y, layout.w[i]);
            else
                this.paintBox(view, layout.node[i], layout.x[i], y, layout.w[i], row < layout.zoomRow);
        }
        this.context.globalAlpha = 1;
    }
    paintSmall(x, y, w) {
        this.context.fillStyle = this.colors.small;
        this.context.fillRect(x, y, Math.max(w - 0.5, 0.5), FLAME_ROW - 1);
    }
    paintBox(view, node, x, y, w, above) {
        const c = this.context, {frames} = view.model.profile, f = view.model.tree.frame[node];
        const matched = view.matched && view.matched[f];
        const faded = view.matched && !matched && !above;
        c.fillStyle = matched ? this.colors.match : this.fills[frames.kind[f] * 3 + frames.shade[f]];
        if (faded)
            c.globalAlpha = 0.4;
        c.fillRect(x, y, Math.max(w - 0.5, 0.5), FLAME_ROW - 1);
        if (frames.pruned[f])
            this.stripes(x, y, w);
        if (w > 3 * this.pitch + 6) {
            c.globalAlpha = faded ? 0.65 : above ? 0.75 : 1;
            c.fillStyle = matched ? this.colors.matchText : this.colors.text;
            this.paintLabel(view.model.label(f), x + 4, y + FLAME_ROW / 2, w - 7);
        }
        if (faded || above)
            c.globalAlpha = above ? 0.55 : 1;
    }
    paintLabel(name, x, y, room) {
        const c = this.context, fits = Math.floor(room / this.pitch);
        let label = name;
        if (name.length > fits)
            label = name.slice(0, Math.max(fits - 1, 1)).replace(/[\ud800-\udbff]$/, "") + "\u2026";
        if (/^[\x20-\x7e\u2026]*$/.test(label)) {
            c.fillText(label, x, y);
            return;
        }
        /* Characters of other widths: the box clips them. */
        c.save();
        c.beginPath();
        c.rect(x, y - FLAME_ROW / 2, room + 2, FLAME_ROW);
        c.clip();
        c.direction = "ltr";
        c.fillText(label, x, y);
        c.restore();
    }
    stripes(x, y, w) {
        const c = this.context;
        c.save();
        c.beginPath();
        c.rect(x, y, Math.max(w - 0.5, 0.5), FLAME_ROW - 1);
        c.clip();
        c.strokeStyle = this.colors.stripe;
        c.lineWidth = 2;
        c.beginPath();
        for (let at = x - FLAME_ROW; at < Math.min(x + w, this.width); at += 7) {
            c.moveTo(at, y + FLAME_ROW);
            c.lineTo(at + FLAME_ROW, y);
        }
        c.stroke();
        c.restore();
    }
    outline(view, index, thick) {
        const {layout} = view;
        if (index < 0 || index >= layout.node.length)
            return;
        let row = 0;
        while (layout.start[row + 1] <= index)
            row++;
        const c = this.context, y = view.top(row);
        c.strokeStyle = thick > 1 ? this.colors.accent : this.colors.text;
        c.lineWidth = thick;
        c.strokeRect(layout.x[index] + thick / 2, y + thick / 2, Math.max(layout.w[index] - thick - 0.5, 1),
                     FLAME_ROW - 1 - thick);
    }
}
