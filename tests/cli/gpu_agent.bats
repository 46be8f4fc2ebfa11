#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# GPUs without one: a driver and a CUPTI of ours (tests/fakes), which tell what they ran.

load common

setup_file() {
    local n
    mkdir -p "$BATS_FILE_TMPDIR/lib"
    for n in 11 12 13; do
        fake cupti "libcupti.so.$n" "-DCUPTI_MAJOR=$n"
    done
    fake cuda libcuda.so.1
    fake cudart libcudart.so.13
    fake torch libtorch_cpu.so -Wl,-soname,libtorch_cpu.so
}

# fake NAME LIBRARY [FLAG]
fake() {
    "${CC:-cc}" -shared -fPIC -O1 -Wall -Wextra -D_GNU_SOURCE ${3:-} -o "$BATS_FILE_TMPDIR/lib/$2" "$ROOT/tests/fakes/$1.c"
}

setup() {
    [ -x "$BUILD/tests/unit/test_gpu_session" ] || skip "needs the unit tests, built"
    need_python ctypes
    cd "$BATS_TEST_TMPDIR"
    export FAKE_CUPTI_TRUTH=$PWD/truth
}

# record WHAT [OPTION...]: the program of tests/fakes/gpu.py; tier C, which works for all.
record() {
    local what=$1
    shift
    rm -rf s truth
    # not exported: nothing else is to load the fakes
    LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib WPROF_GPU_TICK_MS=20 "$WPROF" record -o s --tier C --collect gpu,cpu "$@" -- \
        "$PYTHON" "$ROOT/tests/fakes/gpu.py" "$what" 2>err
}

events() {
    WPROF_SESSION=s "$BUILD/tests/unit/test_gpu_session" >events
}

counter() {
    "$PYTHON" -c 'import json, sys
m = json.load(open("s/meta.json"))
print(next(c for c in m["collectors"] if c["name"] == "gpu")["counters"][sys.argv[1]])' "$1"
}

# what was recorded is what ran: kernels, copies and sets, to the microsecond
as_it_ran() {
    events
    "$PYTHON" - <<'EOF'
rows = [line.rstrip("\n").split("|") for line in open("events")]
ran = sorted((int(r[4]), int(r[5]), int(r[6]), int(r[3])) for r in rows if r[0] in ("kernel", "copy", "set"))
truth = sorted((int(t[3]), int(t[4]) - int(t[3]), int(t[5]), int(t[2])) for t in map(str.split, open("truth")))
assert len(ran) == len(truth), (len(ran), len(truth))
assert all(a[1:] == b[1:] for a, b in zip(ran, truth)), (ran, truth)
# the two clocks were paired to what one reading takes
assert all(abs(a[0] - b[0]) < 1000000 for a, b in zip(ran, truth)), max(abs(a[0] - b[0]) for a, b in zip(ran, truth))
EOF
}

# stacks NAME LINE: all of that name were asked for in that line of gpu.py
stacks() {
    NAME=$1 AT=$2 awk -F'|' '$2 == ENVIRON["NAME"] { n++; if (index($9, ENVIRON["AT"])) hit++ } END { exit !(n && n == hit) }' events ||
        { echo "not all of $1 at $2"; return 1; }
}

line() { # of the first match in gpu.py
    grep -nF "$1" "$ROOT/tests/fakes/gpu.py" | head -1 | cut -d: -f1
}

