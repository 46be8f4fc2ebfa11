#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Traces that others recorded.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    KINETO=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/kineto
}

need_traces() {
    [ -d "$KINETO" ] || skip "needs the shared data (kineto)"
    need_python json
}

figures() {
    "$PYTHON" "$ROOT/tests/tools/kineto_figures.py" "$WPROF" "$@"
}

@test "import kineto: every trace of others is read, and says what the trace says" {
    need_traces
    for trace in "$KINETO"/*.json.gz; do
        [[ $trace == */diff-test* ]] && continue # like diff-control, and as long
        rm -rf s
        "$WPROF" -q import -o s "$trace"
        figures s "$trace" || {
            echo "$trace"
            return 1
        }
    done
}

@test "import kineto: two ranks make one session" {
    need_traces
    "$WPROF" -q import -o s "$KINETO"/sampled_rank-{0,1}.json.gz
    figures s "$KINETO"/sampled_rank-{0,1}.json.gz
    "$WPROF" show --gpu s >shown
    grep -q '^ *rank 0 GPU 0' shown
    grep -q '^ *rank 1 GPU 1' shown
    "$WPROF" show --units step s | grep -q 'step 551 .*\[rank 1\]'
    "$WPROF" show --ranks --json s | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert [r["rank"] for r in d["ranks_compared"]] == [0, 1] and d["ranks_steps_kind"] == "step", d
assert all(r["gpu_busy_ns"] > 0 and r["waited_ns"] > 0 and r["steps"] == 2 for r in d["ranks_compared"]), d
assert [s["ranks"] for s in d["ranks_steps"]] == [2, 2] and not any(x["state"] == "on CPU" for x in d["ranks_did"]), d
'
}

# trace FILE RANK BEGIN: a kernel of 10 us from BEGIN on, in us; RANK "": none is told
trace() {
    cat >"$1" <<END
{"schemaVersion": 1, ${2:+"\"distributedInfo\": {\"rank\": $2},"} "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": $3, "dur": 5, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": $(($3 + 10)), "dur": 10, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 1}}]}
END
}

@test "import kineto: a file that tells no rank gets one that no other file has" {
    trace a.json 0 1000
    trace b.json 3 1000
    trace c.json "" 1000
    trace d.json "" 1000 # by its place it would be rank 3
    run -0 --separate-stderr "$WPROF" import -o s a.json b.json c.json d.json
    [[ $stderr == *"c.json: no rank is told, it is taken for rank 2"*"d.json: no rank is told, it is taken for rank 4"* ]]
    [[ $stderr != *overlap* ]]
    "$WPROF" show --gpu --json s | python3 -c 'import json, sys
d = json.load(sys.stdin)
assert [(x["rank"], x["kernel_count"]) for x in d["devices"]] == [(0, 1), (2, 1), (3, 1), (4, 1)], d["devices"]'
    "$WPROF" export --metric gpu s | cut -d';' -f1 >roots
    diff - roots <<'END'
process [rank 0]
process [rank 2]
process [rank 3]
process [rank 4]
END
}

@test "import kineto: files of one rank follow each other, or it is said" {
    trace a.json 0 1000
    trace b.json 0 5000
    run -0 --separate-stderr "$WPROF" import -o s a.json b.json
    [[ $stderr != *overlap* ]]
    trace b.json 0 1005
    run -0 --separate-stderr "$WPROF" import -o t a.json b.json
    [[ $stderr == *"a.json and b.json are both of rank 0, and their times overlap"* ]]
    "$WPROF" show t | grep -q 'their times overlap'
}

@test "import kineto: a memory timeline" {
    need_traces
    run -0 --separate-stderr "$WPROF" import -o s "$KINETO/memory_timeline.raw.gz"
    [[ $stderr == *"645 allocations from before, 3,345 frees, 3,345 allocations from"* ]]
    [[ $stderr == *"left out: 9,510 changes of what memory is used for"* ]]
}

@test "import kineto: memory has the stack of who asked for it" {
    cat >memory.json <<'END'
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "python_function", "name": "train.py(10): main", "pid": 9, "tid": 9, "ts": 1000, "dur": 900},
{"ph": "X", "cat": "python_function", "name": "train.py(20): step", "pid": 9, "tid": 9, "ts": 1050, "dur": 500},
{"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 9, "tid": 9, "ts": 1100, "dur": 50},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 1110, "args": {"Bytes": 1000, "Addr": 4096, "Device Id": 0, "Device Type": 1}},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 1120, "args": {"Bytes": 3000, "Addr": 8192, "Device Id": 0, "Device Type": 1}},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 1700, "args": {"Bytes": -3000, "Addr": 8192, "Device Id": 0, "Device Type": 1}},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 1710, "args": {"Bytes": 500, "Addr": 12288, "Device Id": 0, "Device Type": 1}},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 1800, "args": {"Bytes": 64, "Addr": 77, "Device Id": -1, "Device Type": 0}}
]}
END
    "$WPROF" -q import -o s memory.json
    diff - <("$WPROF" export --metric alloc s) <<'END'
