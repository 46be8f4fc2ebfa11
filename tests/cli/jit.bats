#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Code that is compiled while the program runs: Node.js, Java, oneDNN, CPython's trampolines, perf maps of any kind.
load common

setup_file() {
    build_workloads
}

setup() {
    need_tier_a
    cd "$BATS_TEST_TMPDIR"
}

teardown() {
    [ -z "$java_pid" ] || kill "$java_pid" 2>/dev/null || true
}

rec() {
    rm -rf s
    "$WPROF" record -q -F 499 -o s "$@"
    rm -f "/tmp/perf-$(python3 -c 'import json; print(json.load(open("s/meta.json"))["pid"])').map" # run-times leave theirs
}

# has_language NAME
has_language() {
    "$WPROF" show --json s | python3 -c 'import json,sys; sys.exit(sys.argv[1] not in json.load(sys.stdin)["languages"])' "$1"
}

# notes: the session's, one a line
notes() {
    "$WPROF" show --json s | python3 -c 'import json,sys; print("\n".join(json.load(sys.stdin)["notes"]))'
}

# split_70 A B: stacks with A are 70 % of those with A or B, within 4 standard errors and what starting takes.
split_70() {
    local a b
    a=$(samples s "$1") b=$(samples s "$2")
    [ $((a + b)) -gt 60 ] || { echo "$a and $b samples"; return 1; }
    holds "($a / ($a + $b) - 0.7) ^ 2 < (4 * sqrt(0.21 / ($a + $b)) + 0.01) ^ 2"
}

# share_deep N REGEX WITHIN: of the samples whose stack matches WITHIN, the share with N frames or more that match REGEX.
share_deep() {
    folded s | grep "$3" | N=$1 RE=$2 awk '
        { n = $NF; all += n; if (gsub(ENVIRON["RE"], "") >= ENVIRON["N"]) hit += n }
        END { print all ? hit / all : 0 }'
}

node_rec() {
    need_command node
    rec --jit-names "$@"
}

@test "node: 70/30, whole stacks from main to leaf, with the file" {
    node_rec -- node "$ROOT/tests/workloads/known.js" split 1.3
    run ! ls isolate-*
    split_70 'main \(known.js\);.*hot_a \(known.js\);leaf_a \(known.js\)' 'main \(known.js\);.*hot_b \(known.js\);leaf_b \(known.js\)'
    [ "$(samples s 'hot_a.*leaf_b|hot_b.*leaf_a')" = 0 ]
    holds "$(share s '^node;_start;.*main \(known.js\);' 'leaf_[ab]') > 0.99"
    whole s 0.01
    has_language javascript
    holds "$(quality s scanned) <= 0.02 * $(samples s)"
}

@test "node: tier B gives the same" {
    node_rec --tier B -- node "$ROOT/tests/workloads/known.js" split 1.3
    split_70 'main \(known.js\);.*hot_a \(known.js\);leaf_a \(known.js\)' 'main \(known.js\);.*hot_b \(known.js\);leaf_b \(known.js\)'
    holds "$(quality s unwound_share) >= 0.98"
}

@test "node: recursion has its depth" {
    node_rec -- node "$ROOT/tests/workloads/known.js" deep 1
    holds "$(share_deep 101 'descend \(known.js\)' leaf_a) > 0.95"
    whole s 0.01
}

@test "node: native functions, callbacks from built-in ones, the collector, worker threads" {
    node_rec -- node "$ROOT/tests/workloads/known.js" zlib 1
    holds "$(share s 'main \(known.js\);.*deflate' 'deflate') > 0.98"
    [ "$(samples s 'main \(known.js\);.*pack \(known.js\);.*deflate')" -gt 20 ] # until it is inlined into main
    whole s 0.01
    node_rec -- node "$ROOT/tests/workloads/known.js" sort 1
    holds "$(share s 'main \(known.js\);.*sort \(known.js\);Builtins_ArrayPrototypeSort;.*\(anonymous:[0-9]+:[0-9]+\) \(known.js\);leaf_a' 'leaf_a') > 0.95"
    whole s 0.01
    node_rec -- node "$ROOT/tests/workloads/known.js" garbage 1
    whole s 0.01
    # small built-in functions may hide their caller
    holds "$(share s 'main \(known.js\)' 'top level\) \(known.js\);.') > 0.85"
    node_rec -- node "$ROOT/tests/workloads/known.js" workers 1.5
    split_70 'start_thread;.*Worker.*main \(known.js\);.*hot_a' 'start_thread;.*Worker.*main \(known.js\);.*hot_b'
    whole s 0.01
}

