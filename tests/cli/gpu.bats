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

@test "busy, idle and why, overlap, kernels of NVIDIA's and AMD's traces are right to 0.1 %" {
    figures nccl
    figures amd_mi250
    figures event_sync_multi_stream
    figures diff-control
    figures diff-test
}

@test "ranks of one session are told apart, and their figures are right to 0.1 %" {
    figures sampled_rank-0 sampled_rank-1
    "$PYTHON" - shown.json <<'END'
import json, sys
d = json.load(open(sys.argv[1]))["devices"]
assert [x["rank"] for x in d] == [0, 1], d
END
}

@test "figures that are off by more are noticed" {
    figures event_sync_multi_stream
    sed -i 's/"busy_ns": 372000/"busy_ns": 373000/' shown.json
    run "$PYTHON" "$ROOT/tests/cli/gpu_figures.py" shown.json "$data/event_sync_multi_stream.json.gz"
    [ "$status" -eq 1 ]
}

@test "a trace without a GPU says so" {
    "$WPROF" import -o s "$data/cpu_only_rank-34.json.gz"
    run "$WPROF" show --gpu s
    [ "$status" -eq 0 ]
    [[ $output == *"nothing ran on a GPU"* ]]
}