process;main (train.py);[GPU 0 device memory] 500
process;main (train.py);[pageable memory] 64
process;main (train.py);step (train.py);aten::empty;[GPU 0 device memory] 4000
END
    diff - <("$WPROF" export --metric alloc-peak s) <<'END'
process;main (train.py);[pageable memory] 64
process;main (train.py);step (train.py);aten::empty;[GPU 0 device memory] 4000
END
    "$WPROF" show --metric alloc-peak s | grep -q '98\.4 % *3\.9 KiB .*\[GPU 0 device memory\]'
    "$WPROF" -q render --view alloc --format svg -o - s | grep -A 1 'aten::empty' | grep -q '3\.9 KiB'
    "$WPROF" -q render --view alloc-peak -o page.html s
    grep -q '"alloc-peak"' page.html
    for f in pprof speedscope; do
        "$WPROF" -q export --metric alloc --format $f -o x.$f s
        "$WPROF" -q import -o back.$f x.$f
        grep -o 'main (train.py);.*' <("$WPROF" export --metric alloc s) | diff - <("$WPROF" export back.$f | grep -o 'main (train.py).*')
    done
    grep -q '"unit":"bytes"' x.speedscope
    run -3 --separate-stderr "$WPROF" export --metric alloks --format pprof -o p s
    [[ $stderr == *"no metric 'alloks'"* ]]
}

@test "import kineto: packed or not, from a pipe, cut off" {
    trace=$ROOT/tests/fuzz/corpus/kineto/training
    "$WPROF" -q import -o plain "$trace"
    gzip -c "$trace" >packed.gz
    "$WPROF" -q import -o packed packed.gz
    "$WPROF" -q import -o pipe - <packed.gz
    "$WPROF" export --metric gpu plain >plain.folded
    grep -qx 'process;main;ProfilerStep;forward (net.py);aten::mm;cudaLaunchKernel;CUDA:gemm 40250' plain.folded
    for s in packed pipe; do
        diff plain.folded <("$WPROF" export --metric gpu $s)
    done
    head -c 900 "$trace" >cut.json
    run -0 --separate-stderr "$WPROF" import -o cut cut.json
    [[ $stderr == *"not taken, for it makes no sense: 1 end: the file was cut off"* ]]
    gzip -c "$trace" | head -c 300 >cut.gz
    run -0 --separate-stderr "$WPROF" import -o cutgz cut.gz
    [[ $stderr == *"the gzip data ends too early: what stands before is here"* ]]
    "$WPROF" show cutgz | grep -q 'ends too early'
}