everything() {
    local v=$1
    FAKE_CUDA_VERSION=$v record everything
    as_it_ran
    [ "$(grep -c '^kernel|forward|0|1|' events)" = 12 ] # demangled
    [ "$(grep -c '^kernel|backward|0|2|' events)" = 8 ]
    stacks forward "forward (gpu.py:$(line "# forward's"))"
    stacks backward "backward (gpu.py:$(line "# backward's"))"
    stacks first "make_graph (gpu.py:$(line "# the first node"))"
    stacks 'Memcpy HtoD (Pinned -> Device)' "memory (gpu.py:"
    stacks 'allocate (Device)' "memory (gpu.py:"
    grep -q '^runtime|cudaLaunchKernel|' events # its name without the version
    [ "$(grep -c cudaGetDevice events)" = 0 ] # left out
    # one that only asks, and finds the work unfinished, did not wait
    [ "$(grep -c '^driver|cuStreamQuery|' events)" = 5 ]
    [ "$(grep -c '^sync|' events)" = "$(grep -c '^driver|cuStreamSynchronize|' events)" ]
    [ "$(grep -c '^mark|step ' events)" = 4 ]
    "$WPROF" show --gpu --json s 2>/dev/null | "$PYTHON" -c 'import json, sys
d = json.load(sys.stdin)
m, a = d["memory"][0], d["allocations"][0]
assert (m["device"], m["memory"], m["peak_bytes"], m["held_bytes"], m["unknown_frees"]) == ("GPU 0", "device", 1 << 20, 0, 0), m
assert (a["where"], a["allocations"], a["frees"], a["peak_bytes"]) == ("memory", 1, 1, 1 << 20), a'
    [ "$(counter unasked)" = 0 ]
    [ "$(counter stacks)" = "$(counter launches)" ]
    [ "$(counter damaged)" = 0 ]
    [ ! -e s/gpu ]
}

@test "gpu: kernels on two streams, graphs, copies, NVTX, allocations, with the Python line of each, CUPTI 11" {
    everything 11
}

@test "gpu: the same, CUPTI 12" {
    everything 12
}

@test "gpu: the same, CUPTI 13" {
    everything 13
}

@test "gpu: whole graphs: one record a run, from the line that launches it, and no nodes" {
    local v
    for v in 11 12 13; do
        FAKE_CUDA_VERSION=$v record everything --whole-graphs
        events
        [ "$(grep -c '^graph|graph 1|0|1|' events)" = 2 ]
        not grep -q '^kernel|first|' events
        # as long as its nodes, one after the other
        [ "$(awk -F'|' '$1 == "graph" { print $6 }' events | sort -u)" = 1200000 ]
        stacks 'graph 1' "everything (gpu.py:$(line "cuda.cuGraphLaunch"))"
        [ "$(grep -c '^kernel|forward|' events)" = 12 ]
        [ "$(counter unknown_records)" = 0 ]
    done
    "$WPROF" show --gpu --json s 2>/dev/null | "$PYTHON" -c 'import json, sys
d = json.load(sys.stdin)
assert [(r["graph"], r["node"], r["count"], r["total_ns"]) for r in d["graph_nodes"]] == [(1, 0, 2, 2400000)], d["graph_nodes"]'
}

@test "gpu: threads, each with its own" {
    record threads
    as_it_ran
    stacks backward "backward (gpu.py:"
    [ "$(counter unasked)" = 0 ]
}

@test "gpu: a child of fork is not the process; what that goes on to do is recorded" {
    record fork
    events
    [ "$(grep -c '^kernel|' events)" = 5 ]
    [ "$(counter processes)" = 1 ]
}

@test "gpu: _exit and SIGKILL keep what was flushed before, and that is said" {
    run record left
    [ "$status" = 3 ]
    as_it_ran
    [ "$(counter cut)" = 1 ]
    grep -q 'did not end in an orderly way' s/meta.json
    run record killed
    [ "$status" = 137 ]
    as_it_ran
    [ "$(counter cut)" = 1 ]
}

# part OPTION...: what is recorded begins long after CUDA's start
part() {
    BEGIN=1 record endless --duration 300ms --kill "$@"
    not grep -qi 'could not write\|never initialised' err
    events
    grep -q '^kernel|forward|0|1|' events
    stacks forward "forward (gpu.py:$(line "# forward's"))"
    [ ! -e s/gpu ]
}

@test "gpu: a part of a run, from a time, a signal or a mark on, has its kernels" {
    part --delay 300ms
    part --start-on USR1
    part --capture step:5-
}

