/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the page together: decodes, makes the panes, connects the controls. */

class App {
    constructor() {
        const info = JSON.parse(document.getElementById("info").textContent);
        const bytes = base64Bytes(document.getElementById("profile").textContent.trim());
        const $ = selector => document.querySelector(selector);
        this.model = new Model(decodeProfile(bytes, info), info);
        this.pane = new FlamePane(this.model, $("#pane-flame"));
        this.search = new Search(this.model, this.pane, $("#search"), $("#search-result"));
        this.hidden = new Hidden(this.model, $("#hidden"));
        this.menu = new BoxMenu(this.model, this.pane, $("#box-menu"), this.hidden, this.search);
        this.range = new TimelineRange(this.model, $("#range"));
        this.tooltip = new Tooltip(this.model, this.pane, $("#tooltip"), $("#status"));
        this.table = new TablePane(this.model, $("#pane-table"), frame => {
            this.search.setName(this.model.profile.frames.func[frame]);
            this.showPane("flame");
        });
        this.panes = {flame: this.pane, table: this.table};
        this.shown = "flame";
        this.makeTimeline(info, $);
        this.makeTopology($);
        makeKindButtons(this.model, $("#kinds"));
        for (const select of document.querySelectorAll("select.metric"))
            makeMetric(this.model, this.pane, select);
        makeFocus(this.model, $("#focus"));
        makePath(this.model, this.pane, $("#path"));
        this.connect($);
        const emptiness = () => $("#pane-flame").classList.toggle("empty", this.model.info.metrics[this.model.metric].sum === 0);
        this.model.subscribe(emptiness);
        emptiness();
        if (info.view in this.panes)
            this.showPane(info.view);
        else if (!$("[data-pane=flame]"))
            this.showPane("topology");
    }
    makeTimeline(info, $) {
        if (!info.timeline)
            return;
        const bytes = base64Bytes($("#timeline").textContent.trim());
        const model = new TimelineModel(decodeTimeline(bytes), info.timeline, info.kinds);
        this.timeline = new TimelinePane(this.model, model, $("#pane-timeline"), this.tooltip, name => {
            this.search.setName(name);
            this.showPane("flame");
        });
        this.panes.timeline = this.timeline;
    }
    makeTopology($) {
        const data = $("#topology"), {model} = this;
        if (!data)
            return;
        this.topology = new TopologyPane(model, new TopologyModel(decodeTopology(data.textContent)), $("#pane-topology"),
                                         this.tooltip, pid => this.openProcess(pid));
        this.panes.topology = this.topology;
        const node = () => this.topology.model.nodeOf(focusedPid(model));
        const button = makeButton("in the topology", "this process among the others (o)", () => {
            this.showPane("topology");
            this.topology.goTo({node: node()});
        });
        button.id = "to-topology";
        button.hidden = true;
        $("#focus").closest("label").after(button);
        model.subscribe(() => button.hidden = !node());
    }
    /* The flame graph of one process. */
    openProcess(pid) {
        const found = findProcess(this.model, pid);
        if (!found)
            return;
        this.pane.zoomPath = [];
        this.model.set({metric: found.metric, focus: found.box});
        this.showPane("flame");
    }
    connect($) {
        const table = keyTable(this);
        this.help = $("#help");
        this.keys = table;
        listenToKeys(this, table);
        $("#icicle").addEventListener("click", () => this.toggleIcicle());
        $("#order").addEventListener("click", () => this.toggleOrder());
        $("#reset").addEventListener("click", () => this.reset());
        $("#theme").addEventListener("click", () => this.toggleTheme());
        $("#help-open").addEventListener("click", () => this.toggleHelp());
        for (const tab of document.querySelectorAll("[data-pane]"))
            tab.addEventListener("click", () => this.showPane(tab.dataset.pane));
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", event => {
            if (!readSetting("theme"))
                this.setTheme(event.matches ? "dark" : "light");
        });
        this.labels();
    }
    labels() {
        document.getElementById("icicle").textContent = this.pane.icicle ? "\u25be icicle" : "\u25b4 flame";
        document.getElementById("order").textContent = this.pane.byWeight ? "by weight" : "by name";
    }
    showPane(name) {
        if (!document.querySelector(`[data-pane="${name}"]`))
            return;
        this.shown = name;
        for (const [other, pane] of Object.entries(this.panes)) {
            const on = other === name;
            document.getElementById("pane-" + other).hidden = !on;
            document.querySelector(`[data-pane="${other}"]`)?.setAttribute("aria-selected", String(on));
            if (!on)
                pane.hide?.();
        }
        this.panes[name].show();
    }
    toggleIcicle() {
        this.pane.setIcicle(!this.pane.icicle);
        this.labels();
    }
    toggleOrder() {
        this.pane.setByWeight(!this.pane.byWeight);
        this.labels();
    }
    toggleHelp() {
        if (this.help.open) {
            this.help.close();
            return;
        }
        fillHelp(keysOf(this.keys, this.shown), this.help.querySelector("tbody"));
        this.help.showModal();
    }
    toggleTheme() {
        const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
        writeSetting("theme", theme);
        this.setTheme(theme);
    }
    setTheme(theme) {
        document.documentElement.dataset.theme = theme;
        this.pane.painter.readTheme();
        this.pane.repaint();
        if (!this.range.root.hidden)
            this.range.draw();
        this.timeline?.readTheme();
    }
    reset() {
        this.search.set("");
        this.hidden.groups = [];
        this.pane.zoomPath = [];
        this.model.set({range: null, focus: 0, hiddenKinds: new Set(), hiddenFrames: new Set(), interpreter: true,
                        apart: this.model.info.apart});
    }
    escape() {
        if (this.help.open)
            this.help.close();
        else if (this.menu.close())
            return;
        else if (this.panes[this.shown].escape)
            this.panes[this.shown].escape();
        else if (this.search.input.value)
            this.search.set("");
        else if (this.pane.zoom)
            this.pane.zoomTo(0);
    }
}

document.documentElement.classList.add("scripted");
window.wprof = new App();
