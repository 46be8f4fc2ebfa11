#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The timeline in the page: render --view timeline.
load common

# A session of two threads, with waits, marks and metrics; see tests/unit/timeline_fixture.h.
setup() {
    cd "$BATS_TEST_TMPDIR"
    [ -x "$BUILD/tests/unit/test_timeline_session" ] || skip "needs the unit tests, built"
    WPROF_SESSION=$PWD/s "$BUILD/tests/unit/test_timeline_session" >/dev/null 2>&1
}

# info PAGE EXPR: a Python expression over the page's info.
info() {
    sed -n 's/.*id="info">\(.*\)<\/script>$/\1/p' "$1" | python3 -c '
import json, sys
info = json.load(sys.stdin)
assert eval(sys.argv[1]), info' "$2"
}

@test "render --view timeline: the page opens with it" {
    "$WPROF" render --view timeline -o page.html s
    info page.html 'info["view"] == "timeline" and info["timeline"]["switches"] and info["timeline"]["end"] == 100000000'
    grep -q 'data-pane="timeline"' page.html
}

@test "render: a page of another view has the timeline in a tab" {
    "$WPROF" render -o page.html s
    info page.html 'info["view"] == "cpu" and info["timeline"]'
    grep -q 'data-pane="timeline"' page.html
}

@test "render: no timeline where nothing has a time" {
    printf 'a;b 1\n' | "$WPROF" import -o folded - 2>/dev/null
    "$WPROF" render -o page.html folded
    info page.html '"timeline" not in info'
    not grep -q 'data-pane="timeline"' page.html
    run -3 --separate-stderr "$WPROF" render --view timeline folded
    [[ $stderr == *"there is no timeline"* ]]
}

@test "render --view timeline: a picture has none" {
    run -3 --separate-stderr "$WPROF" render --format svg --view timeline s
    [[ $stderr == *"svg has no timeline: --format html has"* ]]
}

@test "render --view timeline: a recording of samples alone" {
    need_tier_a
    "$WPROF" record --without offcpu --duration 5 -o real -- \
        sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' 2>/dev/null
    "$WPROF" render --view timeline -o page.html real
    info page.html 'not info["timeline"]["switches"]'
}

# What is recorded, laid out over time, is what the scheduler counted.
@test "timeline: waits of known length and place; running adds up to the CPU time" {
    need_tier_a
    "$WPROF" record -o real -- sh -c 'sleep 0.5; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done' 2>/dev/null
    "$WPROF" export --format perfetto -o t real
    python3 "$BATS_TEST_DIRNAME/../tools/perfetto.py" t >decoded
    "$WPROF" show --by thread --json real >show.json
    python3 - <<'PY'
import json
*tracks, other = [json.loads(line) for line in open("decoded")]

def thread(comm):
    found = [t for t in tracks if t["kind"] == "thread" and f"/ {comm} (" in t["track"]]
    assert len(found) == 1, [t["track"] for t in tracks]
    return found[0]

def seconds(track, state):
    return sum(e[1] - e[0] for e in track["slices"] if e[2] == state) / 1e9

sleeper, shell = thread("sleep"), thread("sh")
assert 0.5 <= seconds(sleeper, "sleep") < 0.7, [e[:3] for e in sleeper["slices"]]
slept = next(e for e in sleeper["slices"] if e[2] == "sleep")
assert any(e[2] == "child process" and e[0] < slept[1] <= e[1] for e in shell["slices"]), "sh waits for sleep"
assert any(flow.startswith("sleep") and "-> sh" in flow for flow in other["flows"]), other["flows"]

def rows(value):
    if isinstance(value, dict):
        return [r for v in value.values() for r in rows(v)] + ([value] if "cpu_ns" in value and "tid" in value else [])
    return [r for v in value for r in rows(v)] if isinstance(value, list) else []

tid = int(shell["track"].rsplit("(", 1)[1].rstrip(")"))
cpu = next(r["cpu_ns"] for r in rows(json.load(open("show.json"))) if r["tid"] == tid) / 1e9
running = seconds(shell, "running")
assert 0.98 * cpu <= running <= 1.05 * cpu + 0.02, (running, cpu)
# Nothing in between: from the first moment to the last, the thread is in one state.
slices = shell["slices"]
assert all(a[1] == b[0] for a, b in zip(slices, slices[1:])), [e[:3] for e in slices]
PY
}
