#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Programs whose profile is known beforehand (tests/workloads), recorded for real.
load common

setup_file() {
    build_workloads
}

setup() {
    need_tier_a
    cd "$BATS_TEST_TMPDIR"
}

# record NAME ARGS...: a session in ./s of the workload (or of a command by path).
record() {
    local prog=$1
    shift
    case $prog in
    /*) ;;
    *) prog=$WORKLOADS/$prog ;;
    esac
    rm -rf s
    "$WPROF" record -q -F 499 -o s -- "$prog" "$@"
}

# Does /usr/lib/debug have its symbols, by build id?
has_debug_file() {
    local id
    id=$(readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p')
    [ -n "$id" ] && [ -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ]
}

@test "split: 70/30 within the binomial error, the right pairs only" {
    for v in split split-fp; do
        record $v 1.5
        n=$(samples s)
        [ "$n" -gt 500 ]
        a=$(share s 'hot_a;leaf_a|hot_a$|hot_a;' 'hot_|leaf_')
        # 4 standard errors of 0.7 in n samples, plus what the loop takes
        holds "($a - 0.7) ^ 2 < (4 * sqrt(0.21 / $n) + 0.005) ^ 2"
        [ "$(samples s 'hot_a;leaf_b|hot_b;leaf_a')" = 0 ]
        holds "$(share s 'main;hot_[ab]' 'hot_|leaf_') > 0.99"
        whole s
        holds "$(quality s unknown_share) < 0.01"
    done
}

@test "recursion: 300 deep is whole, 2000 deep says it is truncated" {
    for v in recurse recurse-fp; do
        record $v 300 0.5
        whole s
        # without the process's own name, which is the first of a line
        deep=$(folded s | grep 'bottom' | sed 's/^[^;]*;//' | grep -o 'recurse;' | wc -l)
        lines=$(folded s | grep -c 'bottom')
        holds "$deep / $lines == 300"
        record $v 2000 0.5
        holds "$(share s '\[truncated\]' bottom) > 0.99"
        holds "$(quality s truncated) > 100"
    done
}

@test "stack realignment, variable-length arrays, a signal handler on the stack" {
    for v in odd_frames odd_frames-fp; do
        record $v drap 0.5
        holds "$(share s 'main;realigned;leaf' ';leaf') > 0.97"
        whole s
        record $v vla 0.5
        holds "$(share s 'main;sorts_vla;.*qsort.*compare_slowly;leaf' ';leaf') > 0.96"
        whole s
        record $v signal 0.7
        holds "$(share s 'main;interrupted_work;.*handler;leaf' 'handler;leaf') > 0.99"
        holds "$(samples s handler) > 50"
        whole s
    done
}

@test "160 threads: each is seen, by its name" {
    record threads 160 25
    names=$(folded s | grep -oE '(^|;)worker-[0-9]+;' | sort -u | wc -l)
    holds "$names >= 158"
    holds "$(share s 'work' 'worker-') > 0.9"
    whole s
}

@test "a main thread that ends first" {
    record threads 4 300 leave
    holds "$(samples s 'worker-[0-3];.*work') > 300"
    whole s
}

# What isn't churn_work() is the kernel's own work at fork, exec and exit, more of it on a busy machine.
resolved() {
    holds "$(quality s unwound_share) >= 0.95"
    holds "$(quality s unknown_share) <= 0.05"
    holds "$(share s 'main;churn_work') >= 0.8"
}

@test "100 processes of 30 ms: at least 95 % of the samples are resolved" {
    record fork_churn 100 30 exec
    holds "$(samples s) > 750"
    resolved
    record fork_churn 30 30
    resolved
}

@test "a library deleted while it runs" {
    cp "$WORKLOADS/plugin.so" gone.so
    record gone_library ./gone.so 1000
    holds "$(share s 'main;plugin_burn' 'main|plugin_burn') > 0.97"
    whole s
}

@test "JIT code with a frame pointer, named by its perf map" {
    record jit 1000
    holds "$(share s 'main;jit_loop;burn_from_jit' 'jit_loop|burn_from_jit') > 0.97"
    whole s
}

@test "a pid namespace with a perf map under the inner pid" {
    need_command unshare
    record "$(command -v unshare)" -p -f --mount-proc "$WORKLOADS/jit" 1000
    holds "$(share s 'main;jit_loop;burn_from_jit' burn_from_jit) > 0.97"
    holds "$(samples s burn_from_jit) > 300"
}

@test "a time namespace: times of samples and waits are of the session's clock, processes are there once" {
    need_command unshare
    unshare -T --monotonic 777 --boottime 5555 -f true 2>/dev/null || skip "needs time namespaces"
    for tier in A B; do
        rm -rf s
        unshare -T --monotonic 777 --boottime 5555 -f "$WPROF" record -q -F 499 --tier $tier -o s -- \
            "$WORKLOADS/split" 0.3
        [ "$(meta s tier)" = $tier ]
        "$WPROF" query --format csv s "SELECT 'n', count(*), min(ts), max(ts) FROM samples
            UNION ALL SELECT kind, count(*), min(ts), max(ts) FROM spans WHERE kind IN ('offcpu', 'runq') GROUP BY kind" >times
        python3 - "$(meta s duration_s)" <<'END'
import csv, sys
for what, n, first, last in list(csv.reader(open("times")))[1:]:
    assert int(n) and 0 <= int(first) <= int(last) <= (float(sys.argv[1]) + 1) * 1e9, (what, n, first, last)
END
        [ "$("$WPROF" query --format csv s "SELECT count(*) FROM nodes WHERE kind = 'process' AND label LIKE 'split (%'" | tail -1)" = 1 ]
    done
}

@test "chroot in a mount namespace of its own" {
    need_command unshare
    mkdir -p jail/bin
    cp "$WORKLOADS/split" jail/bin/jailed
    for lib in $(ldd "$WORKLOADS/split" | grep -oE '/[^ ]+'); do
        mkdir -p "jail$(dirname "$lib")"
        cp -L "$lib" "jail$lib"
    done
    record "$(command -v unshare)" -m sh -c 'mount -t tmpfs none jail/mnt 2>/dev/null; exec chroot jail /bin/jailed 1'
    holds "$(share s 'main;hot_a' 'hot_|leaf_') > 0.6"
    holds "$(share s 'main;hot_[ab]' 'hot_|leaf_') > 0.97"
}

@test "a program full of Python's words is not taken for Python" {
    record not_python 1
    holds "$(share s 'main;plain_work' 'main|plain_work') > 0.97"
    [ "$(quality s python)" = 0 ]
    whole s
}

@test "musl: a static program whose libc has no unwind tables" {
    [ -x "$WORKLOADS/split-musl" ] || skip "needs musl-gcc (musl-tools)"
    record split-musl 1
    holds "$(share s 'main;hot_[ab]' 'hot_|leaf_') > 0.97"
}

@test "Python -> C -> Python, in the right order" {
    need_python ctypes
    record "$PYTHON" "$ROOT/tests/workloads/order.py" 1.5 "$WORKLOADS/plugin.so"
    holds "$(samples s) > 400"
    holds "$(share s 'outer \(order.py\);.*plugin_call.*;callback \(order.py\);.*;key_function \(order.py\);spin \(order.py\)' 'spin \(order') > 0.99"
    whole s
}

@test "a Python thread, a generator, a native thread without Python, a fork without exec" {
    need_python ctypes
    record "$PYTHON" "$ROOT/tests/workloads/py_threads.py" 2 "$WORKLOADS/plugin.so"
    holds "$(samples s 'thread_function \(py_threads.py\);.*burn') > 200"
    holds "$(samples s 'uses_generator \(py_threads.py\);.*numbers') > 200"
    holds "$(samples s 'child \(py_threads.py\);.*burn') > 200"
    holds "$(samples s 'method \(py_threads.py\);.*inner') > 200"
    holds "$(share s 'py_threads.py' 'native_thread;plugin_burn') == 0"
    holds "$(samples s 'native_thread;plugin_burn') > 200"
    whole s
}

@test "the training example: workers' slow_transform in one stack with the interpreter's frames" {
    need_python torch
    rm -rf s
    "$WPROF" record -q -F 499 -o s -- "$PYTHON" "$ROOT/examples/train.py" --epochs 1
    holds "$(samples s 'slow_transform') > 200"
    holds "$(quality s unwound_share) >= 0.99"
    holds "$(quality s python_share) >= 0.99"
    # torch's libraries are stripped; these have names where their debug packages are (make deps)
    for f in "$(readlink -f "$PYTHON")" /lib/*/libc.so.6; do
        has_debug_file "$f" || continue
        name=$(basename "$f")
        # some bytes between functions have none
        holds "$(samples s "\\[${name//./\\.}\\+0x") <= 0.002 * $(samples s)"
    done
}

@test "a program that executes another: what was recorded before keeps its name" {
    need_command bash
    record "$(command -v bash)" -c 'for ((i = 0; i < 200000; i++)); do :; done; exec "$0" 1' "$WORKLOADS/split"
    holds "$(samples s '^bash;') > 20"
    holds "$(samples s '^split;.*hot_[ab]') > 300"
    [ "$(samples s '^split;.*execute_command')" = 0 ]
}