@test "import kineto: what makes no sense is counted, said, and in meta.json" {
    run -0 --separate-stderr "$WPROF" import -o s "$ROOT/tests/fuzz/corpus/kineto/odd"
    [[ $stderr == *"not taken, for it makes no sense:"*"1 event with a negative duration"* ]]
    "$WPROF" show s | grep -q 'makes no sense'
    python3 - <<'END'
import json
m = json.load(open("s/meta.json"))
assert m["kind"] == "imported" and "gpu" in m["kinds"], m["kinds"]
assert m["counters"]["import.copies"] == 1, m["counters"]
assert m["counters"]["import.lost.events_with_a_negative_duration"] == 1
assert "PyTorch" in m["notes"], m["notes"]
END
}

@test "import chrome: where a trace without samples spent its time, by span" {
    cat >t.json <<'END'
{"traceEvents": [
 {"ph": "X", "pid": 1, "tid": 1, "name": "compile", "ts": 0, "dur": 100},
 {"ph": "X", "pid": 1, "tid": 1, "name": "parse", "ts": 10, "dur": 30},
 {"ph": "X", "pid": 1, "tid": 1, "name": "emit", "ts": 50, "dur": 40},
 {"ph": "X", "pid": 1, "tid": 1, "name": "link", "ts": 50, "dur": 15},
 {"ph": "X", "pid": 1, "tid": 1, "name": "late", "ts": 80, "dur": 40},
 {"ph": "X", "pid": 1, "tid": 2, "name": "parse", "ts": 20, "dur": 5}]}
END
    "$WPROF" -q import --from chrome -o s t.json
    run -0 "$WPROF" show s
    [[ $output == *"Functions by self, of 135 us"* ]] || { echo "$output"; false; }
    diff - <("$WPROF" export --metric spans s | sed 's/^[^;]*;//' | sort) <<'END'
compile 30000
compile;emit 15000
compile;emit;late 40000
compile;emit;link 15000
compile;parse 30000
parse 5000
END
    "$WPROF" -q render -o page.html s
    grep -q '"spans"' page.html
    "$WPROF" show --callers link s | grep -q emit
    "$WPROF" report --all s | grep -A3 'Functions by their own time' | grep -q '40 us.*late'
}

@test "import chrome: spans nest, whoever wrote them" {
    cat >trace.json <<'END'
{"traceEvents": [
 {"name": "request", "ph": "B", "ts": 0, "pid": 7, "tid": 8},
 {"name": "query", "ph": "X", "ts": 100, "dur": 500, "pid": 7, "tid": 8},
 {"ph": "E", "ts": 1000, "pid": 7, "tid": 8},
 {"name": "done", "ph": "i", "ts": 1000, "pid": 7, "tid": 8},
 {"name": "process_name", "ph": "M", "pid": 7, "args": {"name": "server"}}]}
END
    run -0 --separate-stderr "$WPROF" import -o s trace.json
    [[ $stderr == *"2 spans, 1 moment from"* ]]
    "$WPROF" render --format html --view timeline -o page.html s
    grep -q query page.html
}

@test "import: files of several formats, or several of a format that takes one" {
    echo 'a;b 1' >x.folded
    run -3 "$WPROF" import -o s x.folded x.folded
    [[ $output == *"one file makes a session"* ]]
    run -3 "$WPROF" import -o s "$ROOT/tests/fuzz/corpus/kineto/training" x.folded
    [[ $output == *"x.folded is folded and those before are kineto"* ]]
    [ ! -e s ]
}

