#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What perf script prints, profiles of pprof, of speedscope, of Chrome.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    DATA=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/perf-script
}

@test "import perf-script: folds as its peers do, with each of their options" {
    [ -d "$DATA/expected" ] || skip "needs the shared data (perf-script)"
    n=0
    for file in "$DATA"/*.txt; do
        [ -s "$file" ] || continue # without a sample
        name=$(basename "$file" .txt)
        for want in "$DATA/expected/$name"-collapsed*.txt; do
            [ -e "$want" ] || continue
            option=${want#*-collapsed} option=${option%.txt}
            [ -d "$name" ] || "$WPROF" -q import -o "$name" "$file"
            "$WPROF" export --format folded ${option:+-$option} "$name" | LC_ALL=C sort >got
            diff <(LC_ALL=C sort "$want") got >differ || { echo "$want"; head -4 differ; return 1; }
            n=$((n + 1))
        done
    done
    [ "$n" = "$(ls "$DATA/expected" | wc -l)" ]
}

@test "import perf-script: an address where there is no name, marks, ids; people see the library" {
    printf '%s\n' 'java app   12 1.5: cycles: ' '	7f01  (/lib/libc.so)' '	0 [unknown] ([unknown])' \
        '	7f02 Lorg/x/Y;.run (/tmp/perf-12.map)' '	ff05 [unknown] ([kernel.kallsyms])' \
        '	ff09 [unknown] ([kernel.kallsyms])' '' >x
    "$WPROF" -q import -o s x
    of() { "$WPROF" export "$@" s; }
    [ "$(of)" = 'java_app;[[kernel.kallsyms]];[[kernel.kallsyms]];org/x/Y:.run;[unknown];  1' ]
    [ "$(of --addrs)" = 'java_app;[[kernel.kallsyms] <ff09>];[[kernel.kallsyms] <ff05>];org/x/Y:.run;[unknown <0>];  1' ]
    [ "$(of --all)" = 'java_app;[[kernel.kallsyms]]_[k];[[kernel.kallsyms]]_[k];org/x/Y:.run_[j];[unknown];  1' ]
    [ "$(of --pid)" = 'java_app-?;[[kernel.kallsyms]];[[kernel.kallsyms]];Lorg/x/Y:.run;[unknown];  1' ]
    printf '%s\n' 'a 1 1.5: 1 cycles: ' '	7f01 _RNvXsb_NtC5alloc3vecINtB5_3VecdE5index (/a)' '	7f02 _Z5deltav (/a)' '' >mangled
    "$WPROF" -q import -o m mangled
    [[ $("$WPROF" export m) == 'a;delta;'* ]]
    [ "$(of --tid)" = 'java_app-?/12;[[kernel.kallsyms]];[[kernel.kallsyms]];Lorg/x/Y:.run;[unknown];  1' ]
    [ "$(of --pids)" = 'java_app (12);[[kernel.kallsyms]];[[kernel.kallsyms]];org/x/Y:.run;[unknown];  1' ]
    "$WPROF" show s >shown
    grep -q '\[libc.so\]' shown
    grep -q 'unknown 100 %' shown # the kernel's functions have no names
}

@test "import perf-script: who, when, which event, what is left out" {
    cat >out.txt <<'END'
# captured on: Thu Nov 19 01:36:57 2015
# hostname : box
# nrcpus online : 32
# cmdline : /usr/bin/perf record -g -- ./app
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
    TZ=UTC "$WPROF" -q import --force -o s out.txt
    TZ=UTC "$WPROF" show s | grep -q '2015-11-19 01:36:57 UTC, for 3.00 s'
    "$WPROF" show s | grep -q 'perf was called as: /usr/bin/perf record -g -- ./app'
    "$WPROF" export --kernel --pids s | grep -q 'my_app (27409)'
}

@test "import perf-script: threads are those of their process, a thread's name is the root" {
    sample() { printf '%s [000] %s: 1 cycles:\n\t400000 %s+0x0 (/a)\n\n' "$@"; }
    { sample 'worker 10/11' 1.5 f; sample 'main 10/10' 1.6 g; sample 'worker 10/12' 1.7 h; sample 'lone 20/21' 1.8 i; } >x
    "$WPROF" -q import -o s x
    diff - <("$WPROF" export s) <<<$'lone;i 1\nmain;g 1\nworker;f 1\nworker;h 1'
    diff - <("$WPROF" export --pids s) <<<$'lone (20);i 1\nmain (10);g 1\nworker (10);f 1\nworker (10);h 1'
    diff - <("$WPROF" export --tid s) <<<$'lone-20/21;i 1\nmain-10/10;g 1\nworker-10/11;f 1\nworker-10/12;h 1'
    processes() { "$WPROF" query --format csv "$1" "select t.pid, p.tid, p.name, count(*) from tasks t join tasks p on p.id = t.process group by p.id order by p.id"; }
    diff - <(processes s | tail -n +2) <<<$'10,10,main,3\n20,20,lone,2'
    diff - <("$WPROF" show --by process s | awk '/%/ { print $(NF - 1), $NF }') <<<$'10 main\n20 lone'
    "$WPROF" -q import -o t x
    "$WPROF" -q merge -o m s t
    [ "$(processes m | tail -n +2 | grep -c ',main,3\|,lone,2')" = 4 ]
    "$WPROF" export m | grep -q '^worker.*;f 1'
}

@test "import perf-script: one event of several" {
    printf '%s\n' 'a 1 1.5: 7 cycles:u: ' '	7f01 f (/bin/a)' '' 'a 1 1.6: 5 sched:sched_switch: ' '	7f02 g (/bin/a)' '' >x
    "$WPROF" -q import -o s x
    [ "$("$WPROF" export s)" = 'a;f 7' ]
    "$WPROF" show s | grep -q 'other events in it (--event): sched:sched_switch'
    "$WPROF" -q import --event sched:sched_switch -o t x
    [ "$("$WPROF" export t)" = 'a;g 5' ]
    run -3 "$WPROF" import --event instructions -o u x
    [[ $output == *"no sample of the event 'instructions' in it (it has: cycles, sched:sched_switch)"* ]]
}

@test "import perf-script: lines of --show-task-events and the like are no samples" {
    printf '%s\n' 'perf-exec     0     0.000000: PERF_RECORD_COMM: perf-exec:9/9' 'a 1 1.1: PERF_RECORD_COMM exec: a:1/1' \
        'a 1 1.2: PERF_RECORD_SWITCH OUT preempt' 'a 1 1.5: 7 cycles: ' '	7f01 f (/bin/a)' '' 'a 1 1.6: PERF_RECORD_SWITCH IN         ' \
        'a 1 [001] 1.7: PERF_RECORD_MMAP2 1/1: [0x55(0x1000) @ 0x1000 fe:00 1 2]: r-xp /bin/a' 'a 1 1.8: 5 cycles: ' '	7f02 g (/bin/a)' '' >x
    run -0 "$WPROF" import -o s x
    [[ $output == *"left out: 5 records that say nothing of stacks"* ]]
    diff - <("$WPROF" export s) <<<$'a;f 7\na;g 5'
}

@test "import perf-script: a thread's name that ends in a number, tracepoints without a period and with their fields" {
    printf '%s\n' 'GC Thread 1 23046 [001] 72048.733076: sched:sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b' \
        '	ff01 f+0x41 ([kernel.kallsyms])' '' 'GC Thread 1 23046/23047 72048.833076:  sched:sched_switch: ' \
        '	ff01 f+0x41 ([kernel.kallsyms])' '' 'main 23040 72048.933076: sched:sched_switch:' '	ff01 f+0x41 ([kernel.kallsyms])' '' \
        'worker 3  77 [000] 72049.1:   250000 sched:sched_switch: ' '	ff01 f+0x41 ([kernel.kallsyms])' '' >x
    run -0 --separate-stderr "$WPROF" import -o s x
    [[ $stderr != *"makes no sense"* && $stderr == *"left out: 1 tracepoint's own fields"* ]] || { echo "$stderr"; false; }
    diff - <("$WPROF" export s) <<'END'
GC_Thread_1;f 2
main;f 1
worker_3;f 250000
END
    diff - <("$WPROF" query -f csv s "SELECT DISTINCT tid FROM tasks WHERE tid ORDER BY tid" | tail -n +2) <<<$'77\n23040\n23046\n23047'
}

@test "import perf-script: nothing in it" {
    : >empty
    run -3 "$WPROF" import --from perf-script -o s empty
    [[ $output == *"no sample in it"* ]]
}

@test "import pprof: the stacks and values that are in it" {
    need_python gzip
    data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/pprof/simple.prof
    [ -e "$data" ] || skip "needs the shared data (pprof)"
    run -0 --separate-stderr "$WPROF" import -o s "$data"
    "$WPROF" show s | grep -q 'a profile of pprof: of 2 kinds of values those called samples (count)'
    "$WPROF" export s | sed -E 's/\[[^];]*\]/[]/g' | LC_ALL=C sort >got
    "$PYTHON" "$ROOT/tests/tools/pprof_folded.py" "$data" | LC_ALL=C sort >want
    [ -s want ]
    diff want got
}

@test "import pprof: places without a name, Python, a default kind, what is not there, cut off" {
    need_python gzip
    "$PYTHON" - <<'END'
import gzip
def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])
def num(n, v): return varint(n << 3) + varint(v)
def msg(n, b): return varint(n << 3 | 2) + varint(len(b)) + b
names = ["", "alloc", "bytes", "inuse", "main", "step", "net.py", "/lib/libx.so"]
p = msg(2, num(1, 2) + num(1, 1) + num(2, 5) + num(2, 70))            # step in main
p += msg(2, msg(1, varint(3) + varint(1)) + msg(2, varint(1) + varint(30)))  # the library's
p += msg(2, num(1, 9) + num(2, 1) + num(2, 4))                        # a location that is not there
p += msg(1, num(1, 1) + num(2, 2)) + msg(1, num(1, 3) + num(2, 2)) + num(14, 3)
p += msg(3, num(1, 1) + num(2, 0x1000) + num(4, 0x200) + num(5, 7))
p += msg(4, num(1, 1) + msg(4, num(1, 1))) + msg(4, num(1, 2) + msg(4, num(1, 2) + num(2, 12)))
p += msg(4, num(1, 3) + num(2, 1) + num(3, 0x1234))
p += msg(5, num(1, 1) + num(2, 4)) + msg(5, num(1, 2) + num(2, 5) + num(4, 6))
p += b"".join(msg(6, s.encode()) for s in names) + num(9, 1700000000000000000) + num(10, 2000000000)
open("heap.pb.gz", "wb").write(gzip.compress(p))
open("cut.pb", "wb").write(p[:60])
END
    run -0 --separate-stderr "$WPROF" import -o s heap.pb.gz
    [[ $stderr == *"3 stacks from"* ]]
    [[ $stderr == *"1 location that is not there"* ]]
    diff - <("$WPROF" export s) <<'END'
[no stack] 4
main;[libx.so+0x434] 30
main;step (net.py) 70
END
    "$WPROF" show s | grep -q 'those called inuse (bytes)'
    "$WPROF" -q import --event alloc -o a heap.pb.gz
    "$WPROF" export a | grep -qx 'main;step (net.py) 5'
    run -3 "$WPROF" import --event space -o b heap.pb.gz
    [[ $output == *"no values 'space' in it (it has: alloc, inuse)"* ]]
    "$WPROF" show s | grep -q '2023-11-14 22:13:20 UTC, for 2.00 s'
    run -3 "$WPROF" import --from pprof -o t cut.pb
    [[ $output == *"a field goes beyond the end"* ]]
}

@test "import pprof: bytes in use and time that was waited are no samples of CPUs; a CPU profile keeps its period" {
    cat >write.py <<'END'
import sys
def v(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def f(number, value):
    return v(number << 3) + v(value) if isinstance(value, int) else v(number << 3 | 2) + v(len(value)) + value
def profile(types, values, period=0, label=None):
    strings = [""]
    def s(text):
        if text not in strings:
            strings.append(text)
        return strings.index(text)
    p = b"".join(f(1, f(1, s(n)) + f(2, s(u))) for n, u in types)
    p += f(2, f(1, v(1)) + f(2, b"".join(map(v, values))) + (f(3, f(1, s(label)) + f(2, s("true"))) if label else b""))
    p += f(4, f(1, 1) + f(4, f(1, 1))) + f(5, f(1, 1) + f(2, s("work")))
    if period:
        p += f(11, f(1, s("cpu")) + f(2, s("nanoseconds"))) + f(12, period)
    return p + b"".join(f(6, t.encode()) for t in strings)
heap = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
open("heap", "wb").write(profile(heap, [7, 3 << 20, 5, 2 << 20]))
open("heap2", "wb").write(profile(heap, [7, 9 << 20, 5, 8 << 20]))
open("difference", "wb").write(profile(heap, [7, 9 << 20, 5, 8 << 20], label="pprof::base"))
open("mutex", "wb").write(profile([("contentions", "count"), ("delay", "nanoseconds")], [3, 250000000]))
open("cpu", "wb").write(profile([("samples", "count"), ("cpu", "nanoseconds")], [96, 960000000], 10000000))
END
    python3 write.py
    for f in heap heap2 mutex cpu; do "$WPROF" -q import -o s.$f $f; done
    run -3 "$WPROF" import -o s.difference difference
    [[ $output == *"a difference of two profiles (pprof -diff_base)"* ]]
    "$WPROF" show s.heap | grep -q '^Functions by self, of 2.0 MiB$'
    "$WPROF" show s.mutex | grep -q '^Functions by self, of 250 ms$'
    "$WPROF" show s.cpu | grep -q '^Functions by self, of 96 samples$'
    "$WPROF" -q import --event inuse_objects -o s.objects heap
    "$WPROF" show s.objects | grep -q '^Functions by self, of 5 inuse_objects$'
    for f in heap mutex; do not grep -q 'CPU time is' <("$WPROF" report s.$f); done
    "$WPROF" report s.cpu | grep -q 'Much of the CPU time is in work'
    run -3 "$WPROF" diff --fail-above 1% s.heap s.heap2
    [[ $output == *"2,097,152 bytes"*"can't judge"* ]]
    of() { "$WPROF" export -f pprof "s.$1" | gzip -dc | grep -aq "$2"; }
    of heap inuse_space && of heap bytes && of mutex delay && of mutex nanoseconds
    "$WPROF" export -f speedscope s.heap | grep -q '"unit":"bytes"'
    "$WPROF" -q export -f pprof -o back s.cpu
    "$WPROF" -q import -o t back
    grep -q '"frequency": 100,' t/meta.json && grep -q '"event": "cpu-clock"' t/meta.json
}

@test "import pprof: gperftools' older CPU profiles, of both word sizes and orders" {
    corpus=$ROOT/tests/fuzz/corpus/pprof
    run -0 --separate-stderr "$WPROF" import -o s "$corpus/cpu"
    diff - <("$WPROF" export s) <<'END'
[bench server+0x101f];[bench server+0x1010] 5
[libc.so.6+0x2fff];[bench server+0x102f];[bench server+0x1010] 2
[unknown+0x99] 3
END
    "$WPROF" show s | grep -q 'a sample each 10000 us of CPU time.*signal handler is left out'
    run -0 --separate-stderr "$WPROF" import -o t "$corpus/cpu32"
    [[ $stderr == *"1 end that is missing: it was cut off"* ]]
    diff - <("$WPROF" export t) <<'END'
[unknown+0x8048000] 1
[unknown+0x804801f];[unknown+0x8048010] 4
END
    data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/pprof/cppbench.cpu
    [ -e "$data" ] || skip "needs the shared data (pprof)"
    "$WPROF" -q import -o u "$data"
    "$WPROF" export u >got
    python3 - "$data" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
words = struct.unpack(f"<{len(data) // 8}Q", data[:len(data) // 8 * 8])
at, stacks = 2 + words[1], []
while words[at:at + 3] != (0, 1, 0):
    stacks.append((words[at], words[at + 1]))
    at += 2 + words[at + 1]
got = [line.rsplit(" ", 1) for line in open("got")]
assert sum(int(n) for _, n in got) == sum(n for n, _ in stacks), stacks
# Without the signal handler's frame, which is the second of all of them.
assert max(s.count(";") + 1 for s, _ in got) == max(depth for _, depth in stacks) - 1
END
}

@test "import speedscope: sampled and evented" {
    run -0 --separate-stderr "$WPROF" import -o one "$ROOT/tests/fuzz/corpus/speedscope/both"
    [[ $stderr == *"1 profile in another unit than the first"* ]]
    [ "$("$WPROF" export one | cut -d';' -f1 | sort -u)" = s ]
    sed 's/"unit": *"none"/"unit":"microseconds"/' "$ROOT/tests/fuzz/corpus/speedscope/both" >both
    run -0 --separate-stderr "$WPROF" import -o s both
    [[ $stderr == *"1 frame that is not there"* ]]
    [[ $stderr == *"1 value that is negative or out of range"* ]]
    [[ $stderr == *"1 end without a beginning"* ]]
    [[ $stderr == *"1 profile of an unknown type"* ]]
    diff - <("$WPROF" export s) <<'END'
e;a (x.py) 5500
e;a (x.py);b 2500
s;[no stack] 1000000
s;a (x.py) 2000000
s;a (x.py);b 1500000
END
    data=${WPROF_SHARED_DATA:-$ROOT/../shared/data}/speedscope
    [ -d "$data" ] || skip "needs the shared data (speedscope)"
    "$WPROF" -q import -o simple "$data/simple.speedscope.json"
    [ "$("$WPROF" export simple)" = $'simple.txt;a;b 5\nsimple.txt;a;b;c 5\nsimple.txt;a;b;d 4' ]
}

@test "import speedscope: what rounding takes from a stack its next values have" {
    python3 - <<'END'
import json
json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "a"}, {"name": "b"}]},
    "profiles": [{"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 1200,
        "samples": [[0]] * 1000 + [[1]] * 500, "weights": [0.6] * 1000 + [0.4] * 500}]}, open("f.json", "w"))
END
    "$WPROF" -q import -o f f.json
    [ "$("$WPROF" export f)" = $'x;a 600\nx;b 200' ]
}

@test "import cpuprofile: a list of nodes, hits without samples, a tree" {
    corpus=$ROOT/tests/fuzz/corpus/cpuprofile
    run -0 --separate-stderr "$WPROF" import --event samples -o s "$corpus/list"
    [[ $stderr == *"3 samples from"*"left out: 1 idle sample"* ]]
    [[ $stderr == *"1 sample of no node"* ]]
    diff - <("$WPROF" export s) <<'END'
JavaScript;f (a.js) 1
JavaScript;f (a.js);(anonymous) 2
END
    "$WPROF" -q import -o hits "$corpus/hits"
    [ "$("$WPROF" export hits)" = $'JavaScript;f 7\nJavaScript;f;g 2' ]
    "$WPROF" -q import --event samples -o tree "$corpus/tree"
    [ "$("$WPROF" export tree)" = $'JavaScript;a 1\nJavaScript;a;b 2' ]
    # as long as until the next one, the last one until the end; or as many as there are
    echo '{"nodes": [{"id": 1, "callFrame": {"functionName": "f"}}, {"id": 2, "callFrame": {"functionName": "g"}}],
"startTime": 1000, "endTime": 2000, "samples": [1, 2, 1], "timeDeltas": [0, 100, 700]}' >t.cpuprofile
    run -0 --separate-stderr "$WPROF" import -o t t.cpuprofile
    [[ $stderr == *"3 samples from"* ]]
    [ "$("$WPROF" export t)" = $'JavaScript;f 300\nJavaScript;g 700' ]
    "$WPROF" -q import --event samples -o n t.cpuprofile
    [ "$("$WPROF" export n)" = $'JavaScript;f 2\nJavaScript;g 1' ]
    fails 3 "$WPROF" import --event hits -o e t.cpuprofile
    says "it has: time, samples"
}
