#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

# runs FOLDER GROWTH: three sessions, slow() having GROWTH percent more.
runs() {
    mkdir -p "$1"
    for i in 1 2 3; do
        printf 'app;slow %d\napp;fast %d\napp;other %d\n' $((4000 * (100 + $2) / 100 + 13 * i)) $((3000 - 11 * i)) $((2000 + 7 * i)) |
            "$WPROF" import --from folded -o "$1/$i" - 2>/dev/null
    done
}

# wall FOLDER SECONDS: the sessions there took so long, each some ms more.
wall() {
    for i in 1 2 3; do
        sed -i "s/\"duration_s\": [0-9.e+-]*/\"duration_s\": $2.00$i/" "$1/$i/meta.json"
    done
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    unset GITHUB_HEAD_REF GITHUB_REF_NAME GITHUB_SHA CI_COMMIT_REF_NAME CI_COMMIT_SHA
}

@test "baseline: add, list, check" {
    runs same 0
    runs slower 40
    for c in aaa bbb; do
        run -0 "$WPROF" baseline add --branch main --commit $c same
        [[ $output == "wprof-baseline/main/00000"?"-$c/1"* ]]
    done
    run -0 "$WPROF" baseline list --branch main
    [[ $output == *aaa* && $output == *bbb* ]]
    "$WPROF" baseline list --branch main --json | python3 -c 'import json, sys
e = json.load(sys.stdin)["entries"]
assert [(x["branch"], x["commit"], x["runs"]) for x in e] == [("main", "aaa", 3), ("main", "bbb", 3)], e'
    run -0 "$WPROF" baseline check --branch main --commit ccc same
    [[ ${lines[-1]} == "pass: "* && $output == *"base: 6 runs"* ]]
    run -1 "$WPROF" baseline check --branch main --commit ccc slower
    [[ ${lines[-1]} == "FAIL: "*slow* ]]
    run -0 "$WPROF" baseline check --branch main --commit bbb same
    [[ $output == *"base: 3 runs"* ]]
    run -0 "$WPROF" baseline check --branch main --last 1 same
    [[ $output == *"base: 3 runs"* ]]
}

@test "baseline check: the commit with which wall time stepped is named" {
    runs s 0
    wall s 10
    for c in one two; do "$WPROF" baseline add --branch main --commit $c s; done
    wall s 12
    for c in three four; do "$WPROF" baseline add --branch main --commit $c s; done
    run -0 "$WPROF" baseline check --branch main --fail-above 50% s
    [[ ${lines[-2]} == "step: wall grew by 20.0 % with three"* && ${lines[-1]} == "pass: "* ]]
    # In whatever is written: JSON on standard output stays JSON.
    check="baseline check --branch main --fail-above 50%"
    "$WPROF" $check --json s 2>err | python3 -c 'import json, sys
s = json.load(sys.stdin)["steps"]
assert [(x["figure"], x["commit"], round(x["after"] / x["before"], 3)) for x in s] == [("wall", "three", 1.2)], s'
    grep -q "step: wall grew by 20.0 % with three" err
    for f in md html junit; do
        run -0 "$WPROF" $check --format $f -o out.$f s
        grep -q "step: wall grew by 20.0 % with three" out.$f
        [[ ${lines[0]} == "step: "* && ${lines[-1]} == "pass: "* ]]
    done
}

@test "baseline add: to the commit's others, also after others came" {
    runs s 0
    for c in one two three; do "$WPROF" baseline add --branch main --commit $c s/1; done
    run -0 "$WPROF" baseline add --branch main --commit one s/2
    [ "$output" = wprof-baseline/main/000001-one/2 ]
    "$WPROF" baseline list --branch main --json | python3 -c 'import json, sys
e = json.load(sys.stdin)["entries"]
assert [(x["commit"], x["runs"]) for x in e] == [("one", 2), ("two", 1), ("three", 1)], e'
}

@test "baseline add: an archive is kept as the session that is in it" {
    "$WPROF" version | grep -qE '^  archive +yes' || skip "needs a build with libarchive"
    runs same 0
    "$WPROF" -q pack -o one.tar.zst same/1
    run -0 "$WPROF" baseline add --branch main --commit aaa one.tar.zst
    [[ $output == "wprof-baseline/main/000001-aaa/1"* ]]
    diff -r wprof-baseline/main/000001-aaa/1 same/1
    run -0 "$WPROF" baseline add --branch main --commit bbb - <one.tar.zst
    run -0 "$WPROF" baseline check --branch main --commit ccc one.tar.zst
}

@test "baseline: branch and commit are CI's, else git's" {
    runs s 0
    git init -q -b topic/x .
    git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
    "$WPROF" baseline add s/1
    [ -d "wprof-baseline/topic%2Fx/000001-$(git rev-parse HEAD)/1" ]
    git pack-refs --all
    mkdir sub
    (cd sub && "$WPROF" baseline add --dir ../wprof-baseline ../s/2)
    [ -d "wprof-baseline/topic%2Fx/000001-$(git rev-parse HEAD)/2" ]
    GITHUB_REF_NAME=main GITHUB_SHA=abc123 "$WPROF" baseline add s/1
    [ -d wprof-baseline/main/000001-abc123/1 ]
}

@test "baseline: what it can not do is said" {
    runs s 0
    run -2 "$WPROF" baseline
    run -2 "$WPROF" baseline keep s
    run -2 "$WPROF" baseline add
    run -3 "$WPROF" baseline add --branch main s
    [[ $output == *--commit* ]]
    run -3 "$WPROF" baseline add --branch main --commit ../x s
    run -3 "$WPROF" baseline add --commit abc s
    [[ $output == *--branch* ]]
    run -3 "$WPROF" baseline check --branch main s
    [[ $output == *"baseline add"* ]]
    [ ! -e wprof-baseline ]
}
