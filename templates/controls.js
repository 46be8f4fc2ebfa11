/* SPDX-License-Identifier: Apache-2.0 */
/* The toolbar of the flame graph: kinds, focus, what is hidden, the path to the zoomed box, the box's menu. */

function makeButton(text, title, action) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.title = title;
    button.addEventListener("click", action);
    return button;
}

/* A button for each kind of frame that the profile has: shown or folded into the callers. */
function makeKindButtons(model, root) {
    const {frames} = model.profile, seen = new Set(frames.kind.subarray(1).filter((_, i) => !frames.pruned[i + 1]));
    model.info.kinds.forEach((kind, k) => {
        if (!seen.has(k) || kind.id === "task" || kind.id === "marker")
            return;
        const button = makeButton(kind.label, `show ${kind.label} frames, or add their time to the callers`, () => {
            const hidden = new Set(model.hiddenKinds);
            if (!hidden.delete(k))
                hidden.add(k);
            model.set({hiddenKinds: hidden});
        });
        button.prepend(makeSwatch(kind.id));
        button.dataset.kind = kind.id;
        root.append(button);
        const show = () => button.setAttribute("aria-pressed", String(!model.hiddenKinds.has(k)));
        model.subscribe(show);
        show();
    });
    makeInterpreterButton(model, root);
}

function makeInterpreterButton(model, root) {
    const found = model.profile.frames.func.some((_, f) => model.ofInterpreter(f));
    if (!found)
        return;
    const button = makeButton("interpreter", "show CPython's own functions, or add their time to the callers",
                              () => model.set({interpreter: !model.interpreter}));
    const show = () => button.setAttribute("aria-pressed", String(model.interpreter));
    root.append(button);
    model.subscribe(show);
    show();
}

/* What the metrics count, in words. */
const METRICS = {
    oncpu: "on the CPU", offcpu: "off the CPU", waker: "off the CPU, and who ended it",
    runq: "runnable, waiting for a CPU", gil: "waiting for the GIL, and who held it", gpu: "on the GPU",
    alloc: "memory of GPUs allocated", "alloc-peak": "memory of GPUs held at the most",
};

/* One in each pane; all show the same. Where the zoom was, another metric may have nothing. */
function makeMetric(model, pane, select) {
    select.closest("label").hidden = model.info.metrics.length < 2;
    model.info.metrics.forEach((metric, m) => {
        const option = document.createElement("option");
        option.textContent = `${METRICS[metric.name] ?? metric.name}: ${formatValue(metric.sum, metric.unit)}`;
        option.value = m;
        select.append(option);
    });
    select.addEventListener("change", () => {
        pane.zoomPath = [];
        model.set({metric: +select.value});
    });
    model.subscribe(() => select.value = model.metric);
}

async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch (error) { /* not for files, in some browsers: then the old way */
        const area = document.createElement("textarea");
        area.value = text;
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
    }
}

/* One list: everything, joined by name or apart, and each process and thread. */
function makeFocus(model, select) {
    let metric = -1;
    const show = () => {
        if (metric !== model.metric)
            listFocus(model, select);
        metric = model.metric;
        select.value = model.focus || (model.apart ? -1 : 0);
    };
    select.addEventListener("change", () => {
        const value = +select.value;
        model.set(value > 0 ? {focus: value} : {focus: 0, apart: value < 0});
    });
    model.subscribe(show);
    show();
}

function listFocus(model, select) {
    const {tree, frames} = model.profile, tasks = model.tasks(), sum = model.info.metrics[model.metric].sum;
    select.closest("label").hidden = tasks.length < 2 && !model.focus;
    select.replaceChildren();
    const add = (text, value) => {
        const option = document.createElement("option");
        option.textContent = text;
        option.value = value;
        select.append(option);
    };
    if (model.info.task_ids) {
        add("all, joined by name", 0);
        add("all, apart", -1);
    } else {
        add("all processes", 0);
    }
    for (const task of tasks)
        add("\u2003".repeat(task.depth) + frames.full[tree.frame[task.box]] + "  " + formatShare(task.weight, sum),
            task.box);
}

