#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# of SESSION EXPR [OPTIONS]: what an expression gives of the JSON report d.
of() {
    local session=$1 expr=$2
    shift 2
    "$WPROF" report --format json "$@" "$session" 2>/dev/null | EXPR=$expr python3 -c '
import json, os, sys
d = json.load(sys.stdin)
print(eval(os.environ["EXPR"], {"d": d, "by": {f["id"]: f for f in d["findings"]}, "state": {c["id"]: c for c in d["checks"]}}))'
}

# documented SESSION: every key of its JSON report, and of a finding, stands in the man page.
documented() {
    of "$1" '"\n".join([*d, *d["wall"], *(k for f in d["findings"][:1] for k in (*f, *f["where"]))])' >keys
    [ "$(wc -l <keys)" -gt 10 ]
    while read -r key; do
        tr -d '\\' <"$ROOT/man/wprof-report.1.md" | sed '1,/^# JSON/d' | grep -qE "[*]$key[*]" || { echo "$key is not in the man page"; return 1; }
    done <keys
}

folded_session() {
    printf '%s\n' 'main;a;b 10' 'main;a 5' 'main;d;c 20' 'main;step (net.py);tick 65' >x
    "$WPROF" import -o s x 2>/dev/null
}

@test "report: an import has shares, no seconds, and says what it cannot check" {
    folded_session
    run -0 "$WPROF" report s
    [[ $output == *"Much of the CPU time is in step"* ]]
    [[ $output != *"Where the time went"* && $output != *$'\033'* ]]
    [ "$(of s 'd["wall_ns"], by["hot-function"]["cost_ns"], by["hot-function"]["share"]')" = "(0, None, None)" ]
    [ "$(of s 'state["lock-wait"]["state"], state["gpu-gap"]["detail"].split(":")[0]')" = "('not checked', 'needs gpu')" ]
    [ "$(of s 'd["folded"]["stacks"], d["folded"]["samples"], d["folded"]["top_leaves"][0]["text"]')" = "(4, 100, 'tick')" ]
}

@test "report: no finding is a result, and says what was checked" {
    printf '%s\n' 'main;a 10' 'main;b 10' 'main;c 10' 'main;d 10' >x
    "$WPROF" import -o s x 2>/dev/null
    run -0 "$WPROF" report s
    [[ $output == *"No findings. But only "*" rules could be checked"*" rules: 0 found something, "* ]]
    run -0 "$WPROF" report --rule hot-function s
    [[ $output == *"No findings. Nothing of what was looked for is there."* ]]
    [ "$(of s 'd["findings"], d["findings_ns"]')" = "([], 0)" ]
}

@test "report: AIProf's share of CUDA kernels" {
    printf '%s\n' 'py;step;CUDA:gemm 30' 'py;step;load 70' >x
    "$WPROF" import -o s x 2>/dev/null
    [[ $(of s 'by["cuda-launches"]["evidence"]') == "30.0 % of 100 samples"* ]]
    [ "$(of s 'd["folded"]["cuda_samples"]')" = 30 ]
    [ "$(of s 'state["cuda-launches"]["state"]' --set cuda-launches.share=40%)" = clean ]
    # a kernel takes no CPU time, however much of the samples it has
    printf '%s\n' 'py;step;CUDA:gemm 70' 'py;step;load 30' >x
    "$WPROF" import -o t x 2>/dev/null
    [ "$(of t '[f["id"] for f in d["findings"]]')" = "['cuda-launches']" ]
    [[ $(of t 'state["hot-function"]["detail"]') == *"CUDA:gemm, which runs on no CPU"* ]]
}

