#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Metrics against programs that know what they used.
load common

setup_file() {
    build_workloads
}

setup() {
    cd "$BATS_TEST_TMPDIR"
}

# used DIR NAME KEY: of the process NAME in `show --metrics`.
used() {
    "$WPROF" show --json --metrics "$1" 2>/dev/null | python3 -c '
import json, sys
rows = [r for r in json.load(sys.stdin)["used_by_processes"] if r["name"] == sys.argv[1]]
print(rows[0][sys.argv[2]])' "$2" "$3"
}

# metric DIR OF METRIC FIELD: summed over CPUs and tasks; none: not measured.
metric() {
    "$WPROF" show --json --metrics "$1" 2>/dev/null | python3 -c '
import json, sys
rows = [r for r in json.load(sys.stdin)["metrics"] if r["of"] == sys.argv[1] and r["metric"] == sys.argv[2]]
print(sum(r[sys.argv[3]] for r in rows) if rows else "none")' "$2" "$3" "$4"
}

# own KEY: what the program said itself.
own() {
    awk -v key="$1" '$1 == key { print $2 }' out
}

record() {
    rm -rf s
    "$WPROF" -q record -o s $TIER --collect "${COLLECT:-metrics}" -- "$@" >out
}

# cpu_times user|system: what it says, and what its end takes.
cpu_times() {
    record "$WORKLOADS/uses" "$1" 1 || return 1
    near "$(used s uses user_ns) / 1e9" "$(own user)" 0.02 0.02 || return 1
    near "$(used s uses system_ns) / 1e9" "$(own system)" 0.02 0.02
}

@test "metrics: CPU time in user mode, and next to none in the kernel" {
    in_three cpu_times user
}

@test "metrics: CPU time in the kernel" {
    in_three cpu_times system
}

@test "metrics: the same in tier C, and under the cpu collector's eyes" {
    TIER='--tier C' COLLECT=cpu,metrics in_three cpu_times user
}

@test "metrics: page faults" {
    record "$WORKLOADS/uses" faults 50000
    near "$(used s uses minor_faults)" "$(own minor)" 0.02
    holds "$(used s uses minor_faults) >= 50000"
}

@test "metrics: resident memory, threads" {
    record "$WORKLOADS/uses" rss 100
    near "$(used s uses max_rss)" "$(own maxrss)" 0.02 1e6
    record "$WORKLOADS/uses" threads 20
    [ "$(used s uses max_threads)" = 21 ]
}

@test "metrics: voluntary switches" {
    record "$WORKLOADS/uses" sleeps 2000
    near "$(used s uses voluntary)" "$(own voluntary)" 0.02
    holds "$(used s uses voluntary) >= 0.9 * 2000" # of a sleep that is over before the thread has left its CPU there is none
}

@test "metrics: bytes written and read, to storage and by calls" {
    case $(stat -f -c %T .) in
    tmpfs | ramfs | overlayfs) cd "$(mktemp -d -p "$BUILD")" ;; # no storage is behind it
    esac
    record "$WORKLOADS/uses" write f 64
    near "$(used s uses written_bytes)" $((64 << 20)) 0.02
    near "$(used s uses out_bytes)" $((64 << 20)) 0.02
    record "$WORKLOADS/uses" read f
    near "$(used s uses in_bytes)" $((64 << 20)) 0.02
    if holds "$(own read) > 0"; then # what the kernel says
        near "$(used s uses read_bytes)" "$(own read)" 0.02
    fi
    rm -f f
}

@test "metrics: run-queue delay of two on one CPU" {
    need_command taskset
    record taskset -c 0 sh -c "$WORKLOADS/uses user 1 & $WORKLOADS/uses user 1; wait"
    # Each waits while the other one runs; other work can only add to it.
    holds "$(metric s process sched.delay total) / 1e9 >= 1.5"
}

@test "metrics: the machine's figures are there, what can't be read is said" {
    record "$WORKLOADS/uses" sleeps 10
    holds "$(metric s machine cpu.user total) >= 0"
    holds "$(metric s machine memory.available last) > 0"
    holds "$(metric s machine sched.oncpu readings) > 0"
    holds "$(metric s machine switches total) > 0"
    if [ -r /proc/pressure/cpu ]; then
        holds "$(metric s machine pressure.cpu total) >= 0"
    else
        [ "$(metric s machine pressure.cpu total)" = none ]
        [[ $("$WPROF" show s) == *"not available"*"PSI"* ]]
    fi
    if [ ! -e /proc/schedstat ]; then
        [ "$(metric s machine sched.delay total)" = none ]
        [[ $("$WPROF" show s) == *"not available"*"run-queue delay of the machine"* ]]
    fi
}

# throttled nr_throttled|time FILE: of a copy of cpu.stat; times in ns.
throttled() {
    awk -v key="$1" '$1 == key || key == "time" && $1 == "throttled_time" { print $2 }
        key == "time" && $1 == "throttled_usec" { printf "%.0f\n", $2 * 1000 }' "$2"
}

