#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

# session NAME JSON: a session with that topology.
session() {
    printf '{"format": "wprof-topology", "version": 1, "nodes": [%s], "edges": [%s]}' "$2" "$3" >"$BATS_TEST_TMPDIR/$1.json"
    "$WPROF" import --from topology -o "$BATS_TEST_TMPDIR/$1" "$BATS_TEST_TMPDIR/$1.json"
}

process() {
    printf '{"id": "Process(pid=%s,ppid=1)", "kind": "process", "attrs": {"pid": %s, "ppid": 1, "name": "%s"}}' "$1" "$1" "$2"
}

edge() {
    printf '{"kind": "tcp", "a": "Process(pid=%s,ppid=1)", "b": "Process(pid=%s,ppid=1)", "bytes_ab": %s, "bytes_ba": 1}' "$1" "$2" "$3"
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    session a "$(process 10 x), $(process 11 y)" "$(edge 10 11 100)"
    session b "$(process 20 x), $(process 21 y)" "$(edge 20 21 100)"
    session c "$(process 20 x), $(process 21 y), $(process 22 z)" "$(edge 20 21 900), $(edge 20 22 5)"
}

@test "diff --topology: equal is 0" {
    run -0 "$WPROF" diff --topology a a
    [ "$output" = "no difference" ]
    run -0 "$WPROF" diff --topology --by-name a b
}

@test "diff --topology: other pids are other processes, names are not" {
    run -1 "$WPROF" diff --topology a b
    [[ $output == *"- node Process(pid=10,ppid=1)"* && $output == *"+ node Process(pid=20,ppid=1)"* ]]
}

@test "diff --topology: gone, new, heavier, lighter, as text and as JSON" {
    run -1 "$WPROF" diff --topology --by-name b c
    [[ $output == *"+ node Process(z)"* && $output == *"> edge tcp Process(x) -- Process(y): 101 -> 901 bytes"* ]]
    run -1 "$WPROF" diff --topology --by-name c b
    [[ $output == *"- node Process(z)"* && $output == *"< edge tcp Process(x) -- Process(y): 901 -> 101 bytes"* ]]
    run -1 "$WPROF" diff --topology --by-name --json b c
    python3 -c 'import json, sys
d = json.loads(sys.argv[1])
assert not d["equal"] and d["nodes"] == {"gone": [], "new": ["Process(z)"]}, d
assert d["edges"]["heavier"] == [{"edge": "tcp Process(x) -- Process(y)", "bytes_before": 101, "bytes_after": 901}], d
assert d["edges"]["new"][0]["bytes_after"] == 6, d' "$output"
}

@test "diff: what it can not do is said" {
    run -2 "$WPROF" diff --topology a
    run -2 "$WPROF" diff a b
    run -3 "$WPROF" diff --topology a nowhere
}