@test "report: chosen rules, thresholds, rules of one's own" {
    folded_session
    [ "$(of s '[f["id"] for f in d["findings"]]' --set hot-function.share=70%)" = "[]" ]
    [ "$(of s '[c["id"] for c in d["checks"] if c["state"] != "left out"]' --rule hot-function)" = "['hot-function']" ]
    cat >settings <<'END'
[rules]
hot-function.share = 90%
own.net = [(]net[.]py[)] > 50% : use a smaller net
own.rare = nothing_like_it > 1% : never said
END
    "$WPROF" --config settings report --format json s >r
    python3 - <<'END'
import json
d = json.load(open("r"))
assert [(f["id"], f["advice"]) for f in d["findings"]] == [("own.net", "use a smaller net")], d["findings"]
assert [c["state"] for c in d["checks"] if c["id"] == "own.rare"] == ["clean"]
END
    run -0 "$WPROF" --config settings config --list
    [[ $output == *"rules.hot-function.share"*"90%"* ]]
}

@test "report: what is wrong is said, with the nearest name" {
    folded_session
    run -2 "$WPROF" report --rule loader-wate s
    [[ $output == *"no rule 'loader-wate', did you mean 'loader-wait'?"* ]]
    run -2 "$WPROF" report --set loader-wait.shore=1 s
    [[ $output == *"no threshold 'shore'; it has share=5%"* ]]
    run -2 "$WPROF" report --set loader-wait.share=much s
    [[ $output == *"'much' is no number"* ]]
    run -2 "$WPROF" report --set loader-wait.share=20 s
    [[ $output == *"more than all"* ]]
    printf '[rules]\nown.x = ((( > 5%% : y\n' >bad
    run -2 "$WPROF" --config bad report s
    [[ $output == *"bad:2: own.x: '(((' is no extended regular expression"* ]]
    run -3 "$WPROF" report nowhere
}

@test "report: kept in the session, shown again until --refresh or a change" {
    folded_session
    "$WPROF" report --format json s >first
    cmp first s/reports/heuristic.json
    [ "$(stat -c %a s/reports)" = 700 ]
    echo '{"kept": 1}' >s/reports/heuristic.json
    [ "$("$WPROF" report --format json s 2>/dev/null)" = '{"kept": 1}' ]
    "$WPROF" report --format json --rule hot-function s | grep -q checks # options: made anew, not kept
    [ "$(cat s/reports/heuristic.json)" = '{"kept": 1}' ]
    "$WPROF" report --format json --refresh s | cmp - first
    echo '{"old": 1}' >s/reports/heuristic.json
    touch -d '+1 minute' s/meta.json
    "$WPROF" report --format json s | cmp - first
}

@test "report: of threads that are joined the lock that holds them up is named" {
    need_tier_a
    need_python
    cat >joined.py <<'END'
import threading, time
lock = threading.Lock()
def flush_log():
    time.sleep(0.02)
def work():
    for _ in range(15):
        with lock:
            flush_log()
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
END
    "$WPROF" record -q -o s --without topology -- "$PYTHON" joined.py
    [ "$(of s 'int(d["workers"]["of"].split()[0]) > 1')" = True ]
    [ "$(of s '0 < sum(p["ns"] for p in d["workers"]["parts"]) <= d["workers"]["ns"]')" = True ]
    [[ $(of s 'by["lock-wait"]["title"]') == "A worker waits for a lock, held up in flush_log (joined.py:"* ]]
}

@test "report: several sessions, a file" {
    folded_session
    "$WPROF" import -o t x 2>/dev/null
    "$WPROF" report --format json -o out s t
    [ "$(python3 -c 'import json; print(len(json.load(open("out"))))')" = 2 ]
    run -0 "$WPROF" report s t
    [[ $output == *"Findings"*"Findings"* ]]
}

@test "report: the page of rules is that of the table" {
    "$WPROF" report --rules-page | diff "$ROOT/man/wprof-rules.7.md" -
    for row in {1..50}; do
        grep -qE "^RULE\($row," "$ROOT/src/analyze/rules.def" || { echo "no rule for row $row"; false; }
    done
}