# One of kernels at a time on one stream, and memory, of which some is freed twice and some was there before.
overlapping() {
    cat <<'END'
{"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [
{"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 10, "dur": 100, "args": {"device": 0, "stream": 7, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 20, "dur": 10, "args": {"device": 0, "stream": 7, "correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "tid": 7, "ts": 25, "dur": 100, "args": {"device": 0, "stream": 7, "correlation": 3}},
{"ph": "X", "cat": "kernel", "name": "d", "pid": 0, "tid": 8, "ts": 25, "dur": 100, "args": {"device": 0, "stream": 8, "correlation": 4}},
{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 5, "tid": 5, "ts": 0, "dur": 50},
{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "pid": 5, "tid": 5, "ts": 1, "args": {"Bytes": 4096, "Addr": 77, "Device Id": 0, "Device Type": 1}},
{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "pid": 5, "tid": 5, "ts": 2, "args": {"Bytes": 512, "Addr": 78, "Device Id": -1, "Device Type": 0}},
{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "pid": 5, "tid": 5, "ts": 3, "args": {"Bytes": -4096, "Addr": 77, "Device Id": 0, "Device Type": 1}},
{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "pid": 5, "tid": 5, "ts": 4, "args": {"Bytes": -64, "Addr": 79, "Device Id": 0, "Device Type": 1}}]}
END
}

@test "a Chrome trace has tracks for what runs at a time on one stream, and what was allocated and freed" {
    need_python json
    overlapping >t.json
    "$WPROF" import -o s t.json 2>err
    "$WPROF" export --format chrome -o u.json s
    "$WPROF" import -o again u.json 2>err
    "$WPROF" show --gpu --json --top 0 s >shown.json
    "$WPROF" show --gpu --json --top 0 again >shown2.json
    "$PYTHON" - <<'END'
import json
events = json.load(open("u.json"))["traceEvents"]
ran = [e for e in events if e.get("cat") == "kernel"]
track = {e["name"]: e["tid"] for e in ran}
assert track["a"] == 7 and track["d"] == 8 and len({track["a"], track["b"], track["d"]}) == 3, track
assert all(e["args"]["stream"] == (8 if e["name"] == "d" else 7) for e in ran)
for e in ran:
    for f in ran:
        assert e is f or e["tid"] != f["tid"] or e["ts"] + e["dur"] <= f["ts"] or f["ts"] + f["dur"] <= e["ts"], (e, f)
named = {e["tid"] for e in events if e["name"] == "thread_name"}
assert set(track.values()) <= named, (track, named)
one, two = json.load(open("shown.json")), json.load(open("shown2.json"))
assert len(one["memory"]) == 2 and one["memory"] == two["memory"], (one["memory"], two["memory"])
assert one["allocations"] == two["allocations"], (one["allocations"], two["allocations"])
assert one["devices"] == two["devices"]
END
}

@test "a Chrome trace keeps annotations, on threads and on devices" {
    need_python json
    cat >t.json <<'END'
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "## backward ##", "pid": 100, "tid": 100, "ts": 1, "dur": 20},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 100, "ts": 2, "dur": 10},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": 3, "dur": 5, "args": {"correlation": 1}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "## backward ##", "pid": 0, "tid": 7, "ts": 19, "dur": 12},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20, "dur": 10, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 1}}]}
END
    "$WPROF" -q import -o s t.json
    "$WPROF" export --format chrome -o u.json s
    "$WPROF" -q import -o again u.json
    for session in s again; do
        "$WPROF" query -f csv $session 'select op, name, ts, dur, task is null from calls order by ts' >$session.csv
    done
    diff s.csv again.csv
    "$PYTHON" - <<'END'
import json
def spans(file):
    return sorted((e["cat"], e["name"], e["pid"], e["tid"], e["dur"]) for e in json.load(open(file))["traceEvents"] if e["ph"] == "X")
assert spans("t.json") == spans("u.json"), spans("u.json")
END
}

@test "a session without samples: the page begins with what there is, an empty product is said" {
    trace t.json "" 1000
    "$WPROF" -q import -o s t.json
    "$WPROF" -q render -f svg -o - s | grep -q 'CUDA:k'
    "$WPROF" -q render -f svg -v cpu -o - s | grep -q 'No samples'
    run -0 --separate-stderr "$WPROF" export s
    [[ -z $output && $stderr == *"no samples of CPUs"*"--metric gpu has something"* ]]
    run -0 --separate-stderr "$WPROF" export -m gpu s
    [[ $output == *"CUDA:k 10000" && -z $stderr ]]
}
