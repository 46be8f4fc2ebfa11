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
    "$WPROF" record -q $MORE -o s -- "${PYTHON[@]}" "$ROOT/tests/workloads/$what" "$@" >out
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

# within NS WAITED DELAY: to 10 %, where waiting for a CPU may or may not be part of it.
within() {
    holds "$1 >= 0.9 * ($2 - $3) && $1 <= 1.1 * $2"
}

# held_in FUNCTION WITHIN TID: of the time that the thread waits in WITHIN and of which is known where the GIL was held, most
# was held in FUNCTION; of all of it more than half.
held_in() {
    local there known
    there=$(ns gil "$3" "$2.*\\[held by\\].*$1") known=$(ns gil "$3" "$2.*\\[held by\\].*\\.py\\)")
    holds "$there > 0.9 * $known && $there > 0.5 * $(ns gil "$3" "$2")"
}

# A thread that sleeps with the GIL in its hands: the other one waits as long as it says, for that function.
sleeps() {
    local waited delay tid held
    record gil_sleep.py 50 6 || return 1
    read -r waited delay tid <out
    held=$(ns gil "$tid" 'want \(gil_sleep.py\).*\[waiting for the GIL\];\[held by\];.*holder \(gil_sleep.py\);.*hold \(gil_sleep.py\);.*usleep')
    within "$held" "$waited" "$delay"
}

# Each thread blocks for the GIL alone, and says how long. Waiting for a CPU at the end of a wait is part of it.
hashes() {
    local name tid blocked delay off gil
    record gil_hash.py 1 || return 1
    while read -r name tid blocked delay; do
        off=$(ns offcpu "$tid" "$name \\(gil_hash.py\\).*waiting for the GIL")
        gil=$(ns gil "$tid" "$name \\(gil_hash.py\\)")
        echo "$name: blocked $blocked, off $off; delay $delay, GIL $gil"
        # what each does at the edges of the measured part may be in one figure and not in the other
        near "$off" "$blocked" 0.1 5e6 || return 1
        holds "$gil >= 0.9 * $blocked - 5e6 && $gil <= 1.1 * ($blocked + $delay) + 5e6" || return 1
    done <out
    [ "$(wc -l <out)" = 2 ]
}

# A convoy behind a function that keeps the GIL: waiters name it.
convoy() {
    local waited delay tid
    record gil_convoy.py 0.6 || return 1
    while read -r waited delay tid; do
        within "$(ns gil "$tid" 'want \(gil_convoy.py\)')" "$waited" "$delay" || return 1
        held_in 'crunch \(gil_convoy.py\)' 'want \(gil_convoy.py\)' "$tid" || return 1
    done <out
    [ "$(wc -l <out)" = 2 ]
}

# A futex that merely lies near is no GIL. It waits for each of three places twice: the first time code is loaded, too.
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

# Interpreters that have a GIL of their own.
below() {
    local blocked delay tid gil
    record gil_sub.py 1 || return 1
    while read -r blocked delay tid; do
        gil=$(ns gil "$tid" 'spin_below')
        holds "$gil >= 0.9 * $blocked - 5e6 && $gil <= 1.1 * ($blocked + $delay) + 5e6" || return 1
        held_in spin_below spin_below "$tid" || return 1
    done <out
    [ "$(wc -l <out)" = 2 ]
}

@test "CPython 3.12: the GIL of a subinterpreter" {
    find_python 3.12
    in_three below
}

@test "CPython 3.13: the GIL of a subinterpreter" {
    find_python 3.13
    in_three below
}

# rows TABLE EXPR FIELD...: of the rows of a table of `show --json` for which EXPR holds, with r as the row: one line each.
rows() {
    "$WPROF" show --waits --top 0 --json s | python3 -c 'import json, sys
for r in json.load(sys.stdin)[sys.argv[1]]:
    if eval(sys.argv[2]): print(*(r[k] for k in sys.argv[3:]))' "$@"
}

lasted() {
    python3 -c 'import json; m = json.load(open("s/meta.json")); print(m["end_ts"] - m["start_ts"])'
}

# What the table says: $holder of the thread $tid.
one_row() {
    record gil_sleep.py 50 6 || return 1
    read -r waited delay tid <out
    rows gil "r['tid'] == $tid" waited_ns holder_tid >row
    read -r got holder <row
    within "$got" "$waited" "$delay"
}

@test "show: who waited, who held it; what threads waited for names the holder" {
    find_python 3.11
    in_three one_row
    [ "$holder" != "$tid" ]
    # six times 50 ms of sleep with the GIL held, however long the rest took
    holds "$(rows gil "r['tid'] == $holder" held_share) * $(lasted) > 0.27"
    rows waits "r['reason'] == 'GIL' and r['tid'] == $tid" what where | grep -Eq "^the GIL \(held by .*\[$holder\]\) want"
    run -0 "$WPROF" show s
    [[ $output == *'The GIL: who waited for it, who held it'* ]]
}

@test "--gil: who hashes does not hold it; --idle: all of the threads' time" {
    find_python 3.11
    record gil_hash.py 2
    holds "$(samples s 'hashes.*(sha|SHA|EVP)') > 5"
    "$WPROF" export --gil s >held
    # What makes and ends a digest is called with the GIL held, some of it in a function of these names.
    holds "$(grep -E 'hashes.*(sha|SHA|EVP)' held | awk '{ s += $NF } END { print s + 0 }') <= 0.1 * $(samples s 'hashes.*(sha|SHA|EVP)') + 3"
    holds "$(grep 'pure' held | awk '{ s += $NF } END { print s }') >= 0.9 * $(samples s pure)"
    "$WPROF" export --idle --pids s >idle
    # 99 a second of two threads for 2 s at least
    holds "$(awk '{ s += $NF } END { print s }' idle) >= 0.9 * 2 * 2 * 99"
    grep -q 'waiting for the GIL' idle
    "$WPROF" show --idle s | grep -q 'threads off the CPU are counted too'
    run -3 "$WPROF" export --metric gil --gil s
    run -3 "$WPROF" export --metric offcpu --idle s
    run -3 "$WPROF" export --format chrome --gil s
}

@test "sessions that know nothing of a GIL say so" {
    echo 'a;b 3' | "$WPROF" import -o s -
    run -3 "$WPROF" export --gil s
    [[ $output == *'who held the GIL'* ]]
    run -3 "$WPROF" export --idle s
    [[ $output == *'off the CPU'* ]]
}

@test "the view gil, and a colour of its own for the wait" {
    find_python 3.11
    record gil_sleep.py 50 6 # with more than are asked for
    "$WPROF" render --view gil --format svg -o s.svg s
    grep -q 'class="gil-[012]"' s.svg
    grep -q '>waiting for the GIL<' s.svg
    "$WPROF" export --format chrome -o t.json s
    python3 -c 'import json
t = json.load(open("t.json"))
e = t["traceEvents"] if isinstance(t, dict) else t
held = [x["args"]["held_at"] for x in e if x.get("name") == "GIL" and x["ph"] == "b" and "held_at" in x["args"]]
assert sum("usleep" in h or "nanosleep" in h for h in held) >= 4, held'
}

outside_sees() {
    local waited delay tid
    MORE="--tier $1" record gil_sleep.py 50 8 || return 1
    read -r waited delay tid <out
    rows gil "r['tid'] == $tid" waited_ns holder_share >row
    read -r got share <row
    holds "$got > 0.7 * ($waited - $delay) && $got < 1.3 * $waited && $share > 0.8"
}

@test "tiers B and C see most of a wait for the GIL, and who held it" {
    find_python 3.12
    in_three outside_sees B
    in_three outside_sees C
}
