#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# perf.data itself: files that others recorded, and what perf records here, against what perf script prints.
load common

# perf takes its time to record: one recording with frame pointers serves several tests.
setup_file() {
    cd "$BATS_FILE_TMPDIR"
    command -v perf >/dev/null || return 0
    build_workloads
    cp "$WORKLOADS/split-fp" app
    HOME=$PWD perf record -q -o fp.data -e cpu-clock -F 997 -g -- ./app 0.2 >perf.out 2>&1 || rm -f fp.data
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    export HOME=$BATS_FILE_TMPDIR # where perf puts copies
    FP=$BATS_FILE_TMPDIR/fp.data
    DATA=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/perf-data
}

need_perf() {
    need_command perf
    [ -e "$FP" ] || skip "perf can't record here"
}

# total DIR: the sum of all stacks' values.
total() {
    "$WPROF" export "$1" | awk '{ s += $NF } END { printf "%.0f\n", s }'
}

# totals_by_perf FILE: "event total" of each, as perf script prints them.
totals_by_perf() {
    perf script -G -i "$1" -F event,period 2>/dev/null |
        awk '{ e = $2; sub(/:$/, "", e); sub(/:[a-zA-Z]*$/, "", e); s[e] += $1 } END { for (e in s) printf "%s %.0f\n", e, s[e] }'
}

# known DIR: the stacks of split's own functions, summed: what names and walks must agree on, however the others are called.
known() {
    "$WPROF" export "$1" | awk '{
        n = split($0, f, /[; ]/); key = f[1]
        for (i = 2; i < n; i++) if (f[i] ~ /^(main|hot_[ab]|leaf_[ab])$/) key = key ";" f[i]
        s[key] += $NF } END { for (k in s) printf "%s %.0f\n", k, s[k] }' | LC_ALL=C sort
}

# agree DIR DIR: at least 95 % of the values stand at the same of these stacks: where a walk enters the kernel's page of
# code or a linker's stub, perf may see less, or more.
agree() {
    LC_ALL=C join <(known "$1") <(known "$2") | awk -v all="$(total "$1")" '
        { n += $2 < $3 ? $2 : $3 } END { exit !(n >= 0.95 * all) }'
}

