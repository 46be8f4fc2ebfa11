#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Session directories of AIProf.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p a/cupti a/extra
    cat >a/meta.json <<'END'
{"session_id": "20260716-153012-abc123", "schema_version": 1, "host": "worker-7", "workload": "resnet50", "kind": "py-cuda",
 "pid": 12345, "start_ts": 1731764412, "end_ts": 1731764442, "duration_s": 30, "languages": ["python", "native"],
 "agent_ver": "0.1.0", "notes": "a run\nof mine"}
END
    printf '%s\n' 'python;train.py:main;train.py:step;torch/_ops.py:__call__ 42' \
        'python;train.py:main;train.py:step;torch/_ops.py:__call__;CUDA:sm90_gemm 17' >a/folded.txt
    cat >a/timeline.json <<'END'
{"traceEvents": [{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "stream 7"}},
 {"ph": "X", "cat": "kernel", "name": "sm90_gemm", "ts": 1000.5, "dur": 20, "pid": 0, "tid": 7,
  "args": {"device": 0, "stream": 7, "correlation": 12}}], "displayTimeUnit": "ms"}
END
    cp "$ROOT/tests/fuzz/corpus/kernel_lines/usual" a/cupti/kernels.jsonl
    echo x >a/extra/x
}

@test "import aiprof: who, when, stacks, kernels, what is left" {
    run -0 --separate-stderr "$WPROF" import -o s a
    [[ $stderr == *"2 stacks from"* && $stderr == *"1 kernel from"* ]]
    [[ $stderr == *"left out: 1 other file or folder in it"* ]]
    diff <("$WPROF" export s) a/folded.txt
    "$WPROF" show --json s | python3 -c '
import json, sys
s = json.load(sys.stdin)
kinds = {f["function"]: f["kind"] for f in s["functions"]}
assert kinds == {"torch/_ops.py:__call__": "python", "CUDA:sm90_gemm": "gpu"}, kinds'
    python3 - <<'END'
import json
m = json.load(open("s/meta.json"))
want = json.load(open("a/meta.json"))
for key in ("session_id", "host", "workload", "kind", "pid", "start_ts", "end_ts", "duration_s", "languages", "agent_ver"):
    assert m[key] == want[key], (key, m[key])
assert "imported" in m["kinds"] and "a run\nof mine" in m["notes"]
assert m["quality"]["unwound_share"] is None
END
    "$WPROF" show --gpu s | grep -q sm90_gemm
}

@test "import aiprof: kernels by their lines where there is no trace; PyTorch's trace before its own" {
    rm a/timeline.json
    run -0 --separate-stderr "$WPROF" import -o s a
    [[ $stderr == *"1 kernel, 1 copy, 1 memset from"* ]]
    [[ $stderr == *"4 lines of it made no sense"* ]]
    "$WPROF" show --gpu s | grep -q '4.0 KiB'
    printf '%s' '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2, "pid": 5, "tid": 5}]}' >a/torch-trace.json
    run -0 --separate-stderr "$WPROF" import -o t a
    [[ $stderr == *"1 operator from"* ]]
}

@test "import aiprof: what is none" {
    run -3 "$WPROF" import --from folded -o s a
    [[ $output == *"a is a directory: of the format folded, a file is wanted"* ]]
    run -3 "$WPROF" import --from aiprof -o s a/folded.txt
    [[ $output == *"a directory is wanted"* ]]
    ln -sf /etc/passwd a/folded.txt # of a stranger's
    run -3 "$WPROF" import -o s a
    [[ $output == *"folded.txt"* ]]
    rm -r a/folded.txt a/timeline.json a/cupti
    run -3 "$WPROF" import -o s a
    [[ $output == *"neither folded.txt nor timeline.json"* ]]
    echo '{}' >a/meta.json
    run -3 "$WPROF" import -o s a
    [[ $output == *"no session_id and schema_version"* ]]
    rm a/meta.json
    run -3 "$WPROF" import -o s a
    [[ $output == *"is a directory, and no session of AIProf"* ]]
    [ ! -e s ]
}

@test "import aiprof: an archive of it, as its uploader makes it" {
    export TMPDIR=$PWD/tmp
    mkdir tmp
    "$WPROF" import -o s a
    tar -czf a.tar.gz a
    tar -C a -cf b.tar .
    tar -cf - a | zstd -q >c.tar.zst
    for archive in a.tar.gz b.tar c.tar.zst; do
        run -3 "$WPROF" show "$archive"
        [[ $output == *"wprof import takes AIProf's"* ]]
        rm -rf t
        "$WPROF" import -o t "$archive"
        cmp <("$WPROF" export t) <("$WPROF" export s)
        for how in "cat $archive |" "<$archive" "cat $archive | env ONLY=aiprof"; do
            rm -rf t
            sh -c "${how} \"\$WPROF\" import \${ONLY:+--from \$ONLY} -o t -"
            cmp <("$WPROF" export t) <("$WPROF" export s)
            grep -q "imported from stdin" t/meta.json
        done
    done
    head -c $(($(stat -c %s a.tar.gz) / 2)) a.tar.gz >cut.tar.gz
    run -3 "$WPROF" import -o none - <cut.tar.gz
    run -3 "$WPROF" import -o none - < <(head -c 100 c.tar.zst)
    [ ! -e none ] && [ -z "$(ls tmp)" ]
}