/* All frames of the same function: where lines are kept apart it has several. */
function framesLike(frames, like, what) {
    const found = [];
    for (let f = 1; f < frames.n; f++)
        if (what === "module" ? frames.module[f] === frames.module[like]
            : frames.func[f] === frames.func[like] && frames.module[f] === frames.module[like] &&
              frames.file[f] === frames.file[like])
            found.push(f);
    return found;
}

class Hidden {
    constructor(model, root) {
        this.model = model;
        this.root = root;
        this.groups = []; /* {name, frames} */
        model.subscribe(() => this.draw());
    }
    add(frame, what) {
        const {frames} = this.model.profile;
        if (frame <= 0 || frames.pruned[frame])
            return;
        this.groups.push({name: what === "module" ? frames.module[frame] : frames.func[frame],
                          frames: framesLike(frames, frame, what)});
        this.apply();
    }
    clear() {
        this.groups = [];
        this.apply();
    }
    apply() {
        this.model.set({hiddenFrames: new Set(this.groups.flatMap(group => group.frames))});
    }
    draw() {
        this.root.replaceChildren();
        if (this.groups.length)
            this.root.append("hidden:");
        for (const group of this.groups)
            this.root.append(makeButton(group.name + " \u00d7", "show it again", () => {
                this.groups = this.groups.filter(other => other !== group);
                this.apply();
            }));
    }
}

/* The path to the zoomed box; where it is long, its middle is left out. */
function makePath(model, pane, root) {
    const draw = () => {
        const {tree} = model, path = [];
        for (let i = pane.zoom; i >= 0; i = tree.parent[i])
            path.unshift(i);
        root.replaceChildren();
        path.forEach((node, at) => {
            if (path.length > 8 && at > 2 && at < path.length - 4) {
                if (at === 3)
                    root.append(` \u203a \u2026 ${path.length - 7} frames \u2026`);
                return;
            }
            if (at)
                root.append(" \u203a ");
            root.append(makeButton(model.name(tree.frame[node]), "zoom to this frame", () => pane.zoomTo(node)));
        });
        const whole = tree.total[0], here = tree.total[pane.zoom];
        if (pane.zoom)
            root.append(`  ${formatValue(here, model.unit)}, ${formatShare(here, whole)}`);
        else
            root.append("  " + formatValue(whole, model.unit));
    };
    pane.on("zoom", draw);
    draw();
}

class BoxMenu {
    constructor(model, pane, root, hidden, search) {
        this.root = root;
        pane.on("menu", (node, event) => {
            const {frames} = model.profile, f = model.tree.frame[node];
            const items = [["Zoom to this frame", () => pane.zoomTo(node)]];
            if (f && !frames.pruned[f]) {
                items.push(["Hide this function", () => hidden.add(f, "function")]);
                if (frames.module[f])
                    items.push(["Hide its module " + frames.module[f].split("/").pop(), () => hidden.add(f, "module")]);
                items.push(["Search for this name", () => search.setName(model.name(f))],
                           ["Copy the name", () => copyText(model.name(f))]);
            }
            root.replaceChildren(...items.map(([text, action]) => makeButton(text, "", () => {
                this.close();
                action();
            })));
            root.hidden = false;
            root.style.left = Math.min(event.clientX, innerWidth - root.offsetWidth - 4) + "px";
            root.style.top = Math.min(event.clientY, innerHeight - root.offsetHeight - 4) + "px";
            root.firstChild.focus();
        });
        document.addEventListener("pointerdown", event => {
            if (!root.contains(event.target))
                this.close();
        });
    }
    close() {
        const open = !this.root.hidden;
        this.root.hidden = true;
        return open;
    }
}