@test "gpu: with --ring the space of what was read of the agent's log is given back" {
    record many --ring 60s >sizes
    read -r size disk <sizes
    [ "$size" -gt 300000 ]
    [ "$disk" -lt "$((size / 2))" ]
    events
    [ "$(grep -c '^kernel|forward|' events)" = 20000 ]
}

@test "gpu: a program that goes on after the recording has no file of ours open" {
    record after --stop-on USR1
    until [ -s left ]; do sleep 0.02; done
    [ "$(cat left)" = '[] 0 0' ] # nor is it called
    events
    grep -q '^kernel|forward|' events
}

@test "gpu: the recording ends while torch.profiler records: its kinds of records stay enabled" {
    record after_profiler --stop-on USR1
    until [ -s left ]; do sleep 0.02; done
    [ "$(cat left)" = '[] 5 0' ]
    [ "$(counter gaps)" = 1 ]
}

@test "gpu: many threads, each with a buffer of CUPTI's: their memory is used again" {
    FAKE_CUPTI=threads record buffers >n
    [ "$(cat n)" = 41 ]
    as_it_ran
    [ "$(counter foreign_buffers)" = 0 ]
}

@test "gpu: the recorder is killed: what the agent wrote is read, once, and saved by a repair" {
    LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib WPROF_GPU_TICK_MS=200 "$WPROF" -q record -o left --tier C --collect gpu,cpu -- \
        "$PYTHON" "$ROOT/tests/fakes/gpu.py" orphan 3>&- &
    recorder=$!
    written() { [ "$(cat left/gpu/*.wlog 2>/dev/null | wc -c)" -gt 2000 ] && "$WPROF" -q export --metric gpu left >/dev/null 2>&1; }
    until_true 60 written # of some the recorder has written, too
    pid=$(pgrep -P $recorder)
    kill -9 $recorder
    wait $recorder || true
    ended() { ! kill -0 "$pid" 2>/dev/null; }
    until_true 60 ended
    mkdir before
    cp -r left/gpu left/events.wlog left/meta.json before
    run -0 --separate-stderr "$WPROF" show left
    [[ $stderr == *"its recorder was killed: "*" events of GPUs are from its gpu/"* ]]
    [[ $output == *"$(wc -l <truth) kernels, copies and sets of 1 process"* && $output != *"never initialised"* ]]
    [ "$("$WPROF" show --gpu --json left 2>/dev/null | "$PYTHON" -c 'import json, sys
print(json.load(sys.stdin)["devices"][0]["kernel_count"])')" = "$(grep -c . truth)" ]
    "$WPROF" show --units step --top 0 left 2>/dev/null | grep -qw 'step 0' # not only the longest
    run -1 "$WPROF" verify left
    [[ $output == *"in logs of GPU agents, which the recorder had not read"* ]]
    "$WPROF" -q verify --repair -o s left
    "$WPROF" verify s
    as_it_ran
    grep -q 'events of GPUs among them are from agents' s/meta.json
    diff -r left/gpu before/gpu # nothing there is changed
    cmp left/events.wlog before/events.wlog
    cmp left/meta.json before/meta.json
    : >left/gpu/1-2.wlog
    head -c 5000 /dev/zero >left/gpu/3-4.wlog # as --ring leaves one: its beginning is gone
    run -0 --separate-stderr "$WPROF" show left
    [[ $stderr == *"5000 bytes of GPU records in its gpu/ can't be read"* ]]
}

@test "gpu: the recorder is killed: the agent does not write for ever" {
    LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib WPROF_GPU_TICK_MS=5 "$WPROF" -q record -o left --tier C --collect gpu,cpu -- \
        "$PYTHON" "$ROOT/tests/fakes/gpu.py" alone >said 3>&- &
    recorder=$!
    written() { [ "$(cat left/gpu/*.wlog 2>/dev/null | wc -c)" -gt 2000 ]; }
    until_true 60 written
    kill -9 $recorder
    wait $recorder || true
    said() { grep -q alone said; }
    until_true 60 said
    "$WPROF" show --gpu left 2>/dev/null | grep -q '^ *GPU 0'
}

# ranks SIZE: three processes, each with a device of its own, which is number 0 to it
ranks() {
    cat >ranks.sh <<'END'
for r in 4 5 6; do
    RANK=$((r - 4)) CUDA_VISIBLE_DEVICES=$r "$@" &
done
wait
END
    LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib WORLD_SIZE=$1 WPROF_GPU_TICK_MS=20 "$WPROF" record -o r --force --tier C --collect gpu,cpu -- \
        sh ranks.sh "$PYTHON" "$ROOT/tests/fakes/gpu.py" ${2:-steps} 2>err
    "$WPROF" show --gpu --json r >r.json
}

@test "gpu: processes that each have a device of their own, and ranks" {
    ranks 3
    "$PYTHON" -c 'import json
d = json.load(open("r.json"))
assert [(x["rank"], x["id"], x["kernel_count"]) for x in d["devices"]] == [(0, 4, 20), (1, 5, 20), (2, 6, 20)], d["devices"]
assert len(d["ranks"]) == 3'
    ranks 1 two # alone in its job each; and ended before a turn of the agent
    "$PYTHON" -c 'import json
d = json.load(open("r.json"))
assert [(x["rank"], x["id"], x["kernel_count"]) for x in d["devices"]] == [(None, 4, 2), (None, 5, 2), (None, 6, 2)], d["devices"]'
}

@test "gpu: a program that closes descriptors that it does not know gets nothing of ours into its files" {
    record close
    [ "$(cat kept-*)" = keptkeptkeptkeptkeptkeptkeptkept ]
}

@test "gpu: another subscriber, or a CUPTI that refuses: the program runs, the session says why" {
    FAKE_CUPTI=subscribed record everything
    [ "$(wc -l <truth)" = 26 ]
    grep -q 'another profiler has subscribed to CUPTI there (its error 39)' err
    grep -q 'error 39' s/meta.json
    FAKE_CUPTI=broken record everything
    [ "$(wc -l <truth)" = 26 ]
    grep -q 'CUPTI refuses, its error 999' err
    [ "$(folded s | wc -l)" -gt 0 ] # the CPU side goes on
}

@test "gpu: dropped records, impossible times, unknown kinds: counted, and the rest is right" {
    FAKE_CUPTI=drop record everything
    events
    [ "$(counter dropped)" -gt 0 ]
    grep -q "CUPTI dropped $(counter dropped) records" s/meta.json
    "$WPROF" show --gpu s | grep -q "^$(counter dropped) records were lost: busy is at least this"
    "$WPROF" report --format json --all s | "$PYTHON" -c 'import json, sys
for f in json.load(sys.stdin)["findings"]:
    assert not f.get("device") or f["certainty"] != "measured", f'
    FAKE_CUPTI=zero,strange record everything
    events
    [ "$(counter bad_times)" = 8 ] # a third of 24 kernels
    [ "$(counter unknown_records)" = 26 ]
    [ "$(grep -c '^kernel|' events)" = 16 ]
    FAKE_CUPTI=inverted record everything
    [ "$(counter bad_times)" = 8 ]
}

@test "gpu: torch.profiler takes the records for a while: a gap, then ours again" {
    record profiler >said
    events
    [ "$(cat said)" = "2 3 0" ]               # not while it is on; of its buffers nothing is promised
    [ "$(grep -c cudaGetDevice events)" = 0 ] # left out again
    [ "$(counter gaps)" = 1 ]
    grep -q '^mark|\[GPU records taken by another profiler\]|' events
    # before and after
    awk -F'|' '/^mark/ { gap = $5 } /^kernel/ && !gap { before++ } /^kernel/ && gap && $5 > gap + 0 { after++ }
        END { exit !(after > 0) }' <(sort -t'|' -k5,5n events)
    # that time is neither busy nor idle, and blamed on nobody
    "$WPROF" show --gpu s >shown
    grep -q 'GPU 0: .* are not seen, neither busy nor idle: another profiler had the records' shown
    "$WPROF" report s | tr -s '\n ' ' ' | grep -q 'not seen, as another profiler had the records [0-9]'
    "$WPROF" show --gpu --json --top 0 s >shown.json
    "$PYTHON" - <<'END'
import json
d = json.load(open("shown.json"))
assert not any("another profiler" in x["step"] for x in d["steps"]), d["steps"]
g = d["devices"][0]
gap = [r.split("|") for r in open("events") if r.startswith("mark|[GPU records taken")]
begin, ns = int(gap[0][4]), int(gap[0][5])
assert g["span_ns"] == g["busy_ns"] + g["idle_ns"] + g["unseen_ns"] and g["unseen_ns"] >= ns > 0, (g, ns)
assert sum(r["ns"] for r in d["idle_blame"]) == g["idle_ns"], d["idle_blame"]
# nothing that ran and is not known lies outside of it
seen = {int(r.split("|")[3]) for r in open("events") if r.startswith("kernel|")}
for t in map(str.split, open("truth")):
    assert int(t[2]) in seen or begin <= int(t[3]) <= begin + ns, (t, begin, ns)
END
}

@test "gpu: from a profiler that does not tell whether it is over nothing is taken back" {
    record profiler_unknown >said
    [ "$(cat said)" = "2 2 0" ]
    grep -q 'the other profiler kept the records until the end' err
}

@test "gpu: an injection that is set already is left alone, and that is said" {
    LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib CUDA_INJECTION64_PATH=/another.so "$WPROF" record -o s --tier C --collect gpu,cpu -- \
        sh -c 'echo "$CUDA_INJECTION64_PATH,$WPROF_GPU"' >out 2>err
    [ "$(cat out)" = /another.so, ]
    grep -q 'CUDA_INJECTION64_PATH was set already, and is left alone' err
    grep -q 'left alone' s/meta.json
    NVTX_INJECTION64_PATH=/another.so record steps
    as_it_ran
    grep -q 'NVTX_INJECTION64_PATH was set already, and is left alone: NVTX ranges are missing' err
}

@test "gpu: CUDA that is never initialised, and no driver at all" {
    record none
    grep -q 'CUDA was never initialised' s/meta.json
    "$WPROF" -q record -o t --tier C -- true # the default, where there is a driver
    [ -e /dev/nvidiactl ] || grep -A1 '"name": "gpu"' t/meta.json | grep -q '"state": "off"'
}

# A machine may have a CUPTI of NVIDIA's where ours is looked for: without a driver it refuses, and that is said, too.
@test "gpu: NVTX before CUDA begins, and in processes without CUDA" {
    record early
    as_it_ran
    [ "$(grep -c '^mark|step ' events)" = 5 ]
    [ "$(counter processes)" = 1 ]
    unset FAKE_CUPTI_TRUTH
    record workers
    events
    for n in 0 1 2; do
        [ "$(grep -c "^mark|step $n|" events)" = 3 ]
    done
    [ "$(counter processes)" = 3 ]
    [ "$("$WPROF" show --units step s | awk '$1 == "step" { print $4 }' | sort | uniq -c | awk '$1 == 3' | wc -l)" = 3 ] # pids
    grep -q 'CUDA was never initialised in the 3 processes that mark by NVTX' s/meta.json
    not grep -q 'warning: GPU' err
}

@test "gpu: an agent that may not write, and an environment that was cleared: CUDA was there, and that is said" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    mkdir -m 700 closed
    cd closed
    unset FAKE_CUPTI_TRUTH
    record user
    not grep -q 'never initialised' s/meta.json
    grep -q 'libwprof-cuda.so was loaded, but could not write' err
    LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib "$WPROF" record -o t --tier C --collect gpu,cpu -- \
        env -u CUDA_INJECTION64_PATH "$PYTHON" "$ROOT/tests/fakes/gpu.py" user 2>err
    grep -Eq '(libcuda was loaded|CUDA was initialised), but (.* )?the driver did not load libwprof-cuda.so' err
}

