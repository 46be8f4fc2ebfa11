/* SPDX-License-Identifier: Apache-2.0 */
/* What each key does. The help is made of the same table. */

function keyTable(app) {
    const {pane, search, hidden, model} = app;
    const deeper = up => pane.moveRow(up === pane.icicle ? -1 : 1);
    const frame = () => pane.current() > 0 ? model.tree.frame[pane.current()] : 0;
    return [
        ...(app.timeline ? timelineKeys(app.timeline) : []),
        ...(app.topology ? topologyKeys(app.topology) : []),
        {keys: ["/"], help: "search", act: () => search.input.focus()},
        {keys: ["n"], help: "next match", act: () => pane.nextMatch(1)},
        {keys: ["N"], help: "previous match", act: () => pane.nextMatch(-1)},
        {keys: ["ArrowUp"], help: "one row up", act: () => deeper(true)},
        {keys: ["ArrowDown"], help: "one row down", act: () => deeper(false)},
        {keys: ["ArrowLeft"], help: "left neighbour", act: () => pane.moveSide(-1)},
        {keys: ["ArrowRight"], help: "right neighbour", act: () => pane.moveSide(1)},
        {keys: ["Enter", "+", "="], help: "zoom to the selected frame",
         act: () => pane.current() >= 0 && pane.zoomTo(pane.current())},
        {keys: ["-", "Backspace"], help: "zoom out by one frame", act: () => pane.zoomOut()},
        {keys: ["0"], help: "zoom out to the whole", act: () => pane.zoomTo(0)},
        {keys: ["i"], help: "icicle or flame", act: () => app.toggleIcicle()},
        {keys: ["s"], help: "sort by weight or by name", act: () => app.toggleOrder()},
        {keys: ["h"], help: "hide the selected function", act: () => hidden.add(frame(), "function")},
        {keys: ["r"], help: "reset: zoom, search, filters", act: () => app.reset()},
        {keys: ["t"], help: "light or dark", act: () => app.toggleTheme()},
        {keys: ["f"], help: "flame graph", act: () => app.showPane("flame")},
        {keys: ["l"], help: "list of functions", act: () => app.showPane("table")},
        ...(app.timeline ? [{keys: ["g"], help: "timeline", act: () => app.showPane("timeline")}] : []),
        ...(app.topology ? [{keys: ["o"], help: "topology", act: () => app.showPane("topology")}] : []),
        {keys: ["?"], help: "this help", act: () => app.toggleHelp()},
        {keys: ["Escape"], help: "close, then clear the search, then zoom out", act: () => app.escape()},
    ];
}

const KEY_NAMES = {ArrowUp: "\u2191", ArrowDown: "\u2193", ArrowLeft: "\u2190", ArrowRight: "\u2192", Escape: "Esc"};

function listenToKeys(app, table) {
    document.addEventListener("keydown", event => {
        const typing = event.target.closest("input, select, textarea");
        if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape"))
            return;
        if (event.target.closest("button") && (event.key === "Enter" || event.key === " "))
            return;
        const entry = table.find(candidate => candidate.keys.includes(event.key) &&
                                 (!candidate.on || candidate.on === app.shown));
        if (!entry)
            return;
        event.preventDefault();
        if (typing)
            event.target.blur();
        entry.act();
    });
}

/* The keys that do something in the pane that is shown; the first entry of a key is the one that counts. */
function keysOf(table, shown) {
    const taken = new Set();
    return table.filter(entry => {
        const free = entry.keys.filter(key => !taken.has(key));
        if ((entry.on && entry.on !== shown) || !free.length)
            return false;
        free.forEach(key => taken.add(key));
        return true;
    });
}

function fillHelp(table, body) {
    body.replaceChildren();
    for (const entry of table) {
        const row = body.insertRow(), keys = row.insertCell();
        for (const key of entry.keys) {
            const element = document.createElement("kbd");
            element.textContent = KEY_NAMES[key] || key;
            keys.append(element, " ");
        }
        row.insertCell().textContent = entry.help;
    }
}
