#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# wprof dump: programs that hang in known ways.
load common

setup_file() {
    build_workloads
}

setup() {
    D=$(mktemp -d)
    chmod 755 "$D"
    cd "$D" || return
}

teardown() {
    [ -z "${TARGET-}" ] || kill -9 "$TARGET" 2>/dev/null || true
    cd / && rm -rf "$D"
}

# hang COMMAND...: starts it, in $TARGET, and waits for its "ready" and until its first thread sleeps.
hang() {
    "$@" >"$D/said" 3>&- &
    TARGET=$!
    disown
    for _ in $(seq 400); do
        if grep -q ready "$D/said" && grep -q 'State:.S' "/proc/$TARGET/status"; then
            sleep 0.1
            return 0
        fi
        sleep 0.05
    done
    echo "$1 did not get ready"
    return 1
}

# dumped 'EXPRESSION'...: each true of `dump --json -p $TARGET`: d the document, t[NAME] a thread by its name (the
# last of it), s(THREAD) its stack's functions joined by ;, a the answers' texts joined. Not all threads may hang at once.
dumped() {
    in_three dumped_now "$@" || { sleep 1 && dumped_now "$@"; }
}

dumped_now() {
    "$WPROF" dump --json -p "$TARGET" "${DUMP_OPTIONS[@]}" >"$D/dump" || return 1
    python3 - "$D/dump" "$@" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
p = {x["pid"]: x for x in d["processes"]}
t = {x["name"]: x for q in d["processes"] for x in q["threads"]}
kinds = [x["kind"] for x in d["answers"]]
a = "\n".join(x["text"] for x in d["answers"])
def s(thread): return ";".join(f["function"] or "?" for f in thread["stack"])
def on(thread): return [(x["tid"], x["by"]) for x in (thread["wait"] or {"on": []})["on"]]
bad = [e for e in sys.argv[2:] if not eval(e)]
for e in bad: print("does not hold:", e)
if bad: print(json.dumps(d["answers"], indent=1), json.dumps(t, indent=1))
sys.exit(1 if bad else 0)
END
}

# ---- locks ----

@test "two threads and two mutexes: both functions, and the circle" {
    hang "$WORKLOADS/wait_locks" abba
    dumped '"main;take_ab" in s(t["ab"]) or "start_thread;take_ab" in s(t["ab"])' '"take_ba" in s(t["ba"])' \
        'on(t["ab"]) == [(t["ba"]["tid"], "mutex")]' 'on(t["ba"]) == [(t["ab"]["tid"], "mutex")]' \
        'kinds == ["deadlock"]' '"take_ab" in a and "take_ba" in a' 'len(d["answers"][0]["path"]) == 2' \
        'all(x["whole"] for x in t.values())'
    "$WPROF" dump -p "$TARGET" >out
    grep -q "deadlock: ab\[$TARGET/[0-9]*\] waits for ba\[$TARGET/[0-9]*\] (mutex 0x" out
}

@test "memory that may not be read: whose, and what helps, once" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    need_command setpriv
    hang "$WORKLOADS/wait_locks" abba
    code=0
    setpriv --bounding-set=-sys_ptrace "$WPROF" dump -p "$TARGET" 2>err || code=$?
    [ $code = 3 ]
    grep -q "capabilities that this shell lacks: that needs CAP_SYS_PTRACE" err
    cp "$WPROF" wprof
    sleep 60 3>&- &
    other=$!
    code=0
    setpriv --reuid=31337 --clear-groups ./wprof dump -p "$TARGET" -p $other 2>err >out || code=$?
    kill $other
    [ $code = 3 ]
    grep -q "another user's: sudo, or CAP_SYS_PTRACE" err
    [ "$(cat out err | grep -c "another user's")" = 1 ]
}

@test "with too few descriptors for all threads it says so, and fails" {
    hang "$WORKLOADS/wait_locks" abba
    for n in 20 14; do
        code=0
        (ulimit -n $n && exec "$WPROF" dump -p "$TARGET") >out 2>err || code=$?
        [ $code = 3 ]
        grep -q "not all: the $n files that may be open here were too few" err
    done
    "$WPROF" dump -p "$TARGET" >out 2>err
    [ ! -s err ]
}

@test "a mutex that is locked twice" {
    hang "$WORKLOADS/wait_locks" self
    dumped 'kinds == ["deadlock"]' '"waits for itself" in a'
}

@test "a chain: those who wait stand together, and who keeps the lock is named" {
    hang "$WORKLOADS/wait_locks" chain 12
    dumped 'kinds == ["waits"]' 'd["answers"][0]["threads"] == 12' '"holder" in a and "is in forever" in a'
    "$WPROF" dump -p "$TARGET" >out
    grep -q '^12 threads:$' out
    grep -q '^and 4 more$' out
}

