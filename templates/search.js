/* SPDX-License-Identifier: Apache-2.0 */
/* Search by regular expression over names; "file:" and "module:" in front look there instead. */

/* null for an empty pattern; throws SyntaxError for a bad one. Lower case letters alone match both cases. */
function matchFrames(frames, pattern) {
    const scope = /^(file|module):/.exec(pattern);
    const text = scope ? pattern.slice(scope[0].length) : pattern;
    if (!text)
        return null;
    const regex = new RegExp(text, /\p{Lu}/u.test(text) ? "" : "i");
    const fits = scope ? f => regex.test(frames[scope[1]][f])
                       : f => regex.test(frames.func[f]) || regex.test(frames.label[f]);
    const matched = new Uint8Array(frames.n);
    for (let f = 1; f < frames.n; f++)
        matched[f] = !frames.pruned[f] && fits(f) ? 1 : 0;
    return matched;
}

/* The weight of the stacks that hold at least one matching frame. */
function matchedWeight(tree, matched) {
    const inside = new Uint8Array(tree.n);
    let sum = 0;
    for (let i = 1; i < tree.n; i++) {
        inside[i] = inside[tree.parent[i]] | matched[tree.frame[i]];
        if (inside[i])
            sum += tree.self[i];
    }
    return sum;
}

class Search {
    constructor(model, pane, input, result) {
        this.model = model;
        this.pane = pane;
        this.input = input;
        this.result = result;
        input.addEventListener("input", () => {
            clearTimeout(this.timer);
            this.timer = setTimeout(() => this.run(), 80);
        });
        input.addEventListener("keydown", event => {
            if (event.key !== "Enter")
                return;
            event.preventDefault();
            this.run();
            this.pane.nextMatch(event.shiftKey ? -1 : 1);
        });
        model.subscribe(() => this.report());
    }
    set(pattern) {
        this.input.value = pattern;
        this.run();
    }
    /* Every character of the name taken as it is. */
    setName(name) {
        this.set("^" + name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") + "$");
    }
    run() {
        clearTimeout(this.timer);
        let problem = "";
        try {
            this.matched = matchFrames(this.model.profile.frames, this.input.value);
        } catch (error) {
            this.matched = null;
            problem = "not a regular expression";
        }
        this.input.classList.toggle("bad", problem !== "");
        this.result.textContent = problem;
        this.pane.setMatched(this.matched);
        if (!problem)
            this.report();
    }
    report() {
        if (!this.matched) {
            this.result.textContent = this.input.classList.contains("bad") ? this.result.textContent : "";
            return;
        }
        const sum = matchedWeight(this.model.tree, this.matched);
        const functions = this.matched.reduce((a, b) => a + b, 0);
        /* What was pruned may match too. */
        this.result.textContent = (this.model.info.pruned.share ? "\u2265 " : "") +
            `${formatShare(sum, this.model.sum)} matched, ${formatCount(functions)} ` +
            (functions === 1 ? "function" : "functions");
    }
}
