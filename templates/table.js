/* SPDX-License-Identifier: Apache-2.0 */
/* The functions pane: self and total of each function, sorted and filtered. */

const TABLE_PAGE = 200;

class TablePane {
    constructor(model, root, open) {
        this.model = model;
        this.open = open; /* called with a frame when its row is chosen */
        this.body = root.querySelector("tbody");
        this.note = root.querySelector(".table-note");
        this.more = root.querySelector(".table-more");
        this.filter = root.querySelector("input");
        this.headers = [...root.querySelectorAll("th[data-key]")];
        this.key = "self";
        this.down = true;
        this.limit = TABLE_PAGE;
        this.shown = false;
        for (const header of this.headers)
            header.querySelector("button").addEventListener("click", () => this.sortBy(header.dataset.key));
        this.filter.addEventListener("input", () => {
            this.limit = TABLE_PAGE;
            this.fill();
        });
        this.more.addEventListener("click", () => {
            this.limit *= 5;
            this.fill();
        });
        this.body.addEventListener("click", event => {
            const row = event.target.closest("tr");
            if (row)
                this.open(+row.dataset.frame);
        });
        model.subscribe(() => {
            this.sums = null;
            if (this.shown)
                this.fill();
        });
    }
    show() {
        this.shown = true;
        this.fill();
    }
    hide() {
        this.shown = false;
    }
    sortBy(key) {
        this.down = key === this.key ? !this.down : key === "self" || key === "total";
        this.key = key;
        this.fill();
    }
    /* The whole run's sums come with the page and count what was pruned; others are made of the boxes. */
    compute() {
        const {frames} = this.model.profile, m = this.model.metric;
        if (!this.sums)
            this.sums = this.model.filtered ? frameSums(this.model.tree, frames.n)
                                            : {self: frames.self[m], total: frames.total[m]};
        return this.sums;
    }
    rows() {
        const {frames} = this.model.profile, sums = this.compute(), found = [];
        let matched = null;
        try {
            matched = matchFrames(frames, this.filter.value);
            this.filter.classList.remove("bad");
        } catch (error) {
            this.filter.classList.add("bad");
        }
        for (let f = 1; f < frames.n; f++)
            if (sums.total[f] > 0 && !frames.pruned[f] && frames.kind[f] !== TASK &&
                (!matched || matched[f]))
                found.push(f);
        const column = {self: sums.self, total: sums.total, func: frames.func, module: frames.module,
                        file: frames.file, kind: frames.kind}[this.key];
        const sign = this.down ? -1 : 1;
        found.sort((a, b) => column[a] < column[b] ? -sign : column[a] > column[b] ? sign
                             : sums.total[b] - sums.total[a] || a - b);
        return found;
    }
    fill() {
        const rows = this.rows(), sums = this.compute();
        this.body.replaceChildren(...rows.slice(0, this.limit).map(f => this.row(f, sums)));
        this.more.hidden = rows.length <= this.limit;
        this.more.textContent = `show more (${formatCount(rows.length - this.limit)} left)`;
        this.note.textContent = this.sayWhat(rows.length);
        for (const header of this.headers)
            header.setAttribute("aria-sort", header.dataset.key !== this.key ? "none"
                                             : this.down ? "descending" : "ascending");
    }
    sayWhat(n) {
        const what = `${formatCount(n)} functions; `;
        if (!this.model.filtered)
            return what + "of the whole recording";
        return what + "of what the filters leave" +
            (this.model.info.pruned.share ? "; pruned frames are not counted" : "");
    }
    row(f, sums) {
        const {frames} = this.model.profile, {unit, sum} = this.model, kind = this.model.info.kinds[frames.kind[f]];
        const row = document.createElement("tr");
        const cell = (text, className, title) => {
            const td = row.insertCell();
            td.className = className;
            td.textContent = text;
            if (title)
                td.title = title;
            return td;
        };
        const bar = (value, className) => {
            const td = cell(formatShare(value, sum), "number share " + className, formatValue(value, unit));
            td.style.setProperty("--share", (sum ? value / sum * 100 : 0).toFixed(2) + "%");
        };
        row.dataset.frame = f;
        cell(unit === "ns" || unit === "bytes" ? formatValue(sums.self[f], unit) : formatCount(sums.self[f]), "number");
        bar(sums.self[f], "self");
        cell(unit === "ns" || unit === "bytes" ? formatValue(sums.total[f], unit) : formatCount(sums.total[f]), "number");
        bar(sums.total[f], "total");
        cell("", "kind", kind.label).append(makeSwatch(kind.id));
        cell(frames.func[f], "name", frames.func[f]).dir = "ltr";
        cell(frames.file[f] ? frames.file[f] + (frames.line[f] ? ":" + frames.line[f] : "") : "", "path", frames.file[f]);
        cell(frames.module[f], "path", frames.module[f]);
        return row;
    }
}

function makeSwatch(id) {
    const swatch = document.createElement("i");
    swatch.className = "swatch";
    swatch.style.background = `var(--${id}-0)`;
    return swatch;
}