@test "report: each rule has a session that it speaks of, and one that it looks at and is silent" {
    for program in "$BUILD"/tests/unit/test_rules* "$BUILD"/tests/unit/test_unit_slow; do
        [ ! -x "$program" ] || [ -d "$program" ] || WPROF_RULES_SAID=said "$program" >log 2>&1 || { cat log; false; }
    done
    sed -nE 's/^RULE\([0-9]+, "([^"]*)".*/\1/p' "$ROOT/src/analyze/rules.def" >rules
    [ "$(wc -l <rules)" -ge 50 ]
    while read -r rule; do
        grep -qx "$rule: found" said || { echo "$rule is found nowhere"; false; }
        grep -qx "$rule: clean" said || { echo "$rule is silent nowhere"; false; }
    done <rules
}

@test "report: train.py's flaw is named, and gone with --fixed" {
    need_tier_a
    need_python
    local args=(--backend python --pictures 96 --epochs 1)
    "$WPROF" record -o slow --source --without topology -- "$PYTHON" "$ROOT/examples/train.py" "${args[@]}" >/dev/null 2>&1
    "$WPROF" record -o fixed --without topology -- "$PYTHON" "$ROOT/examples/train.py" "${args[@]}" --fixed >/dev/null 2>&1
    # Where others use the CPUs, waiting for one of these comes first or second.
    [[ $(of slow '[f["title"] for f in d["findings"] if f["id"] not in ("oversubscribed", "sched-delay")][0]') == \
        *"waits for its "*"slow_transform"* ]]
    [[ $(of slow 'by["loader-wait"]["where"]["line"]') == "slow_transform (train.py:"* ]]
    # The text of the lines is in the session, whatever becomes of the files.
    [[ $(of slow '[l["text"] for l in d["python_lines"] if "slow_transform" in l["function"]]') == *"14.0 * out[i]"* ]]
    [[ $(of fixed 'str(d["findings"])') != *slow_transform* ]]
    # No second is counted twice, and the bar is the wall time.
    [ "$(of slow 'd["findings_ns"] == sum(f["cost_ns"] or 0 for f in d["findings"]) <= d["wall_ns"]')" = True ]
    [ "$(of slow 'sum(p["ns"] for p in d["wall"]["parts"]) + d["wall"]["unseen_ns"] == d["wall"]["ns"]')" = True ]
    documented slow
}

@test "report: Markdown, whatever names hold" {
    printf '%s\n' 'main;<b>a|b`c</b>@plt;*x*_y_ 60' 'main;[l](http://e.org) 40' >x
    "$WPROF" import -o s x 2>/dev/null
    "$WPROF" report --format md s >r.md
    grep -q '^## Functions by their own time$' r.md
    grep -q '^|---:|' r.md
    grep -qF '``<b>a\|b`c</b>@plt``' r.md # in a table a bar is escaped
    grep -qF 'is in \*x\*\_y\_' r.md      # in a sentence everything is
    need_command cmark
    cmark --safe r.md >r.html
    if grep -qE '<b>|<em>|<a href' r.html; then false; fi
}

@test "report: a page, small and with its pictures; without cmark it is said" {
    printf '%s\n' 'main;<script>alert(1)</script>;b 60' 'main;c 40' >x
    "$WPROF" import -o s x 2>/dev/null
    if ! "$WPROF" version | grep -qE '^ *cmark +yes'; then
        run -3 "$WPROF" report --format html -o page.html s
        [[ $output == *"without cmark"*"--format md"* ]]
        skip "needs libcmark"
    fi
    "$WPROF" report --format html -o page.html s
    [ "$(stat -c %s page.html)" -lt 3000000 ]
    grep -q '<article class="report">' page.html
    grep -q '<figure class="static"><svg' page.html
    grep -q '<td>main</td>\|<td>b</td>' page.html
    if grep -q '<script>alert' page.html; then false; fi
    cmp page.html s/reports/heuristic.html
    run -2 "$WPROF" report --format html s s
}

