#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Waits for the GIL whose length and holder are known beforehand (tests/workloads/gil_*.py), in every CPython that is here.
load common

setup() {
    need_tier_a
    cd "$BATS_TEST_TMPDIR"
}

# record ARGS...: the workload by $PYTHON, a session in ./s; what it printed in ./out.
record() {
    local what=$1
    shift
    rm -rf s
    "$WPROF" record -q -o s -- "${PYTHON[@]}" "$ROOT/tests/workloads/$what" "$@" >out
}

# ns METRIC [TID [REGEX]]: of that thread's stacks that match.
ns() {
    "$WPROF" export --pids --metric "$1" s | TID=${2:-} RE=${3:-.} awk '
        BEGIN { re = ENVIRON["RE"]; tid = ENVIRON["TID"] }
        { n = $NF; sub(/ [0-9]+$/, ""); split($0, f, ";"); who = f[1] }
        f[2] ~ /\([0-9]+\)$/ && f[2] !~ /\.py\)$/ { who = f[2] }
        (tid == "" || index(who, "(" tid ")")) && $0 ~ re { s += n }
        END { printf "%d\n", s + 0 }'
}

# near A B SHARE: |a - b| <= share * b
near() {
    holds "($1 - $2) ^ 2 <= ($3 * $2) ^ 2"
}

# A thread that sleeps with the GIL in its hands: the other one waits as long as it says, for that function.
sleeps() {
    local waited tid held
    record gil_sleep.py 50 6 || return 1
    read -r waited tid <out
    held=$(ns gil "$tid" 'want \(gil_sleep.py\).*\[waiting for the GIL\];\[held by\];.*holder \(gil_sleep.py\);.*hold \(gil_sleep.py\);.*usleep')
    near "$held" "$waited" 0.05
}

# Each thread blocks for the GIL alone, and says how long. Waiting for a CPU at the end of a wait is part of it.
hashes() {
    local name tid blocked delay off gil
    record gil_hash.py 2 || return 1
    while read -r name tid blocked delay; do
        off=$(ns offcpu "$tid" 'waiting for the GIL')
        gil=$(ns gil "$tid")
        echo "$name: blocked $blocked, off $off; delay $delay, GIL $gil"
        # what both do before and after the measured part is not in their figures
        near "$off" "$blocked" 0.05 || holds "($off - $blocked) ^ 2 < 5e6 ^ 2" || return 1
        holds "$gil >= 0.95 * $blocked && $gil <= 1.05 * ($blocked + $delay) + 5e6" || return 1
    done <out
    [ "$(wc -l <out)" = 2 ]
}

# A convoy behind a function that keeps the GIL: waiters name it.
convoy() {
    local waited delay tid gil
    record gil_convoy.py 1 || return 1
    while read -r waited delay tid; do
        gil=$(ns gil "$tid" 'want \(gil_convoy.py\)')
        holds "$gil >= 0.95 * ($waited - $delay) && $gil <= 1.05 * $waited" || return 1
        holds "$(ns gil "$tid" 'want \(gil_convoy.py\).*\[held by\].*crunch \(gil_convoy.py\)') > 0.85 * $gil" || return 1
    done <out
    [ "$(wc -l <out)" = 2 ]
}

# A futex that merely lies near is no GIL.
near_ones() {
    record gil_near.py 20 || return 1
    [ "$(ns offcpu '' 'wait_near.*waiting for the GIL')" = 0 ] || return 1
    holds "$(ns offcpu '' 'wait_near \(gil_near.py\)') >= 3 * 20e6"
}

all_known() {
    find_python "$1"
    in_three sleeps
    in_three hashes
    in_three convoy
    in_three near_ones
}

@test "CPython 3.8: who waits for the GIL, how long, who held it and where" { all_known 3.8; }
@test "CPython 3.9: who waits for the GIL, how long, who held it and where" { all_known 3.9; }
@test "CPython 3.10: who waits for the GIL, how long, who held it and where" { all_known 3.10; }
@test "CPython 3.11: who waits for the GIL, how long, who held it and where" { all_known 3.11; }
@test "CPython 3.12: who waits for the GIL, how long, who held it and where" { all_known 3.12; }
@test "CPython 3.13: who waits for the GIL, how long, who held it and where" { all_known 3.13; }
@test "CPython 3.14: who waits for the GIL, how long, who held it and where" { all_known 3.14; }