@test "robust, priority-inheriting and read-write locks have owners too" {
    for kind in robust pi rwlock; do
        hang "$WORKLOADS/wait_locks" $kind
        dumped 'on(t.get("waiter") or t["reader"])[0][0] == t["holder"]["tid"]'
        kill -9 "$TARGET"
    done
}

@test "joining a thread that runs" {
    hang "$WORKLOADS/wait_locks" join
    dumped 'on(t["wait_locks"]) == [(t["worker"]["tid"], "join")]' 't["worker"]["state"] == "R"' '"worker" in a'
}

# ---- processes ----

@test "the other end of a socket" {
    hang "$WORKLOADS/wait_locks" socket
    dumped 'len(p) == 2' 't["wait_locks"]["wait"]["on"][0]["pid"] == t["server"]["tid"]' \
        't["wait_locks"]["wait"]["on"][0]["by"] == "socket"' '"serve" in s(t["server"])' '"server" in a'
}

@test "a child that is waited for; --no-children names it without looking at it" {
    hang "$WORKLOADS/wait_locks" child
    dumped 't["wait_locks"]["wait"]["on"][0] == {"pid": t["slowchild"]["tid"], "tid": None, "by": "child"}' \
        '"slowchild" in a'
    DUMP_OPTIONS=(--no-children)
    dumped 'len(p) == 1' 'd["others"] == [{"pid": d["answers"][0]["path"][1]["pid"], "name": "slowchild"}]' '"isn'"'"'t in this dump" in a'
}

@test "a stopped process stays stopped" {
    hang "$WORKLOADS/wait_locks" abba
    kill -STOP "$TARGET"
    for _ in $(seq 50); do ! grep -q 'State:.T' "/proc/$TARGET/status" || break; sleep 0.05; done
    dumped 't["wait_locks"]["state"] == "T"' '"take_ab" in s(t["ab"])'
    grep -q 'State:.T' "/proc/$TARGET/status"
}

# ---- Python ----

@test "threading.Lock and RLock: who is inside with, and the circle" {
    need_python
    for kind in lock rlock; do
        hang "$PYTHON" "$ROOT/tests/workloads/py_locks.py" $kind
        dumped 'kinds == ["deadlock"]' '"take_ab" in a and "take_ba" in a' 'd["processes"][0]["python"]'
        kill -9 "$TARGET"
    done
}

@test "who holds the GIL, asleep in C" {
    need_python ctypes
    hang "$PYTHON" "$ROOT/tests/workloads/py_locks.py" gil
    sleep 0.2
    dumped 'len([x for q in d["processes"] for x in q["threads"] if on(x) == [('"$TARGET"', "gil")]]) == 2' \
        '"keep_gil" in a and "holding the GIL" in a' '[x["tid"] for q in d["processes"] for x in q["threads"] if x["gil"]] == ['"$TARGET"']' \
        '{f["kind"] for q in d["processes"] for x in q["threads"] for f in x["stack"]} >= {"python", "native", "gil"}'
}

@test "a worker process that is at work while the main process waits for its pipe" {
    need_python
    hang "$PYTHON" "$ROOT/tests/workloads/py_locks.py" pool
    sleep 0.2
    dumped 'len(p) == 2' '"slow_transform (py_locks.py:" in a' '"next_item" in a' '"running" in a' \
        'p['"$TARGET"']["threads"][0]["wait"]["on"][0]["by"] == "pipe"'
}

# ---- what can't be ----

@test "no such process, no process at all, no number" {
    run -3 "$WPROF" dump -p 999999999
    [[ $output == *"no such process"* ]]
    run -2 "$WPROF" dump
    [[ $output == *"-p PID"* ]]
    run -2 "$WPROF" dump -p x
    run -2 "$WPROF" dump 17
}

@test "a zombie says whose it is, a kernel thread shows its kernel stack" {
    need_python
    hang "$PYTHON" -c 'import os, time
if not os.fork(): os._exit(0)
time.sleep(0.3); print("ready", flush=True); time.sleep(60)'
    dumped '[x["state"] for q in d["processes"] for x in q["threads"] if q["pid"] != '"$TARGET"'] == ["Z"]'
    run -0 "$WPROF" dump -p "$(pgrep -P "$TARGET")"
    [[ $output == *"its parent $TARGET hasn't waited for it"* ]]
    [ "$(id -u)" = 0 ] && [ -r /proc/2/stack ] && grep -q kthreadd /proc/2/comm || skip "no kernel threads here"
    run -0 "$WPROF" dump -p 2
    [[ $output == *"a kernel thread"* && $output == *kthreadd_\[k\]* ]]
}