@test "report: an empty session, a topology snapshot: nothing is made up" {
    "$WPROF" record -q --tier C --collect metrics -o s -- true # nothing was sampled
    for format in text md json; do
        run -0 "$WPROF" report --refresh --format $format s
    done
    [ "$(of s 'd["folded"]["samples"], d["wall"]["parts"], d.get("hotspots_self"), d["device_bars"], d["idle_blame"]')" = \
        "(0, [], None, [], [])" ]
    run -3 "$WPROF" report nothing
    printf '%s\n' '{"nodes": [], "edges": []}' >g.json
    "$WPROF" import -o g g.json 2>/dev/null
    for format in text md json; do
        run -0 "$WPROF" report --format $format g
    done
    [ "$(of g 'd["findings"], d["wall"]["ns"], d["folded"]["samples"]')" = "([], 0, 0)" ]
    printf '{"format": "wprof-topology", "version": 1, "nodes": [{"id": "Process(pid=1,ppid=0)", "kind": "process", "attrs": {"pid": 1, "ppid": 0, "name": "x"}}], "edges": []}' >h.json
    "$WPROF" import -o h h.json 2>/dev/null
    "$WPROF" report h 2>/dev/null | grep -q 'topology of 1 nodes and 0 edges, 1 of them processes'
    echo '{"nodes": [' >h/topology.json # damaged: the rest is told
    run -0 --separate-stderr "$WPROF" report h
    [[ $output == *"No findings"* && $stderr == *"without the topology, which is damaged: h/topology.json: "* ]]
}

@test "report: a trace of a GPU: a bar a device, why it was idle, to the nanosecond" {
    cat >k.json <<'END'
{"traceEvents": [
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 10, "ts": 100, "dur": 10, "args": {"correlation": 1}},
 {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 200, "dur": 400, "args": {"device": 0, "stream": 7, "correlation": 1}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 10, "ts": 790, "dur": 10, "args": {"correlation": 2}},
 {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 900, "dur": 200, "args": {"device": 0, "stream": 7, "correlation": 2}},
 {"ph": "X", "cat": "kernel", "name": "ncclKernel_AllReduce", "pid": 0, "tid": 8, "ts": 1000, "dur": 200, "args": {"device": 0, "stream": 8}},
 {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 9, "ts": 1200, "dur": 100,
  "args": {"device": 0, "stream": 9, "bytes": 1000}}
]}
END
    "$WPROF" import -o k k.json 2>/dev/null
    # of 100 .. 1300 us: computing 200 .. 600 and 900 .. 1100, communicating alone for 100 more, copying for 100
    [ "$(of k '[(p["key"], p["ns"], p["blocked"]) for p in d["device_bars"][0]["parts"]]')" = \
        "[('compute', 600000, False), ('communicate', 100000, False), ('copy', 100000, False), ('idle_host', 300000, True)]" ]
    [ "$(of k '[d["device_bars"][0][n] for n in ("of", "ns", "busy_ns", "unseen_ns")]')" = "['GPU 0', 1200000, 800000, 100000]" ]
    # of the gap 600 .. 900 the call was asked for at 790, and ended at 800
    [ "$(of k '[(b["state"], b["ns"]) for b in d["idle_blame"]]')" = "[('unseen', 190000), ('starting', 100000), ('asking', 10000)]" ]
    "$WPROF" report k 2>/dev/null | grep -q 'GPU 0: busy for 66.7 % of 1.2 ms'
    "$WPROF" report --format md k 2>/dev/null | grep -q '| 50.0 % | 600 us | `computing` |'
    documented k
}

@test "report --all: text has the first rows of a table and says how all are shown, JSON has all" {
    for i in $(seq 40); do printf 'main;f%d %d\n' "$i" "$((1000 - i))"; done >many.folded
    "$WPROF" import -o many many.folded 2>/dev/null
    run -0 "$WPROF" report --all many
    [[ $output == *"... 25 more: wprof show --by function --top 0"* ]]
    [ "$(grep -c ' f[0-9]* *$' <<<"$("$WPROF" show --by function --top 0 many)")" = 40 ]
    run -0 "$WPROF" report --all --format json many
    python3 -c 'import json, sys
assert sum(r["name"].startswith("f") for r in json.loads(sys.argv[1])["hotspots_self"]) == 40' "$output"
}
