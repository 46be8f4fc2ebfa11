#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# record --cgroup and --container: what is in the group, what is born in it, what enters it; nothing else.

load common

setup_file() {
    build_workloads
    cat >"$BATS_FILE_TMPDIR/late.py" <<'PY'
import time
def until(end):
    while time.process_time() < end:
        pass
def newcomer():
    until(0.7)
time.sleep(0.3)
newcomer()
PY
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    groups=() started=()
}

# A group of our own, at $GROUP (its name: $NAME), with one below it, where we may make one.
need_group() {
    local root
    NAME=wprof-test-$BASHPID
    for root in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/pids /sys/fs/cgroup/freezer; do
        [ -e "$root/cgroup.procs" ] || continue
        GROUP=$root/$NAME
        mkdir "$GROUP" 2>/dev/null || continue
        mkdir "$GROUP/below" && groups+=("$GROUP/below" "$GROUP")
        # a process may not be allowed to move (delegation)
        sleep 0.2 &
        if echo $! >"$GROUP/cgroup.procs" 2>/dev/null; then
            wait
            return
        fi
        remove_groups
    done
    skip "needs a control group that we may make and fill"
}

remove_groups() {
    local g
    for g in "${groups[@]}"; do
        [ ! -d "$g" ] || rmdir "$g" || true
    done
    groups=()
}

teardown() {
    local p
    for p in "${started[@]}"; do
        kill "$p" 2>/dev/null || true
        wait "$p" 2>/dev/null || true
    done
    for _ in {1..50}; do
        [ -z "$(cat "${groups[@]/%//cgroup.procs}" 2>/dev/null)" ] && break
        sleep 0.1
    done
    remove_groups
}

# into DIR COMMAND...: runs it in a group from its first moment on; $pid.
into() {
    local group=$1
    shift
    sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$@" >/dev/null 2>&1 3>&- &
    pid=$!
    started+=("$pid")
    for _ in {1..100}; do
        grep -qx $pid "$group/cgroup.procs" && return
        sleep 0.05
    done
    return 1
}

recording() { # DIR: waits until it counts
    for _ in {1..300}; do
        [ -s "$1/events.wlog" ] && grep -q '"start_mono_ns": [1-9]' "$1/meta.json" && return
        sleep 0.1
    done
    return 1
}

# The whole life, in tier $1.
life() {
    into "$GROUP" "$WORKLOADS/split" 60
    local first=$pid
    "$WORKLOADS/split" 60 >/dev/null 2>&1 3>&- & # outside
    started+=($!)
    "$WPROF" record -q --tier "$1" -F 499 --cgroup "$NAME" -o s 3>&- &
    local recorder=$!
    recording s
    /usr/bin/env python3 "$BATS_FILE_TMPDIR/late.py" 3>&- &
    local late=$!
    echo $late >"$GROUP/below/cgroup.procs"
    wait $late
    sleep 0.3
    kill "$first"
    wait $recorder
    "$WPROF" show --json -n 0 s >out.json
    python3 - "$first" "$late" <<'PY'
import json, sys
d = json.load(open("out.json"))
p = {x["pid"]: x for x in d["processes"]}
first, late = int(sys.argv[1]), int(sys.argv[2])
assert p[first]["samples"] > 10, p
assert p[late]["samples"] > 5, p
assert sum(x["name"] == "split" for x in p.values()) == 1, p
assert d["end_reason"] == "control group empty", d["end_reason"]
assert any("control group" in n for n in d["notes"]), d["notes"]
PY
    "$WPROF" export s | grep 'hot_a;leaf_a'
}

@test "tier A: what is in it and what enters it later, until it is empty" {
    need_tier_a
    need_group
    life A
    "$WPROF" export s | grep 'newcomer (late.py)'
}

@test "tier B: the same" {
    [ "$(id -u)" = 0 ] || skip "needs root, to move processes"
    need_group
    life B
}

@test "tier C: the same" {
    [ "$(id -u)" = 0 ] || skip "needs root, to move processes"
    need_group
    into "$GROUP" "$WORKLOADS/split" 60
    "$WPROF" record -q --tier C --cgroup "$NAME" -o s 3>&- &
    recorder=$!
    recording s
    /usr/bin/env python3 "$BATS_FILE_TMPDIR/late.py" 3>&- &
    late=$!
    echo $late >"$GROUP/below/cgroup.procs"
    wait $late
    kill "$pid"
    wait $recorder
    "$WPROF" show -b process s | grep -w $late
    "$WPROF" export s | grep 'newcomer (late.py)'
}

@test "the path as people write it; --duration ends it, and so does a signal" {
    need_tier_a
    need_group
    into "$GROUP/below" "$WORKLOADS/split" 60
    for path in "$GROUP" "/$NAME" "$NAME/below" "$NAME/"; do
        "$WPROF" record -q --force -F 499 --cgroup "$path" --duration 1s -o s
        [ "$(samples s hot_a)" -gt 2 ]
        grep -q '"end_reason": "duration"' s/meta.json
    done
    [[ $(ls -d wprof-* 2>/dev/null) = "" ]]
    "$WPROF" record -q --cgroup "$NAME" 3>&- & # a name made of the group's
    recorder=$!
    for _ in {1..100}; do compgen -G "wprof-$NAME-*/events.wlog" >/dev/null && break; sleep 0.1; done
    recording "$(echo "wprof-$NAME-"*)"
    kill -TERM $recorder
    wait $recorder
    grep -q '"end_reason": "interrupted"' wprof-"$NAME"-*/meta.json
}

@test "what is not there, or empty, is said with what is near" {
    run -125 "$WPROF" record --cgroup no-such-group-anywhere
    [[ $output == *"--cgroup no-such-group-anywhere: no "* ]]
    run -125 "$WPROF" record --cgroup a/../../x
    [[ $output == *"no control group"* || $output == *"leads out"* ]]
    run -125 "$WPROF" record --container no-such-container
    [[ $output == *"--container no-such-container: no"* ]]
    run -125 "$WPROF" record --cgroup x -- true
    [[ $output == *"exclude each other"* ]]
    need_group
    for _ in {1..50}; do [ -z "$(cat "$GROUP/cgroup.procs")" ] && break; sleep 0.1; done
    run -125 "$WPROF" record --cgroup "$NAME"
    [[ $output == *"no process is in it now"* ]]
    run -125 "$WPROF" record --cgroup "$NAME/bellow"
    [[ $output == *"has no 'bellow'; did you mean 'below'?"* ]]
}

@test "a container is found by its id in /proc, by the beginning of it too" {
    need_tier_a
    need_group
    id=$(printf '%064x' $((RANDOM * 65536 + BASHPID)) | rev)
    mkdir "$GROUP/docker-$id.scope"
    groups=("$GROUP/docker-$id.scope" "${groups[@]}")
    into "$GROUP/docker-$id.scope" "$WORKLOADS/split" 60
    "$WPROF" record -q -F 499 --container "${id:0:20}" --duration 500ms -o s
    [ "$(samples s 'hot_a')" -gt 5 ]
    grep -q "container ${id:0:12}" s/meta.json
    run -125 "$WPROF" record --container "f$id"
    [[ $output == *"there are: "*"${id:0:12}"* ]]
}
