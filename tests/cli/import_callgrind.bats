#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Files of callgrind: calls become stacks.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    CORPUS=$ROOT/tests/fuzz/corpus/callgrind
}

@test "import callgrind: compressed names, relative positions, libraries; costs shared among callers" {
    run -0 --separate-stderr "$WPROF" import -o s "$CORPUS/names"
    [[ $stderr == *"3 functions, 3 calls from one to another from"* ]]
    [[ $stderr == *"left out: 1 line of jumps"* ]]
    # power's 300 are 260 of main's calls and 40 of step's
    diff - <("$WPROF" export s) <<'END'
prog;main 32
prog;main;power 260
prog;main;step 60
prog;main;step;power 40
END
    "$WPROF" show s >shown
    grep -q 'libm.so' shown
    grep -q 'event.*Ir' shown
    "$WPROF" import -o d --event Dr "$CORPUS/names"
    "$WPROF" export d | grep -qx 'prog;main 1'
    run -3 "$WPROF" import -o t --event Dw "$CORPUS/names"
    [[ $output == *"no event 'Dw' in it (it has: Ir, Dr)"* ]]
}

@test "import callgrind: recursion is folded, the sum stays" {
    run -0 --separate-stderr "$WPROF" import -o s "$CORPUS/recursion"
    [[ $stderr == *"1 line of it made no sense"* ]]
    "$WPROF" export s | awk '{ sum += $NF } END { exit sum != 100 }'
    "$WPROF" export s | not grep -q 'a (r.py).*;a (r.py)'
    "$WPROF" show s | grep -q 'recursion is folded'
}

@test "import callgrind: functions that call each other keep their own costs, below who called them" {
    cat >f <<'END'
events: Ir
fn=main
1 10
cfn=even
calls=1 5
2 200

fn=even
5 50
cfn=odd
calls=10 9
6 190

fn=odd
9 70
cfn=even
calls=9 5
10 180
cfn=leaf
calls=3 20
11 80

fn=leaf
20 80
END
    "$WPROF" -q import -o s f
    diff - <("$WPROF" export s) <<<$'main 10\nmain;even 50\nmain;even;odd 70\nmain;even;odd;leaf 80'
}

@test "import callgrind: the file that inlined code came from is that of what it calls, and of the next function" {
    cat >f <<'END'
events: Ir
fl=(1) a.c
fn=(1) main
1 10
fi=(2) b.h
7 5
cfn=(2) inner
calls=1 9
8 20

fn=(2)
9 20
END
    run -0 "$WPROF" import -o s f
    [[ $output == *"2 functions, 1 call from one"* ]]
    diff - <("$WPROF" export s) <<<$'main 15\nmain;inner 20'
}

@test "import callgrind: files of others, every cost in them" {
    data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/callgrind
    [ -d "$data" ] || skip "needs the shared data (callgrind)"
    for file in "$data"/*; do
        "$WPROF" import --force -o s "$file"
        # What is no cost of a call, which stands behind its calls=, is some function's own.
        want=$(awk '/^calls=/ { getline; next } /^[0-9+*-]/ { sum += $2 } END { print sum }' "$file")
        [ "$("$WPROF" export s | awk '{ sum += $NF } END { print sum }')" = "$want" ]
    done
    "$WPROF" -q import --force -o s "$data/cfn-reset.callgrind"
    [ "$("$WPROF" export s | sed 's/.*[; ]\([^ ;]* [0-9]*\)$/\1/' | awk '{ own[$1] += $2 } END { for (f in own) if (own[f] != 10) exit 1 }')" = "" ]
    "$WPROF" -q import --force -o s "$data/name-compression.callgrind"
    [ "$("$WPROF" export s)" = $'main 20\nmain;func1 100\nmain;func1;func2 300\nmain;func2 400' ]
}

@test "import callgrind: a file that ends before all that it says it has" {
    printf 'events: Ir\nsummary: 1000\nfn=main\n1 400\nfn=cu' >cut
    run -0 --separate-stderr "$WPROF" import -o s cut
    [[ $stderr == *"600 costs that the file says it has, and no line of it: was it cut off?"* ]] || { echo "$stderr"; false; }
    printf 'events: Ir\nfn=main\n1 400\nfn=b\n2 600\ntotals: 1000\n' >whole
    run -0 --separate-stderr "$WPROF" import -o t whole
    [[ $stderr != *"cut off"* ]]
}

@test "import callgrind: nothing in it" {
    printf 'events: Ir\nfn=main\n1 0\n' >none
    run -3 "$WPROF" import -o s none
    [[ $output == *"nothing in it has a cost (Ir)"* ]]
    printf 'events: Ir\nfn=main\n1 18446744073709551615\n1 1\n' >huge
    run -3 "$WPROF" import -o s huge
    [[ $output == *"more than 64 bits"* ]]
}
