#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What GPUs did, of traces that others recorded, against figures computed from them by gpu_figures.py.

load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    need_python
    data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/kineto
    [ -e "$data/nccl.json.gz" ] || skip "needs kineto/*.json.gz in WPROF_SHARED_DATA"
}

# figures NAME...: imports those traces as one session; fails unless every figure is right to 0.1 %.
figures() {
    local files=("${@/#/$data/}")

    "$WPROF" import -o s "${files[@]/%/.json.gz}" 2>err || { cat err; return 1; }
    "$WPROF" show --gpu --json --top 0 s >shown.json || return 1
    rm -r s
    "$PYTHON" "$ROOT/tests/cli/gpu_figures.py" shown.json "${files[@]/%/.json.gz}"
}

@test "busy, idle and why, overlap, kernels of each trace of NVIDIA's and AMD's are right to 0.1 %" {
    local trace any=0
    for trace in "$data"/*.json.gz; do
        trace=${trace##*/}
        figures "${trace%.json.gz}" || { echo "$trace"; return 1; }
        any=$((any + 1))
    done
    [ "$any" -ge 10 ]
}

@test "ranks of one session are told apart, and their figures are right to 0.1 %" {
    figures sampled_rank-0 sampled_rank-1
    "$PYTHON" - shown.json <<'END'
import json, sys
d = json.load(open(sys.argv[1]))["devices"]
assert [x["rank"] for x in d] == [0, 1], d
END
}

@test "one rank of several is exported alone, with its number and its figures" {
    "$WPROF" import -o two "$data"/sampled_rank-{0,1}.json.gz 2>err
    for rank in 0 1; do
        "$WPROF" -q export --format chrome --rank $rank -o r$rank.json two
        grep -q "\"rank\": $rank" r$rank.json
        "$WPROF" -q import -o back r$rank.json
        "$WPROF" -q import -o alone "$data/sampled_rank-$rank.json.gz"
        for s in back alone; do
            "$WPROF" show --gpu --json $s | "$PYTHON" -c 'import json, sys
print([(d["rank"], d["busy_ns"], d["idle_ns"], d["kernel_count"]) for d in json.load(sys.stdin)["devices"]])' >$s.figures
        done
        diff back.figures alone.figures
        rm -r back alone
    done
    run -3 "$WPROF" export --rank 7 two
    [[ $output == *"no rank '7' in this session (it has: 0, 1)"* ]]
}

@test "exported as a Chrome trace in PyTorch's rules it gives the same figures, arrows and steps" {
    "$WPROF" import -o s "$data/event_sync_multi_stream.json.gz" 2>err
    "$WPROF" show --gpu --json --top 0 s >shown.json
    "$WPROF" export --format chrome -o t.json s
    gzip -k t.json
    "$PYTHON" "$ROOT/tests/cli/gpu_figures.py" shown.json t.json.gz
    "$PYTHON" - t.json <<'END'
import json, re, sys
text = open(sys.argv[1]).read()
assert re.search(r'"rank":\s+0', text)
trace = json.loads(text)
events, flows = trace["traceEvents"], {}
for e in events:
    if e.get("cat") == "ac2g":
        flows.setdefault(e["id"], []).append((e["ph"], e["pid"], e["tid"], e["ts"]))
ran = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("kernel", "gpu_memset")}
calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime" and "correlation" in e["args"]}
assert len(ran) == 6 and set(flows) == set(ran), (ran, flows)
for correlation, (begin, end) in flows.items():
    call, e = calls[correlation], ran[correlation]
    assert begin == ("s", call["pid"], call["tid"], call["ts"]), (begin, call)
    assert end == ("f", 0, e["args"]["stream"], e["ts"]) and e["tid"] == e["args"]["stream"]
assert trace["baseTimeNanoseconds"] > 1.7e18
END
}

@test "figures that are off by more are noticed" {
    figures event_sync_multi_stream
    sed -i 's/"busy_ns": 372000/"busy_ns": 373000/' shown.json
    run "$PYTHON" "$ROOT/tests/cli/gpu_figures.py" shown.json "$data/event_sync_multi_stream.json.gz"
    [ "$status" -eq 1 ]
}

@test "the flame graph of GPU time names operator and kernel, and adds up to all kernels" {
    "$WPROF" import -o s "$data/nccl.json.gz" 2>err
    "$WPROF" export --metric gpu s >out
    "$WPROF" show --gpu --json --top 0 s >shown.json
    grep -q ';nccl:all_reduce;cudaLaunchKernelExC;CUDA:ncclKernel_AllReduce' out
    "$PYTHON" - shown.json out <<'END'
import json, sys
d = json.load(open(sys.argv[1]))["devices"]
expected = sum(k["total_ns"] for x in d for k in x["kernels"]) + sum(m["ns"] for x in d for m in x["moves"])
assert sum(int(line.rsplit(" ", 1)[1]) for line in open(sys.argv[2])) == expected
END
    "$WPROF" render --view gpu -o gpu.html s
    "$WPROF" render --view timeline -o t.html s
}

@test "a trace without a GPU says so" {
    "$WPROF" import -o s "$data/cpu_only_rank-34.json.gz"
    run "$WPROF" show --gpu s
    [ "$status" -eq 0 ]
    [[ $output == *"nothing ran on a GPU"* ]]
}