@test "node: without names the session says what would give them; the stacks are whole all the same" {
    need_command node
    rec -- node "$ROOT/tests/workloads/known.js" split 1
    notes | grep -q 'record --jit-names'
    whole s 0.01
    [ "$(samples s 'leaf_a')" = 0 ]
}

@test "the environment is changed only where that is asked for, and added to" {
    run -0 "$WPROF" record -q -o s -- sh -c 'echo "<$NODE_OPTIONS><$JAVA_TOOL_OPTIONS><$ONEDNN_JIT_PROFILE>"'
    [ "$output" = '<><><>' ]
    rm -rf s
    NODE_OPTIONS=--trace-warnings ONEDNN_JIT_PROFILE=1 run -0 "$WPROF" record -q --jit-names -o s -- \
        sh -c 'echo "<$NODE_OPTIONS><$JAVA_TOOL_OPTIONS><$ONEDNN_JIT_PROFILE><$DNNL_JIT_PROFILE>"'
    [ "$output" = '<--perf-basic-prof-only-functions --interpreted-frames-native-stack --trace-warnings><><3><2>' ]
    rm -rf s
    JAVA_TOOL_OPTIONS=-Xmx64m run -0 "$WPROF" record -q --jvm -o s -- sh -c 'echo "<$NODE_OPTIONS><${JAVA_TOOL_OPTIONS##*+}>"'
    [ "$output" = '<><DumpPerfMapAtExit -Xmx64m>' ]
}

# The workload's class, made once a file; java must be able to write a perf map.
need_java() {
    need_command java
    need_command javac
    local version
    version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
    [ "${version:-0}" -ge 17 ] || skip "needs JDK 17"
    CLASSES=$BATS_FILE_TMPDIR/classes
    [ -e "$CLASSES/Known.class" ] || javac -d "$CLASSES" "$ROOT/tests/workloads/Known.java"
}

# After a second or two leafA is inlined into hotA and has no frame of its own any more; before, hotA may be interpreted
# and have no name. What compilers leave to the interpreter on a busy machine is no longer than one recording: in_three.
java_70() {
    split_70 'Known.(hot|leaf)A' 'Known.(hot|leaf)B'
}

java_rec_70() {
    rec "$@" && java_70
}

# warm PID: it has had its second of CPU time.
warm() {
    local i
    for ((i = 0; i < 600; i++)); do
        [ "$(awk '{ print $14 + $15 }' "/proc/$1/stat")" -lt 130 ] || return 0
        sleep 0.1
    done
}

@test "java --jvm: 70/30, whole stacks, by name, of a JVM that ends by itself" {
    need_java
    in_three java_rec_70 --jvm -- java -cp "$CLASSES" Known split 2.5
    [ "$(samples s 'hotA;Known.leafB|hotB;Known.leafA')" = 0 ]
    holds "$(share s '^java;clone3?;start_thread;.*JavaMain;.*JavaCalls' 'Known.leaf[AB]') > 0.98"
    whole s 0.01
    has_language java
    holds "$(quality s scanned) <= 0.02 * $(samples s)"
    [ -z "$(notes | grep guessed)" ]
}

@test "java --jvm: a JVM that goes on is asked, by the command's recording and by -p" {
    need_java
    in_three java_rec_70 --jvm --duration 3s -- java -cp "$CLASSES" Known split 3.5
    java -XX:+PreserveFramePointer -cp "$CLASSES" Known split 60 3>&- &
    java_pid=$!
    warm "$java_pid"
    in_three java_rec_70 --jvm --duration 2s -p "$java_pid"
    kill -0 "$java_pid"
    [ ! -e "/tmp/.attach_pid$java_pid" ]
}

@test "java --jvm: one that ends while it is recorded by -p has the names of its beginning" {
    need_java
    java -XX:+PreserveFramePointer -cp "$CLASSES" Known split 4 3>&- &
    java_pid=$!
    warm "$java_pid"
    rec --jvm -p "$java_pid"
    java_pid=
    holds "$(samples s 'Known.(hot|leaf)[AB]') > 20" # code that was compiled later has no name
}

