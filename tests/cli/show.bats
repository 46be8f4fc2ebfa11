#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' 'main;a;b;a;c 10' 'main;a 5' 'main;d;c 20' 'main;step (net.py:7);tick_[k] 65' >x
    "$WPROF" import -o s x 2>/dev/null
}

field() {
    "$WPROF" show --json "$@" | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(eval(sys.argv[1]))' "$FIELD"
}

@test "show: what ran, how well, functions" {
    run -0 "$WPROF" show s
    [[ $output == *"session"*"measured"*"Functions by self, of 100 samples"*"Functions by total"* ]]
    [[ $output == *"65.0 %"*"kernel"*"tick"* ]]
    [[ $output != *$'\033'* ]]
}

@test "show: self and total, recursion counted once" {
    FIELD='[(f["self"], f["total"]) for f in d["functions"] if f["name"] == "a"]' run field -n 0 s
    [ "$output" = "[(5, 15)]" ]
    FIELD='[(f["self"], f["total"]) for f in d["functions"] if f["name"] == "c"]' run field s
    [ "$output" = "[(30, 30)]" ]
    FIELD='[f["name"] for f in d["functions"]][:2]' run field --sort total -n 2 s
    [ "$output" = "['main', 'tick']" ]
    FIELD='d["metric"]["sum"], d["unwound_share"], d["unknown_share"], d["lost"], d["cost_share"]' run field s
    [ "$output" = "(100, None, 0, 0, None)" ]
}

@test "show: one table" {
    for by in function module file line; do
        run -0 "$WPROF" show --by $by s
        [[ $output == *"by self, of 100 samples"* ]]
        [[ $output != *measured* ]]
    done
    run -0 "$WPROF" show --by file --sort total s
    [[ $output == *"net.py"* ]]
    run -0 "$WPROF" show --by process s
    run -0 "$WPROF" show --by thread s
    run -0 "$WPROF" show --by function --top 1 s
    [[ $output == *"tick"*"... 2 more"* ]]
}

@test "show: the tree" {
    run -0 "$WPROF" show --tree s
    [[ $output == *"100.0 %"*"main"*"65.0 %"*"step (net.py:7)"*"20.0 %"*"d"* ]]
}

@test "show: callers and callees" {
    run -0 "$WPROF" show --callers c s
    [[ $output == "Callers of c: 30 samples, 30.0 % of all"* ]]
    [[ $output == *"66.7 %"*"d"*"33.3 %"*"a"* ]]
    run -0 "$WPROF" show --callees a s
    [[ $output == "Below a: 15 samples, 15.0 % of all"* ]]
    [[ $output == *"66.7 %"*"b"* ]]
    run -0 "$WPROF" show --callers 'net.py' s # a part of a name
    [[ $output == *"65 samples"* ]]
    run -3 --separate-stderr "$WPROF" show --callers stpe s
    [[ $stderr == *"no function 'stpe'"* ]]
    FIELD='len(d["nodes"]), d["nodes"][0]["name"]' run field --callers c s
    [ "$output" = "(7, 'c')" ]
}

@test "show: usage" {
    run -2 "$WPROF" show s s
    run -2 "$WPROF" show --tree --callers c s
    run -2 "$WPROF" show --by nonsense s
    run -3 "$WPROF" show nowhere
    run -3 "$WPROF" show --metric bogus s
}

@test "show: hostile names reach no terminal" {
    printf 'evil\033[31m\007;\xff\xfe\xc2\x9bname 1\n' | "$WPROF" import -o evil - 2>/dev/null
    for how in "" --tree --json "--callers evil" "--by line"; do
        # shellcheck disable=SC2086
        "$WPROF" show $how evil >out
        not grep -q $'[\001-\010\013-\037]' out
    done
}

@test "show: a recording, with its tasks" {
    need_tier_a
    "$WPROF" record -o r -- python3 -c 'for i in range(6000000): i * i' >/dev/null 2>&1
    FIELD='d["processes"][0]["samples"] > 10, d["taken"] == sum(p["samples"] for p in d["processes"])' run field -n 0 r
    [ "$output" = "(True, True)" ]
    run -0 "$WPROF" show r
    [[ $output == *"Processes"*"python3"* ]]
}

