#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What py-spy and austin write.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

@test "import pyspy: processes, threads, files and lines" {
    run -0 --separate-stderr "$WPROF" import -o s "$ROOT/tests/fuzz/corpus/pyspy/processes"
    diff - <("$WPROF" export s) <<'END'
python -c 'a_b';MainThread;<module> (net.py);forward (net.py);gemm 7
python -c 'a_b';thread 14;<module> (net.py);forward (net.py);mul 5
python w.py;<module> (w.py) 2
END
    diff - <("$WPROF" export --lines s) <<'END'
python -c 'a_b';MainThread;<module> (net.py:3);forward (net.py:12);gemm 7
python -c 'a_b';thread 14;<module> (net.py:3);forward (net.py:14);mul (mul.c:3) 5
python w.py;<module> (w.py:3) 2
END
    "$WPROF" export --tid s | grep -q "^python w.py-13/13;"
    "$WPROF" show --json s | python3 -c '
import json, sys
s = json.load(sys.stdin)
kinds = {f["function"]: (f["kind"], f["module"]) for f in s["functions"]}
assert kinds["<module>"] == ("python", None) and kinds["gemm"] == ("native", "libblas.so"), kinds'
    python3 -c 'import json; assert json.load(open("s/meta.json"))["languages"] == ["python"]'
}

@test "import pyspy: without processes; lines that make no sense; what is folded, and not py-spy's" {
    run -0 --separate-stderr "$WPROF" import -o s "$ROOT/tests/fuzz/corpus/pyspy/plain"
    [[ $stderr == *"1 line of it made no sense"*"no value"* ]]
    [[ $stderr == *"1 values with a fraction were rounded"* ]]
    diff - <("$WPROF" export --lines s) <<'END'
<module> (net.py:3);forward (net.py:12);<lambda> (<string>:1) 7
<module> (net.py:3);gemm(int) 3
END
    printf '%s\n' 'python3;f (x.py) 1' >folded
    "$WPROF" import -o t folded
    "$WPROF" show t | grep -q 'taken (folded)'
    run -3 "$WPROF" import --from pyspy -o u /dev/null
    [[ $output == *"py-spy record --format raw"* ]]
}

@test "import speedscope: py-spy's, whose profiles are threads" {
    run -0 --separate-stderr "$WPROF" import -o s "$ROOT/tests/fuzz/corpus/speedscope/pyspy"
    diff - <("$WPROF" export --lines s) <<'END'
python;MainThread;<module> (net.py:3);forward (net.py:12) 30000000
python;Thread 0x7F5A00000001;<module> (<string>:1) 10000000
python;loader;<module> (net.py:3) 10000000
END
    "$WPROF" export --pid s | grep -q '^python-12;MainThread;'
    "$WPROF" export --tid s | grep -q '^python-13/14;loader;'
    python3 -c 'import json; assert json.load(open("s/meta.json"))["languages"] == ["python"]'
}

@test "import austin: its modes, threads, the collector, what it says of itself" {
    run -0 --separate-stderr "$WPROF" import -o s "$ROOT/tests/fuzz/corpus/austin/modes"
    diff - <("$WPROF" export --lines s) <<'END'
P123;<module> (net.py:3);forward (net.py:12) 100
P123;T0:7f12345678;[garbage collection] 5
P123;T0:7f12345678;forward (net.py:14) 50
P124;T0:125;do_syscall_64;[invalid frame] 7
P124;TMainThread;run (C:\x\net.py:5) 8
END
    "$WPROF" show s >shown
    grep -q 'version 3.7.0; interval 100; mode wall; errors 1/10; .* as the microseconds' shown
    grep -q 'for 2.00 s' shown
    run -0 --separate-stderr "$WPROF" import -o m "$ROOT/tests/fuzz/corpus/austin/memory"
    [ "$("$WPROF" export --lines m)" = 'P7;f (m.py:1) 4096' ]
    [[ $stderr == *"left out: 1 sample in which memory was freed"* ]]
    [[ $stderr == *"2 lines of it made no sense"* ]]
    run -3 "$WPROF" import --event memory -o t "$ROOT/tests/fuzz/corpus/austin/modes"
    [[ $output == *"austin recorded with --full"* ]]
}

@test "import austin: what its version 1.0 wrote, of threads, of processes, of all metrics" {
    printf '%s\n' 'Thread 5654391d6e40;<module> (p.py);L11;join (/lib/python3.8/threading.py);L1011 2110' \
        'Thread 55f5036d28f0;outer (p.py);L6; (p.py);L5 300' 'Thread 5654391d6e40 90' >plain
    "$WPROF" -q import -o old plain
    grep -q 'recorded by austin' old/meta.json
    diff - <("$WPROF" export old) <<'END'
python;Thread 55f5036d28f0;outer (p.py); (p.py) 300
python;Thread 5654391d6e40;<module> (p.py);join (threading.py) 2110
python;Thread 5654391d6e40;[no stack] 90
END
    "$WPROF" show --by line old | grep -q 'join (threading.py:1011)\|threading.py.*1011'
    sed 's/^/Process 7167;/' plain | "$WPROF" -q import -o children -
    [ "$("$WPROF" query -f csv children "SELECT DISTINCT pid FROM tasks" | tail -1)" = 7167 ]
    printf '%s\n' 'Thread 55f5036d28f0;a (p.py);L6 0 3420 0' 'Thread 55f5036d28f0;a (p.py);L6 5735 0 0' \
        'Thread 55f503657e40 2153 0 -11548' >full
    "$WPROF" -q import -o full.time full
    [ "$(samples full.time)" = 7888 ]
    "$WPROF" -q import --event memory -o full.memory full
    [ "$(samples full.memory)" = 3420 ]
}

@test "import austin: all metrics at once, and what its first versions wrote" {
    old=$ROOT/tests/fuzz/corpus/austin/old
    "$WPROF" import -o s "$old"
    diff - <("$WPROF" export --lines s) <<'END'
P123;T0x7f546684;[no stack] 3
P123;T0x7f546684;foo (foo_module.py:10);bar (bar_module.py:20) 84
P1;T7fdf1b437700;_bootstrap (threading.py:884);keep_cpu_busy (busy.py:31) 10085
P4317;T7ffb811a0740;<module> (busy.py:38);keep_cpu_busy (busy.py:33) 10969
END
    of() { "$WPROF" -q import --force --event "$1" -o t "$old" >/dev/null; "$WPROF" export t | grep foo; }
    [[ $(of time) == *" 84" && $(of cpu) == *" 42" && $(of memory) == *" 44" ]]
    printf 'MOJ\003\001' >binary
    run -3 "$WPROF" import -o u binary
    [[ $output == *mojo2austin* ]]
    run -3 "$WPROF" import --event cycles -o u "$old"
    [[ $output == *"no metric 'cycles' of austin's (time, cpu, memory)"* ]]
}