@test "java --jvm: recursion, native functions, threads by their names" {
    need_java
    rec --jvm -- java -cp "$CLASSES" Known deep 2
    # compiled, a frame holds two calls: one is inlined into the other
    holds "$(share_deep 50 'Known.descend|Interpreter' leafA) > 0.95"
    whole s 0.01
    rec --jvm -- java -cp "$CLASSES" Known zip 1.5
    holds "$(share s 'JavaCalls.*(Interpreter|Known.pack|Deflater.deflate).*;Java_java_util_zip_Deflater_deflate' 'Deflater_deflate') > 0.98"
    whole s 0.01
    rec --jvm -- java -cp "$CLASSES" Known threads 1
    for i in 0 1 2; do
        holds "$(samples s "^java;worker-$i;.*Known.leaf[AB]") > 20"
    done
    whole s 0.01
}

@test "java --jvm: in pid and mount namespaces with a /tmp that ends with them" {
    need_java
    need_command unshare
    rec --jvm -- unshare -m -p -f --mount-proc sh -c '
        mount -t tmpfs none /mnt && cp "$1"/Known.class /mnt/ && mount -t tmpfs none /tmp && exec java -cp /mnt Known split 2' - "$CLASSES"
    java_70
}

@test "java without frame pointers: what was guessed is counted, with what would help" {
    need_java
    in_three java_rec_70 -- java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp "$CLASSES" Known split 2
    holds "$(share s '^java;clone3?;start_thread;.*JavaMain;.*JavaCalls' 'Known.leaf[AB]') > 0.95"
    rec -- java -cp "$CLASSES" Known deep 1.5
    holds "$(quality s scanned) > 50"
    notes | grep -q 'guessed.*PreserveFramePointer'
    notes | grep -q 'record --jvm'
}

@test "java: one that takes no signal is left alone, and said" {
    need_java
    java -Xrs -XX:+PreserveFramePointer -cp "$CLASSES" Known split 60 3>&- &
    java_pid=$!
    warm "$java_pid"
    rec --jvm --duration 500ms -p "$java_pid"
    kill -0 "$java_pid"
    notes | grep -q 'no names of the Java functions.*-Xrs'
}

@test "oneDNN: its kernels by name" {
    need_python torch
    cat >conv.py <<'EOS'
import time, torch
torch.set_num_threads(1)
m, x = torch.nn.Conv2d(64, 64, 3), torch.randn(8, 64, 56, 56)
end = time.time() + 1.2
with torch.no_grad():
    while time.time() < end:
        m(x)
EOS
    rec -- "$PYTHON" conv.py
    [ "$(samples s '\[jit\]')" -gt 50 ] || skip "this torch runs no oneDNN code made at run time"
    notes | grep -q 'record --jit-names'
    rec --jit-names -- "$PYTHON" conv.py
    holds "$(share s 'Conv2d.forward.*jit_[a-z0-9_]+' 'Conv2d.forward.*(jit_|\[jit\])') > 0.95"
    whole s 0.01
}

@test "python -X perf: its trampolines are no frames" {
    local p python=
    for p in python3.14 python3.13 python3.12 python3 ~/.pyenv/versions/3.1[2-4]*/bin/python3; do
        "$p" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && python=$p && break
    done
    [ -n "$python" ] || skip "needs Python 3.12"
    rec -- env PYTHONPERFSUPPORT=1 "$python" "$ROOT/tests/workloads/split.py" 1.3
    holds "$(share s '<module> \(split.py\);.*slow_a \(split.py\)' 'slow_[ab]') > 0.6"
    [ "$(samples s 'py::|\[jit\]')" = 0 ]
    holds "$(quality s python_share) >= 0.98"
    whole s 0.01
}

@test "a perf map of 200 MB is read, to its last line" {
    rec -- "$WORKLOADS/jit" 700 /tmp 2000000
    holds "$(share s 'main;jit_loop;burn_from_jit' burn_from_jit) > 0.97"
}

@test "a perf map of another user is not read" {
    rec -- "$WORKLOADS/jit" 700 /tmp 0 65534
    holds "$(samples s burn_from_jit) > 100"
    [ "$(samples s jit_loop)" = 0 ]
}