@test "import perf-data: each of others' files gives what perf script prints, or is refused with its reason" {
    [ -d "$DATA" ] || skip "needs the shared data (perf-data)"
    while read -r file event want; do
        "$WPROF" -q import --event "$event" --force -o s "$DATA/$file.perf.data" 2>/dev/null
        [ "$(total s)" = "$want" ] || { echo "$file $event: $(total s), not $want"; return 1; }
    done <<'END'
callgraph-3.8 cycles 291177942
ctx_switch_namespaces-4.14 cycles 2
lost cycles 7221496
lost instructions 6379415
piped.lost_samples-4.4 cycles 1960294
piped.lost_samples-4.4 instructions 1580237
piped.lost_samples-4.4 branches 280042
single-event-single-process cpu-clock 11484250000
singleprocess-3.8 cycles 1010740
true.v2 cpu-clock 250000
with-callchain cpu-clock 12099750000
END
    for file in "$DATA"/*.data; do
        run -0 --separate-stderr "$WPROF" import --force -o s "$file"
        [[ $stderr == *" sample"* ]]
        "$WPROF" export --all s >/dev/null
    done
    run -3 "$WPROF" import --from perf-data -o t "$DATA/broken.gz"
    [[ $output == *"no perf.data: it doesn't begin with PERFILE2"* ]]
    command -v perf >/dev/null || return 0
    n=0
    for file in "$DATA"/*.data; do
        totals_by_perf "$file" >by_perf # of newer formats than it knows: nothing
        while read -r event want; do
            "$WPROF" -q import --event "$event" --force -o s "$file" 2>/dev/null
            [ "$(total s)" = "$want" ] || { echo "$file $event: $(total s), not $want"; return 1; }
            n=$((n + 1))
        done <by_perf
    done
    [ "$n" -ge 8 ]
}

@test "import perf-data: what others' files say of the machine and of what was lost; nothing is invented" {
    [ -d "$DATA" ] || skip "needs the shared data (perf-data)"
    run -0 --separate-stderr "$WPROF" import -o s "$DATA/piped.lost_samples-4.4.perf.data"
    [[ $stderr == *"2 samples that the kernel dropped"* ]]
    [[ $stderr == *"the kernel's functions are unnamed: no build id tells which kernel it was"* ]]
    "$WPROF" export s | grep -q '^echo;\[\[kernel.kallsyms\]\] '
    [ "$("$WPROF" export s | grep -cv '\[')" = 0 ] # this machine's kernel is another one
    run -0 --separate-stderr "$WPROF" import -o t "$DATA/with-callchain.perf.data"
    [[ $stderr == *"functions of: a.out, ld-2.19.so, libc-2.19.so"* ]]
    "$WPROF" export t | grep -q '^a.out;\[libc-2.19.so\];\[a.out\];\[a.out\];'
    "$WPROF" export --addrs t | grep -q '^a.out;\[libc-2.19.so <21b45>\];\[a.out <6bc>\];'
    "$WPROF" show --json t | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert s["host"] == "perf-clean-vm" and s["event"] == "cpu-clock", s["host"]'
    "$WPROF" show t | grep -q 'perf was called as: /usr/bin/perf_3.16 record'
}

@test "import perf-data: stacks by frame pointers, as perf script has them" {
    need_perf
    perf script -i "$FP" >perf.txt 2>/dev/null
    run -0 --separate-stderr "$WPROF" import -o s "$FP"
    [[ $stderr != *"functions of: app"* ]]
    "$WPROF" -q import -o t perf.txt 2>/dev/null
    [ "$(total s)" = "$(total t)" ]
    known s | tee got
    grep -q '^app;main;hot_a;leaf_a ' got
    agree s t
}

@test "import perf-data: copied stacks are walked here, as perf script does" {
    need_perf
    perf record -q -N -o perf.data -e cpu-clock -F 997 --call-graph dwarf -- "$WORKLOADS/split" 0.2 >perf.out 2>&1
    perf script --no-inline -i perf.data >perf.txt 2>/dev/null
    run -0 --separate-stderr "$WPROF" import -o s perf.data
    [[ $stderr == *"stacks walked here"* ]]
    "$WPROF" -q import -o t perf.txt 2>/dev/null
    [ "$(total s)" = "$(total t)" ]
    known s | tee got
    grep -q '^split;main;hot_a;leaf_a ' got
    agree s t
}

@test "import perf-data: inlined functions, as perf script finds them, where -i asks for them" {
    need_perf
    need_command cc
    cat >inlined.c <<'END'
#include <stdlib.h>
static volatile unsigned long sum;
static inline __attribute__((always_inline)) void inl(int n)
{
    for (int i = 0; i < n; i++)
        sum ^= (unsigned long)i;
}
__attribute__((noinline)) int outer(int n)
{
    inl(n);
    return sum != 0;
}
int main(void)
{
    return outer(100000000) > 1;
}
END
    cc -g -O2 -fno-omit-frame-pointer -Wl,--build-id -o inlined inlined.c
    for how in fp dwarf; do
        perf record -q -N -o "$how.data" -e cpu-clock:u -F 997 --call-graph "$how" -- ./inlined >perf.out 2>&1
        run -0 --separate-stderr "$WPROF" import -o "s.$how" "$how.data"
        [[ $stderr == *" of inlined functions"* ]]
        "$WPROF" export -i "s.$how" | tee with
        "$WPROF" export "s.$how" | tee without
        grep -q ';outer;inl ' with
        grep -q ';outer ' without
        run -1 grep ';inl' without
        [ "$(awk '{ s += $NF } END { printf "%.0f\n", s }' with)" = "$(total "s.$how")" ]
        "$WPROF" show -i "s.$how" | grep -q 'native  *inl '
    done
}

@test "import perf-data: through a pipe, compressed" {
    need_perf
    perf record -q -z -o - -e cpu-clock -g -- "$WORKLOADS/split" 0.1 >pipe.data 2>perf.out ||
        perf record -q -o - -e cpu-clock -g -- "$WORKLOADS/split" 0.1 >pipe.data 2>perf.out # built without zstd
    "$WPROF" -q import -o s - <pipe.data 2>/dev/null
    [ "cpu-clock $(total s)" = "$(totals_by_perf pipe.data)" ]
    cat pipe.data | gzip | "$WPROF" -q import -o t - 2>/dev/null
    [ "$(total s)" = "$(total t)" ]
}

@test "import perf-data: a directory, of several threads of perf's" {
    need_perf
    perf record -q -N --threads -o dir.data -e cpu-clock -F 997 -g -- "$WORKLOADS/split" 0.1 >perf.out 2>&1 ||
        skip "perf knows no --threads"
    "$WPROF" -q import -o s dir.data 2>/dev/null
    [ "cpu-clock $(total s)" = "$(totals_by_perf dir.data)" ]
    run -3 "$WPROF" import -o t dir.data/data
    [[ $output == *"this is one of its files: name the directory"* ]]
}

@test "import perf-data: names only of the file that was recorded, and of perf's copy of it" {
    need_perf
    [ -d "$HOME/.debug" ] || skip "perf keeps no copies here"
    mv "$HOME/app" app.kept
    cp "$WORKLOADS/recurse" "$HOME/app" # another one of the same name
    "$WPROF" -q import -o s "$FP" 2>/dev/null
    HOME=$PWD run -0 --separate-stderr "$WPROF" import -o t "$FP"
    rm "$HOME/app"
    HOME=$PWD run -0 --separate-stderr "$WPROF" import -o u "$FP"
    absent=$stderr
    mv app.kept "$HOME/app"
    known s | grep -q '^app;main;hot_a;leaf_a '
    [[ $absent == *"functions of: app"* ]]
    for session in t u; do
        run known "$session"
        [[ $output != *main* ]]
        "$WPROF" export "$session" | grep -q ';\[app\]'
        [ "$(total "$session")" = "$(total s)" ]
    done
    "$WPROF" show t | grep -q 'another file than was recorded lies here (by its build id), functions are unnamed: of: app'
}

@test "import perf-data: cut off, and with nothing in it; views of it" {
    need_perf
    "$WPROF" -q import -o s "$FP" 2>/dev/null
    records=$(od -An -t u8 -j 40 -N 16 "$FP" | awk '{ printf "%d", $1 + $2 * 3 / 4 }')
    head -c "$records" "$FP" >cut.data
    run -0 --separate-stderr "$WPROF" import -o t cut.data
    [[ $stderr == *"perf did not end it"* ]]
    [ "$(total t)" -lt "$(total s)" ]
    head -c 100 "$FP" >header.data
    run -3 "$WPROF" import -o u header.data
    [[ $output == *"it was cut off in its header"* ]]
    "$WPROF" show s | grep -q 'leaf_a'
    "$WPROF" report s | grep -q .
    "$WPROF" render --format svg -o s.svg s
    grep -q 'leaf_a' s.svg
}
