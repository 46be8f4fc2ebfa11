#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Requests of a server under load, examples/serve.py: what wprof says of them beside what the server and its load generator
# measured themselves. Nothing here depends on how fast or how busy the machine is.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset WPROF_MARKS
}

# serve NAME OPTIONS...: a recording, and what the load generator measured, in NAME.json.
serve() {
    "$WPROF" record -q --force --without topology -o "$1" -- "$PYTHON" "$ROOT/examples/serve.py" --json --rate 50 "${@:2}" >"$1.json"
}

# judge STATEMENTS: on what wprof says, report() and show() of a recording, what the load generator says, truth(), and `files`.
judge() {
    python3 -c '
import json, sys
class Of(dict):
    def __missing__(self, name):
        return json.load(open(name))
files = Of()
def report(name): return files[f"{name}.report"]
def show(name): return files[f"{name}.show"]
def truth(name): return files[f"{name}.json"]
exec(sys.argv[1])' "$1" || { head -c 4000 ./*.report; return 1; }
}

flawed() {
    serve slow --seconds 4 || return
    "$WPROF" report --refresh --format json slow >slow.report || return
    "$WPROF" show --units request --top 0 --json slow >slow.show || return
    judge '
# Where others use the CPUs, waiting for one of these may come before.
first = [f for f in report("slow")["findings"] if f["id"] not in ("oversubscribed", "sched-delay") and "no CPU" not in f["title"] and "wait for a CPU longer" not in f["evidence"]][0]
assert first["id"] == "slow-units" and "GIL, held in tokenize" in first["title"], first
assert first["where"]["line"].startswith("tokenize (serve.py:"), first'
}

@test "serve: both ways make the same tokens" {
    need_python
    cd "$ROOT/examples"
    "$PYTHON" -B -c '
import argparse, serve
args = argparse.Namespace(seconds=2, rate=60, seed=3)
for _, text in serve.make_requests(args):
    assert serve.tokenize(text) == serve.fast_tokenize(text), text
assert serve.tokenize("") == serve.fast_tokenize("") == []'
}

@test "serve: slow requests wait for the GIL that tokenize() holds; with --fixed they do not; diff says so both ways" {
    need_tier_a
    need_python
    in_three flawed
    serve fixed --seconds 2 --fixed
    "$WPROF" report --format json fixed >fixed.report
    "$WPROF" show --units request --top 0 --json fixed >fixed.show
    judge '
import re
named = re.compile(r"(?<![_\w])tokenize\b")
for f in report("fixed")["findings"]:
    assert not named.search(str(f)), f

# A request as the server marks it lies within the time that the load generator measures: so do the quantiles.
def quantile(times, q):
    return times[max(0, -int(-q * len(times) // 1) - 1)]
for name in ("slow", "fixed"):
    own = sorted(t * 1e9 for t in truth(name)["times"])
    figures, counters = show(name)["units_figures"], files[f"{name}/meta.json"]["counters"]
    assert figures["max_ns"] <= own[-1], (figures, own[-1])
    if counters["marks.unsent"] + counters["marks.dropped"]: # the machine was too busy: some requests are not seen
        continue
    assert figures["count"] == len(own), (figures, len(own))
    assert figures["mean_ns"] <= sum(own) / len(own)
    for q in (95, 99):
        assert figures[f"p{q}_ns"] <= quantile(own, q / 100), (name, q, figures)

# Every ns of a slow one has a cause, and queueing is part of it.
slow = show("slow")["units_slow"]
rows = {c["key"]: c for c in slow["causes"]}
parts = sum(c["slow_ns"] for k, c in rows.items() if k not in ("all", "queued", "gpu-idle"))
assert abs(parts - rows["all"]["slow_ns"]) <= len(rows), slow["causes"]
assert 0 < rows["queued"]["slow_ns"] < rows["all"]["slow_ns"]
assert rows["gil"]["slow_ns"] > 2 * rows["gil"]["typical_ns"]
assert rows["gil"]["where"].startswith("tokenize (serve.py:")
length = {u["unit"]: u["ns"] for u in show("slow")["units"]}
assert min(length[u] for u in slow["slow"]) == slow["slow_from_ns"] > slow["typical_to_ns"]
assert max(length[u] for u in slow["typical"]) <= slow["typical_to_ns"]

# The report says the same as show, in all its formats.
assert report("slow")["slow_units"] == slow["causes"] and report("slow")["slow_units_text"] == slow["text"]
assert [k["kind"] for k in report("slow")["unit_kinds"]] == ["request", "batch"]'
    "$WPROF" report --all slow | grep -q '^Slow ones against typical ones'
    "$WPROF" report --refresh --format md slow | grep -q '^| `waits for the GIL`.*`tokenize (serve.py'
    # A wprof without cmark makes no page.
    if "$WPROF" report --refresh --format html -o page.html slow; then
        grep -q '<figure class="slow-units"><svg' page.html
        grep -q '>tokenize +' page.html
    fi
    "$WPROF" diff --format json slow fixed >forth.diff
    "$WPROF" diff --format json fixed slow >back.diff
    judge '
def row(name):
    return {r["name"]: r for r in files[name]["functions"]["rows"]}["tokenize (serve.py)"]
forth, back = row("forth.diff"), row("back.diff")
assert forth["base"] > 0 == forth["new"] and forth["change"] == -forth["base"], forth
assert (back["base"], back["new"], back["change"]) == (forth["new"], forth["base"], -forth["change"]), (forth, back)
figures = {f["name"]: f for f in files["forth.diff"]["figures"]}
assert figures["request, p95"]["base"] == show("slow")["units_figures"]["p95_ns"], figures'
}

# Four at a time, each sleeps in a thread of its own.
threads_program() {
    cat >threads.py <<'PY'
import threading, time
from marks import mark
def serve(i):
    mark(f"begin request {i}")
    time.sleep((i + 2) / 20)
    mark(f"end request {i}")
threads = [threading.Thread(target=serve, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
PY
}

@test "serve: a request's time is that of its thread, whatever number that has in a namespace of its own" {
    need_tier_a
    need_python
    threads_program
    export PYTHONPATH=$ROOT/examples
    "$WPROF" record -q --force --without topology -o plain -- "$PYTHON" threads.py
    "$WPROF" show --units request --json plain >plain.show
    unshare -pf --mount-proc true 2>/dev/null || skip "needs pid namespaces"
    "$WPROF" record -q --force --without topology -o apart -- unshare -pf --mount-proc "$PYTHON" threads.py
    "$WPROF" show --units request --json apart >apart.show
    judge '
for name in ("plain", "apart"):
    waits = {u["unit"]: u["wait"] for u in show(name)["units"]}
    for i in range(4):
        assert waits[f"request {i}"].startswith("sleep"), (name, waits) # the main thread waits for a futex'
}