# A new control group with a limit of a fifth of a CPU: in $g.
limited_group() {
    [ "$(id -u)" = 0 ] || skip "needs root (control groups)"
    if g=/sys/fs/cgroup/wprof-test-$$ && [ -e /sys/fs/cgroup/cgroup.controllers ] && mkdir "$g" 2>/dev/null; then
        [ -e "$g/cpu.max" ] || { rmdir "$g"; skip "the CPU controller is not to be had"; }
        echo '20000 100000' >"$g/cpu.max"
    elif g=/sys/fs/cgroup/cpu/wprof-test-$$ && mkdir "$g" 2>/dev/null; then
        echo 100000 >"$g/cpu.cfs_period_us"
        echo 20000 >"$g/cpu.cfs_quota_us"
    else
        skip "control groups can't be made here"
    fi
}

@test "metrics: a control group with a CPU limit is throttled" {
    local g
    limited_group
    # The group itself, and all that it starts, wprof too: what is recorded lies between what the program sees and all.
    sh -c "echo \$\$ >$g/cgroup.procs; exec '$WPROF' -q record -o s --collect metrics -- \
        sh -c 'cat $g/cpu.stat >before; $WORKLOADS/uses user 0.3 >out; cat $g/cpu.stat >after'"
    cat "$g/cpu.stat" >all
    rmdir "$g" || true
    near "$(metric s cgroup cgroup.cpu.limit max)" 0.2 0.001
    holds "$(throttled nr_throttled after) > $(throttled nr_throttled before)" || skip "others leave no CPU time to take away"
    for what in throttled_periods:nr_throttled throttled:time; do
        echo "$what"
        got=$(metric s cgroup "cgroup.${what%:*}" total) what=${what#*:}
        holds "$got >= $(throttled "$what" after) - $(throttled "$what" before) && $got <= $(throttled "$what" all)"
    done
}

@test "metrics: the control group that a program enters by itself" {
    local g
    limited_group
    "$WPROF" -q record -o s --collect metrics -- sh -c "echo \$\$ >$g/cgroup.procs; exec $WORKLOADS/uses user 0.4"
    rmdir "$g" || true
    near "$(metric s cgroup cgroup.cpu.limit max)" 0.2 0.001
    holds "$(metric s cgroup cgroup.throttled_periods total) > 0"
}

@test "show --metrics: tables, and a warning where there are none" {
    record "$WORKLOADS/uses" sleeps 10
    run -0 "$WPROF" show --metrics s
    [[ $output == *"Machine"*"memory available"*"Processes"*"uses"*"Threads"* ]]
    rm -rf s
    "$WPROF" -q record -o s --without metrics --tier C -- sleep 0.1
    run -0 --separate-stderr "$WPROF" show --metrics s
    [ -z "$output" ]
    [[ $stderr == *"no metrics were recorded"* ]]
    run -2 "$WPROF" show --metrics --tree s
}

@test "metrics: exports have their units" {
    record "$WORKLOADS/uses" user 0.3
    "$WPROF" export --format chrome s 2>/dev/null | python3 -c '
import json, sys
names = {e["name"] for e in json.load(sys.stdin)["traceEvents"] if e["ph"] == "C"}
assert {"CPU user [%]", "resident memory [bytes]", "read by calls [bytes/s]"} <= names, names'
    "$WPROF" export --format perfetto -o t s 2>/dev/null
    [[ $(python3 "$ROOT/tests/tools/perfetto.py" t) == *'CPU user [%]'* ]]
}

@test "metrics: cache misses and IPC, or the word that there is no PMU" {
    record "$WORKLOADS/uses" user 1
    if "$WPROF" events | awk '$1 == "cycles" { exit $3 != "yes" }'; then
        holds "$(metric s thread cache.ipc mean) > 0.05"
        near "$(metric s thread cache.instructions total)" "$(metric s process cache.tree.instructions total)" 0.1
    else
        [ "$(metric s thread cache.ipc mean)" = none ]
        [[ $("$WPROF" show s) == *"metrics on: not available: no PMU"* ]]
    fi
}

# on_cpu CPU: ns that threads ran there.
on_cpu() {
    "$WPROF" show --json --metrics s 2>/dev/null | python3 -c '
import json, sys
print(sum(r["total"] for r in json.load(sys.stdin)["metrics"]
          if r["of"] == "thread" and r["metric"] == "sched.oncpu" and r["cpu"] == int(sys.argv[1])))' "$1"
}

# Where it starts and ends, and what a hypervisor takes, is not in its own figures.
hops() {
    record "$WORKLOADS/uses" hop 1 || return 1
    near "$(on_cpu 0)" "$(own cpu0)" 0.03 20e6 && near "$(on_cpu 1)" "$(own cpu1)" 0.03 20e6
}

on_one() {
    COLLECT=cpu,offcpu,metrics record taskset -c 1 "$WORKLOADS/uses" user 0.5 || return 1
    near "$(on_cpu 1) / 1e9" "$(own user) + $(own system)" 0.02 0.02
}

@test "metrics: on which CPU a thread ran (tier A)" {
    need_tier_a
    need_command taskset
    [ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
    in_three hops
    in_three on_one
    # but for what it takes to get there
    "$WPROF" show --metrics s | grep -E 'uses.*[^0-9]1: (9[0-9]|100) %'
}

from_outside() {
    record "$WORKLOADS/uses" user 1 || return 1
    near "$(metric s thread sched.oncpu total) / 1e9" "$(own user) + $(own system)" 0.02 0.02
}

@test "metrics: which CPU isn't known in tiers B and C, and that is said" {
    TIER='--tier C' COLLECT=cpu,metrics in_three from_outside
    [[ $("$WPROF" show s) == *"the CPUs that threads ran on (needs tier A)"* ]]
}

@test "metrics: processes that end between two looks (tier A)" {
    need_tier_a
    record sh -c "for i in 1 2 3 4 5 6 7 8 9 10; do $WORKLOADS/uses user 0.05; done; true" # what each used is in ./out
    "$WPROF" show --json --metrics --top 0 s 2>/dev/null | python3 -c '
import json, sys
rows = [r for r in json.load(sys.stdin)["used_by_processes"] if r["name"] == "uses"]
own = [line.split() for line in open("out")]
times = [float(v) for k, v in own if k == "user"], [float(v) for k, v in own if k == "system"]
assert len(rows) == 10, rows
for r, used in zip(sorted(rows, key=lambda r: r["user_ns"] + r["system_ns"]), sorted(map(sum, zip(*times)))):
    assert used - 0.002 <= (r["user_ns"] + r["system_ns"]) / 1e9 <= used + 0.02, (r, used) # its end takes time, too
    assert r["minor_faults"] >= min(int(v) for k, v in own if k == "minor") and r["max_rss"], r'
}

# gpu METRIC NUMBER: the mean of a device's figure.
gpu() {
    "$WPROF" show --json --metrics s 2>/dev/null | python3 -c '
import json, sys
rows = [r for r in json.load(sys.stdin)["metrics"] if r["of"] == "gpu" and r["metric"] == sys.argv[1] and r["cpu"] == int(sys.argv[2])]
print(round(rows[0]["mean"], 6) if rows else "none") # means are sums divided' "$1" "$2"
}

@test "metrics: of GPUs, by NVIDIA's library (here one of ours); what a device does not tell is no zero" {
    mkdir lib
    "${CC:-cc}" -shared -fPIC -O1 -Wall -o lib/libnvidia-ml.so.1 "$ROOT/tests/fakes/nvml.c"
    LD_LIBRARY_PATH=$PWD/lib "$WPROF" -q record -o s --tier C --collect metrics -- sleep 1
    holds "$(gpu gpu.busy 0) == 0.97 && int($(gpu gpu.memory.busy 0) * 100 + 0.5) == 40"
    [ "$(gpu gpu.busy 1)" = none ]
    holds "$(gpu gpu.memory 1) == 2 * 2^30 && $(gpu gpu.clock 0) == 1410e6 && $(gpu gpu.memory.clock 0) == 1593e6"
    holds "$(gpu gpu.power 1) == 250000 && $(gpu gpu.temperature 1) == 61"
    holds "$(gpu gpu.slow.power 0) == 1 && $(gpu gpu.slow.power 1) == 0 && $(gpu gpu.slow.heat 0) == 0"
    holds "$(gpu gpu.slow.hardware 0) == 0 && $(gpu gpu.slow.hardware 1) == 0"
    holds "$(gpu gpu.pcie.sent 0) == 2e6 && $(gpu gpu.pcie.received 0) == 3e6"
    "$WPROF" show --metrics s 2>/dev/null | grep -q 'power: GPU 0 .*250 W'
}

@test "metrics: a library of the driver's that does not work is said, one that hangs holds nobody up" {
    mkdir lib
    "${CC:-cc}" -shared -fPIC -O1 -Wall -o lib/libnvidia-ml.so.1 "$ROOT/tests/fakes/nvml.c"
    LD_LIBRARY_PATH=$PWD/lib FAKE_NVML=mismatch "$WPROF" -q record -o s --tier C --collect metrics -- sleep 1
    grep -q 'GPUs (NVIDIA.s management library: Driver/library version mismatch)' s/meta.json
    LD_LIBRARY_PATH=$PWD/lib FAKE_NVML=hang "$WPROF" -q record -o t --tier C --collect metrics -- sleep 0.3
    grep -q '"state": "sealed"' t/meta.json
    grep -q 'GPUs (NVIDIA.s management library does not answer)' t/meta.json
    LD_LIBRARY_PATH=$PWD/lib FAKE_NVML=lost "$WPROF" -q record -o u --tier C --collect metrics -- sleep 1
    grep -q 'GPUs (GPU 1: lost, it has fallen off the bus)' u/meta.json
}