@test "of several processes the one that isn't there is said" {
    hang "$WORKLOADS/wait_locks" self
    run -0 --separate-stderr "$WPROF" dump -p "$TARGET" -p 999999999
    [[ $stderr == *"process 999999999: no such process"* && $output == *deadlock* ]]
}

@test "a thousand threads, each looked at once" {
    hang "$WORKLOADS/wait_locks" chain 1000
    DUMP_OPTIONS=()
    dumped 'len(d["processes"][0]["threads"]) == 1002' 'd["answers"][0]["threads"] == 1000' \
        'all(x["whole"] for x in d["processes"][0]["threads"])' 'd["took_ns"] < 20e9'
}

@test "threads that come and go do no harm" {
    "$WORKLOADS/fork_churn" >/dev/null 3>&- &
    TARGET=$!
    disown
    for _ in 1 2 3; do
        run "$WPROF" dump -p "$TARGET"
        [ "$status" = 0 ] || [ "$status" = 3 ]
    done
}

# ---- ordinary users ----

# user CMD...: as nobody, who may nothing.
user() {
    setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all "$@"
}

@test "an ordinary user: own processes, with and without perf events; others' are refused in doctor's words" {
    [ "$(id -u)" = 0 ] || skip "needs root, to become somebody else"
    need_command setpriv
    cp "$WPROF" wprof
    cp "$WORKLOADS/wait_locks" .
    chmod 755 wprof wait_locks
    hang "$D/wait_locks" join
    run -3 user "$D/wprof" dump -p "$TARGET"
    [[ $output == *"may not be read"*"sudo"*"CAP_SYS_PTRACE"* ]]
    kill -9 "$TARGET"
    hang setpriv --reuid 65534 --regid 65534 --clear-groups "$D/wait_locks" join
    user "$D/wprof" dump --json --tier C -p "$TARGET" >c
    user "$D/wprof" dump --json -p "$TARGET" >b
    python3 - b c <<'END'
import json, sys
for path in sys.argv[1:]:
    d = json.load(open(path))
    t = {x["name"]: x for x in d["processes"][0]["threads"]}
    names = [f["function"] for f in t["wait_locks"]["stack"]]
    assert "join_it" in names, names
    assert t["wait_locks"]["wait"]["on"][0]["tid"] == t["worker"]["tid"]
    assert d["unseen"], d["unseen"]
    assert t["worker"]["native"] == (d["tier"] == "B"), d["tier"]
    if d["tier"] == "B":
        assert "work" in [f["function"] for f in t["worker"]["stack"]]
assert d["tier"] == "C"
END
}

@test "every CPython here: a deadlock of two locks, and who holds the GIL" {
    local p seen=0
    for p in "$HOME"/.pyenv/versions/3.{8,9,10,11,12,13,14}.*/bin/python3; do
        [ -x "$p" ] || continue
        seen=1
        for kind in lock rlock; do
            hang "$p" "$ROOT/tests/workloads/py_locks.py" $kind
            dumped 'kinds == ["deadlock"]' '"take_ab" in a and "take_ba" in a'
            kill -9 "$TARGET"
        done
        "$p" -c 'import ctypes' 2>/dev/null || continue
        hang "$p" "$ROOT/tests/workloads/py_locks.py" gil
        sleep 0.2
        dumped '[on(x) for q in d["processes"] for x in q["threads"]].count([('"$TARGET"', "gil")]) == 2'
        kill -9 "$TARGET"
    done
    [ $seen = 1 ] || skip "no other CPython is here"
}

@test "the other end of pipes, TCP connections, file locks and pidfds" {
    local kind by
    need_python fcntl
    for kind in tcp:socket poll:pipe epoll:pipe select:pipe flock:file-lock fcntl:file-lock pidfd:child write:pipe; do
        by=${kind#*:}
        kind=${kind%:*}
        [ $kind != pidfd ] || "$PYTHON" -c 'import os; os.pidfd_open' 2>/dev/null || continue
        hang "$PYTHON" "$ROOT/tests/workloads/py_waits.py" $kind
        sleep 0.2
        dumped 'sorted((x["pid"], x["by"]) for x in p['"$TARGET"']["threads"][0]["wait"]["on"]) == sorted((q, "'$by'") for q in p if q != '"$TARGET"')' \
            '"is in linger (py_waits.py:" in a' '"'$by'" != "file-lock" or "the lock of '"$D"'/lock" in a' ||
            { echo "of $kind"; return 1; }
        kill -9 "$TARGET"
    done
}