@test "gpu: of a program too short to be looked at the kernel tells that CUDA was there" {
    need_tier_a
    unset FAKE_CUPTI_TRUTH
    LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib "$WPROF" record -o s --tier A --collect gpu,cpu -- \
        env -u CUDA_INJECTION64_PATH "$PYTHON" "$ROOT/tests/fakes/gpu.py" two 2>err
    grep -Eq '(libcuda was loaded|CUDA was initialised), but (.* )?the driver did not load libwprof-cuda.so' err
}

@test "gpu: no CUPTI: the program runs, and it is said where to have one from" {
    mkdir lib
    cp "$BATS_FILE_TMPDIR/lib/libcuda.so.1" lib
    LD_LIBRARY_PATH=$PWD/lib "$WPROF" record -o s --tier C --collect gpu,cpu -- "$PYTHON" "$ROOT/tests/fakes/gpu.py" memory 2>err
    [ "$(wc -l <truth)" = 2 ]
    grep -Eq 'no libcupti.so.11, .12 or .13 was found|CUPTI refuses' err
}

# parts DIR: a runtime of CUDA there
parts() {
    mkdir -p "$1"
    echo 'int part_of_cuda;' | "${CC:-cc}" -shared -fPIC -xc -o "$1/libcudart.so.12" -
}

