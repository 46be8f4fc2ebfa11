#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What perf script prints.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    DATA=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/perf-script
}

# A function without a name is its library, not a space.
expected() {
    sed -E 's/; ( [0-9]+)$/;[libc-2.15.so]\1/' "$1" | LC_ALL=C sort
}

@test "import perf-script: folds as its peers do" {
    [ -d "$DATA" ] || skip "needs the shared data (perf-script)"
    n=0
    for file in "$DATA"/*.txt; do
        name=$(basename "$file" .txt)
        [ -s "$file" ] || continue
        rm -rf s
        "$WPROF" -q import -o s "$file"
        for way in '' -kernel; do
            peers=$DATA/expected/$name-collapsed$way.txt
            [ -e "$peers" ] || continue
            diff <(expected "$peers") <("$WPROF" export ${way:+--kernel} s | LC_ALL=C sort) >differ || {
                echo "$name$way"
                head -4 differ
                return 1
            }
            n=$((n + 1))
        done
    done
    [ "$n" -ge 9 ]
}

@test "import perf-script: who, when, which event, what is left out" {
    cat >out.txt <<'END'
# hostname : box
my app 27409/28744 [001] 441995.133575:     250000 cycles:u:
	ffffffff8104f45a write_msr+0x1f ([kernel.kallsyms])
	    7f26dc479340 main+0x10 (/usr/bin/my app (deleted))

my app 27409/28744 [001] 441996.133575:          1 instructions:
	    7f26dc479340 main+0x10 (/usr/bin/app)

my app 27409/28744 [001] 441997.133575:     250000 cycles:u:

	this is no frame
my app 27409/28744 [001] 441998.133575:     250000 cycles:
	    7f26dc479340 main(int, char**) (/usr/bin/app)
	nothing

END
    run -0 --separate-stderr "$WPROF" import -o s out.txt
    [[ $stderr == *"3 samples from"* ]]
    [[ $stderr == *"of these: 1 without a stack"* ]]
    [[ $stderr == *"left out: 1 sample of another event"* ]]
    [[ $stderr == *"makes no sense: 1 line that is no frame"* ]]
    diff - <("$WPROF" export --kernel s) <<'END'
my_app;[no stack] 250000
my_app;main 250000
my_app;main;write_msr_[k] 250000
END
    "$WPROF" show --json s | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert s["host"] == "box" and s["event"] == "cycles", s["host"]
assert abs(s["duration_s"] - 3) < 1e-6, s["duration_s"]'
    "$WPROF" export --kernel --pids s | grep -q 'my_app (27409)'
}

@test "import perf-script: nothing in it" {
    : >empty
    run -3 "$WPROF" import --from perf-script -o s empty
    [[ $output == *"no sample in it"* ]]
}
