#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The timeline in formats of others: chrome, perfetto.
load common

# A session of two threads, with waits, marks and metrics; see tests/unit/timeline_fixture.h.
setup() {
    cd "$BATS_TEST_TMPDIR"
    [ -x "$BUILD/tests/unit/test_timeline_session" ] || skip "needs the unit tests, built"
    WPROF_SESSION=$PWD/s "$BUILD/tests/unit/test_timeline_session" >/dev/null 2>&1
}

# perfetto FILE EXPR: a Python expression over what the decoder found: track(name) and the rest in `other`.
perfetto() {
    python3 "$BATS_TEST_DIRNAME/../tools/perfetto.py" "$1" >decoded
    python3 - "$2" <<'PY'
import json, sys
lines = [json.loads(line) for line in open("decoded")]
other, tracks = lines.pop(), lines
def track(name):
    found = [t for t in tracks if t["track"].endswith(name)]
    assert len(found) == 1, [t["track"] for t in tracks]
    return found[0]
def ms(event):
    return [(event[0] - 1000000000) / 1e6, (event[1] - 1000000000) / 1e6, event[2]]
value = eval(f"({sys.argv[1]})")
assert value, (sys.argv[1], tracks, other)
PY
}

@test "perfetto: slices of a thread, with what, where and by whom" {
    "$WPROF" export --format perfetto -o t s
    perfetto t '[ms(e) for e in track("python3 (100) / python3 (100)")["slices"]] ==
        [[0, 20, "running"], [20, 50, "futex"], [50, 55, "runnable"], [55, 100, "running"]]'
    perfetto t 'track("/ python3 (100)")["slices"][1][3] == {"what": "futex 0x7f00", "at": "Queue.get (queue.py)",
        "woken_by": "loader (101)", "woken_at": "slow_transform (train.py)"}'
    perfetto t 'track("/ python3 (100)")["slices"][1][4] == ["main (train.py)", "Queue.get (queue.py)", "futex_wait"]'
    perfetto t '[ms(e) for e in track("/ loader (101)")["slices"]] ==
        [[0, 5, "preempted"], [5, 100, "running"]]'
}

@test "perfetto: wake-ups are flows, samples have stacks" {
    "$WPROF" export --format perfetto -o t s
    perfetto t 'other["flows"] == ["loader (101) -> python3 (100)"]'
    perfetto t '[e[2] for e in track("/ loader (101)")["instants"]] == ["wakes"]'
    perfetto t '[(s[2], s[3][-1]) for s in other["samples"]] == [(100, "conv2d"), (101, "slow_transform (train.py)")]'
}

@test "perfetto: marks that overlap have tracks of their own, metrics count" {
    "$WPROF" export --format perfetto -o t s
    perfetto t 'sorted(ms(e)[2] for t in tracks if t["track"].endswith("marks") for e in t["slices"]) ==
        ["</script> \"request\" 8", "request 7"]'
    perfetto t '[e[2] for t in tracks if t["track"].endswith("marks") for e in t["instants"]] == ["step 12"]'
    perfetto t '[v for _, v in track("machine / load")["values"]] == [5, 6]'
    perfetto t '[v for _, v in track("python3 (100) / rss")["values"]] == [7]'
    perfetto t '[ms(e) for e in track("loader (101) / GIL")["slices"]] == [[60, 70, "GIL"]]'
}

@test "perfetto: the decoder refuses what does not hold together" {
    "$WPROF" export --format perfetto -o t s
    python3 "$BATS_TEST_DIRNAME/../tools/perfetto.py" t >/dev/null
    head -c -3 t >cut
    run -1 python3 "$BATS_TEST_DIRNAME/../tools/perfetto.py" cut
    { cat t; tail -c 40 t; } >more
    run -1 python3 "$BATS_TEST_DIRNAME/../tools/perfetto.py" more
}

# chrome EXPR: a Python expression over the events.
chrome() {
    "$WPROF" export --format chrome s >t.json
    python3 - "$1" <<'PY'
import json, sys
trace = json.load(open("t.json"))
events, frames = trace["traceEvents"], trace["stackFrames"]
def of(phase):
    return [e for e in events if e["ph"] == phase]
def stack(e):
    at, names = e.get("sf"), []
    while at:
        names.insert(0, frames[at]["name"])
        at = frames[at].get("parent")
    return names
value = eval(f"({sys.argv[1]})")
assert value, (sys.argv[1], events)
PY
}

@test "chrome: spans in microseconds, with stacks" {
    chrome '[(e["name"], e["cat"], e["ts"], e["dur"]) for e in of("X") if e["tid"] == 100] == [("running", "running", 0, 20000),
        ("futex", "waiting", 20000, 30000), ("runnable", "runnable", 50000, 5000), ("running", "running", 55000, 45000)]'
    chrome '[stack(e)[1:] for e in of("X") if e["name"] == "futex"] == [["Queue.get (queue.py)", "futex_wait"]]'
    chrome '[stack(e)[-1] for e in of("P")] == ["conv2d", "slow_transform (train.py)"]'
    chrome '{(e["name"], e["pid"], e["tid"], e["args"]["name"]) for e in of("M")} == {("process_name", 0, 0, "machine"),
        ("process_name", 100, 100, "python3"), ("thread_name", 100, 100, "python3"), ("thread_name", 100, 101, "loader")}'
}

@test "chrome: flows, counters, marks" {
    chrome '[(e["ph"], e["tid"], e["ts"]) for e in events if e["name"] == "wakes"] == [("s", 101, 50000), ("f", 100, 50000)]'
    chrome '[(e["name"], e["pid"], e["args"]["value"]) for e in of("C")] == [("load", 0, 5), ("load", 0, 6), ("rss", 100, 7)]'
    chrome '[(e["name"], e["s"], e["ts"]) for e in of("i")] == [("step 12", "p", 40000)]'
    chrome 'sorted((e["name"], e["ph"], e["ts"]) for e in events if e.get("id") and e["ph"] in "be" and "8" in e["name"]) ==
        [("</script> \"request\" 8", "b", 30000), ("</script> \"request\" 8", "e", 70000)]'
    chrome 'len({(e["ph"], e["id"]) for e in of("b")}) == 3'
    not grep -q '</script>' t.json
}

@test "export: what has no time has no timeline" {
    printf 'a;b 1\n' | "$WPROF" import -o folded - 2>/dev/null
    run -3 --separate-stderr "$WPROF" export --format perfetto folded
    [[ $stderr == *"there is no timeline to write"* ]]
    run -3 --separate-stderr "$WPROF" export --format chrome --metric oncpu s
    [[ $stderr == *"--metric is for profiles"* ]]
}

@test "perfetto: a real recording holds together" {
    need_tier_a
    "$WPROF" record --duration 5 -o real -- sh -c 'sleep 0.2 | cat; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done' 2>/dev/null
    "$WPROF" export --format perfetto -o t real
    python3 "$BATS_TEST_DIRNAME/../tools/perfetto.py" t >decoded
    grep -q '"sh ([0-9]*) / sh' decoded
    "$WPROF" export --format chrome real | python3 -c 'import json,sys; assert json.load(sys.stdin)["traceEvents"]'
}