@test "gpu: CUPTI is found beside the CUDA that the program has: packages for Python, conda, a toolkit" {
    local way at
    mkdir lib
    cp "$BATS_FILE_TMPDIR/lib/libcuda.so.1" lib
    for way in nvidia/cuda_runtime/lib:nvidia/cuda_cupti/lib nvidia/cu13/lib:nvidia/cu13/lib cuda/lib64:cuda/extras/CUPTI/lib64; do
        parts "$PWD/${way%:*}"
        at=$PWD/${way#*:}
        mkdir -p "$at"
        "${CC:-cc}" -shared -fPIC -O1 -D_GNU_SOURCE -Wl,-soname,libcupti.so.12 -o "$at/libcupti.so.12" "$ROOT/tests/fakes/cupti.c"
        rm -rf s truth
        LD_LIBRARY_PATH=$PWD/lib "$WPROF" record -o s --tier C --collect gpu,cpu -- \
            env LD_PRELOAD="$PWD/${way%:*}/libcudart.so.12" "$PYTHON" "$ROOT/tests/fakes/gpu.py" memory 2>err
        as_it_ran
    done
}

# The device idles while the program loads, which it times itself; tier A sees that to the microsecond.
blame() {
    rm -rf s truth
    LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib "$WPROF" -q record -o s --tier A --collect gpu,cpu,offcpu -- \
        "$PYTHON" "$ROOT/tests/fakes/gpu.py" loading >loaded || return 1
    "$WPROF" show --gpu --json --top 0 s 2>/dev/null >shown.json
    "$PYTHON" - <<'EOF'
import json
d = json.load(open("shown.json"))
ran = sorted(tuple(map(int, t.split()[3:5])) for t in open("truth"))
idle = sum(b[0] - a[1] for a, b in zip(ran, ran[1:]))
device = d["devices"][0]
assert abs(device["idle_ns"] - idle) <= idle / 1000, (device["idle_ns"], idle)
assert device["busy_ns"] == sum(e - b for b, e in ran)
loaded = int(open("loaded").read())
blamed = sum(r["ns"] for r in d["idle_blame"] if ";load;" in (r["stack"] or "") + ";")
assert abs(blamed - loaded) <= loaded / 100, (blamed, loaded, d["idle_blame"])
EOF
}

@test "gpu: why the device was idle: what the program says it did meanwhile, to 1 %; the flame graph names its lines" {
    need_tier_a
    in_three blame
    "$WPROF" export --format folded -m gpu s >folded
    grep -q 'loading (gpu.py).*;forward (gpu.py);launch (gpu.py);.*;CUDA:forward ' folded
    [ "$(awk '{ n += $NF } END { print n }' folded)" = 14000000 ] # seven of 2 ms
}

# What runs already: the program waits for the file `go`, which comes once recording has begun.
@test "gpu: attached by uprobes: calls are counted and have stacks, and that times are missing is said" {
    need_tier_a
    unset FAKE_CUPTI_TRUTH
    LD_LIBRARY_PATH=$BATS_FILE_TMPDIR/lib "$PYTHON" "$ROOT/tests/fakes/gpu.py" attached 3>&- &
    pid=$!
    until grep -q libcuda.so "/proc/$pid/maps"; do sleep 0.05; done
    "$WPROF" record -o s --tier A --collect gpu,cpu -p "$pid" 2>err 3>&- &
    recorder=$!
    until grep -q '"start_ts": [1-9]' s/meta.json 2>/dev/null; do
        kill -0 $recorder || { cat err; return 1; }
        sleep 0.05
    done
    touch go
    wait $pid
    wait $recorder
    events
    [ "$(counter calls.cuLaunchKernel)" = 50 ]
    [ "$(counter calls.cudaLaunchKernel)" = 10 ] # __cudaLaunchKernel, as nvcc makes it since CUDA 13
    [ "$(counter calls.cuStreamSynchronize)" = 20 ]
    grep -q '^driver|cuLaunchKernel|.*attached (gpu.py:.*launch (gpu.py:.*cuLaunchKernel$' events
    not grep -q '^kernel' events
    grep -q 'times of kernels are missing' s/meta.json
    grep -q 'times of kernels are missing' err
    "$WPROF" show --gpu --json s 2>/dev/null | "$PYTHON" -c 'import json, sys
calls = {r["name"]: r["count"] for r in json.load(sys.stdin)["calls"]}
assert calls["cuLaunchKernel"] == 50 and calls["cudaLaunchKernel"] == 10 and calls["cuStreamSynchronize"] == 20, calls'
    "$WPROF" show --gpu s 2>&1 >/dev/null | grep -q 'calls are counted, times of kernels are missing'
    "$WPROF" show --metrics --json s 2>/dev/null | "$PYTHON" -c 'import json, sys
rows = [r for r in json.load(sys.stdin)["metrics"] if r["metric"] == "gpu.launches"]
assert rows and rows[0]["total"] == 50, rows'
}

@test "gpu: the library shows three symbols, links nothing that aborts, and needs no C library newer than 2.17" {
    need_command objdump
    objdump -T "$BUILD/libwprof-cuda.so" >table
    [ "$(awk '$4 == ".text" { print $NF }' table | sort | tr '\n' ' ')" = \
        "InitializeInjection InitializeInjectionNvtx InitializeInjectionNvtx2 " ]
    not grep -Eq '[^_]abort|__assert|exit$|[^_]malloc|raise' <(grep UND table | grep -v __cxa_atexit)
    newest=$(grep -o 'GLIBC_[0-9.]*' table | sort -Vu | tail -1)
    [ "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -1)" = GLIBC_2.17 ]
    # until 2.30 a loader looks for a function only in the library that the link noted it to be in
    readelf -VW --dyn-syms "$BUILD/libwprof-cuda.so" >elf
    "$PYTHON" - elf <<'END'
import re, sys
text = open(sys.argv[1]).read()
needs, file = {}, None
for line in text.splitlines():
    m = re.search(r"Version: 1 +File: (\S+)", line)
    file = m.group(1) if m else file
    m = re.search(r"Name: (\S+) +Flags: \S+ +Version: (\d+)", line)
    if m:
        needs[m.group(2)] = file
was = {"libdl.so.2": "dlopen dlsym dladdr1 dladdr dlclose dlerror",
       "libpthread.so.0": "pthread_create pthread_detach pthread_sigmask pthread_join sem_post sem_wait",
       "ld-linux-x86-64.so.2": "__tls_get_addr"}
home = {f: lib for lib, fs in was.items() for f in fs.split()}
seen = re.findall(r"UND (\w+)@GLIBC\S+ \((\d+)\)", text)
assert {f for f, v in seen} >= {"dlopen", "pthread_create"}, seen
for f, v in seen:
    assert needs[v] == home.get(f, "libc.so.6"), (f, needs[v])
END
}