@test "show: a sealed session whose log is damaged says so" {
    printf 'a;b 3\nc 4\n' >in.folded
    "$WPROF" import -o whole in.folded 2>/dev/null
    size=$(stat -c %s whole/events.wlog)
    run -0 --separate-stderr "$WPROF" show whole
    [[ $stderr$output != *damage* ]]

    cp -r whole noend # the end block is cut off: all samples are there
    truncate -s $((size - 3)) noend/events.wlog
    run -0 --separate-stderr "$WPROF" show noend
    [[ $stderr == *"sealed, but events.wlog is damaged after "*" of $size bytes"*"the first 7 samples are shown"* ]]
    [[ $output == *damaged*"sealed, but events.wlog"* ]]
    FIELD='d["state"], "damaged after" in d["damage"]' run --separate-stderr field noend
    [ "$output" = "('damaged', True)" ]
    "$WPROF" render -o page.html noend 2>/dev/null
    grep -q "sealed, but events.wlog is damaged" page.html

    cp -r whole none
    : >none/events.wlog
    run -3 --separate-stderr "$WPROF" show none
    [[ $stderr == *"a sealed session of $size bytes of events.wlog is expected"* ]]

    cp -r whole longer
    printf 'behind the end' >>longer/events.wlog
    run -0 --separate-stderr "$WPROF" show longer
    [[ $stderr == *"was changed since: it has $((size + 14)) bytes and not $size"* ]]

    for at in $(seq 0 $((size - 1))); do # one bit, anywhere: never silence
        cp whole/events.wlog none/events.wlog
        printf "\\x$(printf %02x $((0x$(od -An -tx1 -j "$at" -N1 whole/events.wlog | tr -d ' ') ^ 1)))" |
            dd of=none/events.wlog bs=1 seek="$at" conv=notrunc status=none
        "$WPROF" show none >out 2>err && rc=0 || rc=$?
        { [ $rc = 0 ] && grep -q damaged err; } || [ $rc = 3 ] || { echo "byte $at: $rc"; cat err; false; }
    done
}

@test "show: the log of another session, an endless meta.json" {
    echo 'a 3' | "$WPROF" import -o one - 2>/dev/null
    echo 'b 3' | "$WPROF" import -o two - 2>/dev/null
    cp two/events.wlog one/events.wlog
    run -3 --separate-stderr "$WPROF" show one
    [[ $stderr == *"the log of session "*"the two don't belong together"* ]]
    truncate -s 20G two/meta.json
    run -3 --separate-stderr timeout 10 "$WPROF" show two
    [[ $stderr == *"two/meta.json has 21474836480 bytes"* ]]
}

@test "show: what turns the direction of writing or has no width is not shown as it is" {
    printf 'evil\xe2\x80\xaetxt\xe2\x80\x8b\xef\xbb\xbf 1\n' | "$WPROF" import -o bidi - 2>/dev/null
    run -0 "$WPROF" show bidi
    [[ $output == *"evil?txt??"* ]]
    run -3 --separate-stderr "$WPROF" show $'no\033[31m\xe2\x80\xaesuch'
    [[ $stderr == *"no?[31m?such"* ]]
}

@test "show: in a pipe a long name does not push the columns of the others" {
    long=$(printf 'x%.0s' $(seq 300))
    printf 'short 2\n%s 1\n' "$long" | "$WPROF" import -o wide - 2>/dev/null
    "$WPROF" show --by function wide >out
    grep -q "$long" out
    [ "$(grep -w short out | wc -c)" -lt 120 ]
}

@test "show: JSON says how many rows were left out" {
    printf 'a 3\nb 2\nc 1\n' | "$WPROF" import -o three - 2>/dev/null
    FIELD='len(d["functions"]), d["functions_left_out"], d["processes_left_out"]' run field -n 1 three
    [ "$output" = "(1, 2, 0)" ]
}
