#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Waits whose length, place and waker are known beforehand (tests/workloads).
# alone: compares times of waits with what programs say of their own
load common

setup_file() {
    build_workloads
}

setup() {
    need_tier_a
    cd "$BATS_TEST_TMPDIR"
}

# record PROG ARGS...: a session in ./s; what the program printed in ./out.
record() {
    local prog=$1
    shift
    case $prog in
    /*) ;;
    *) prog=$WORKLOADS/$prog ;;
    esac
    rm -rf s
    "$WPROF" record -q $MORE -o s -- "$prog" "$@" >out
}

@test "the lines that end a recording say what the main thread waited for, and for whom in the end" {
    "$WPROF" record -o s -- sh -c 'sleep 1; true' 2>err
    grep -Eq '^wprof:   waited +[0-9.]+ %  main thread: child, woken by sleep\[[0-9]+\], which waited: sleep$' err
}

# ns METRIC [REGEX [WITHOUT]]: of the stacks that match.
ns() {
    "$WPROF" export --metric "$1" $PIDS s 2>/dev/null | awk -v re="${2:-.}" -v without="${3:-^$}" '
        { n = $NF; sub(/ [0-9]+$/, "") }
        $0 ~ re && $0 !~ without { s += n }
        END { printf "%.0f\n", s }'
}

# A column of `show --waits` as JSON: waits EXPR, with w as the row; one line each.
waits() {
    "$WPROF" show --waits --top 0 --json s |
        python3 -c 'import json, sys
for w in json.load(sys.stdin)["waits"]:
    if eval(sys.argv[1]): print(w["what"], w["waker"], w["waker_where"])' "$1"
}

counter() {
    python3 -c 'import json, sys
for c in json.load(open("s/meta.json"))["collectors"]:
    if c["name"] == sys.argv[1].split(".")[0]: print(c["counters"][sys.argv[1].split(".")[1]])' "$1"
}

# Seconds that were recorded.
duration() {
    python3 -c 'import json; print(json.load(open("s/meta.json"))["duration_s"])'
}

# The time that a wait took: blocked until woken, then runnable until it runs.
took() {
    local others='^$' within=0.02 all

    record "$1" "$2" 20 20 || return 1
    [ "$2" != child ] || { others=nanosleep within=0.1; } # fork(2) takes time on the CPU
    all=$(($(ns offcpu ';main;g;f;' "$others") + $(ns runq ';main;g;f;|short delays' "$others")))
    near "$all" "$(cat out)" $within || return 1
    # how long others let it wait is up to them
    [[ $2 != sleep && $2 != poll ]] || holds "$(ns offcpu ';main;g;f;') >= 0.98 * 20 * 20e6"
}

@test "sleep, poll, pipe, futex, child: the time that they took, main;g;f whole" {
    for v in wait_one wait_one-fp; do
        for kind in sleep poll pipe futex child; do
            echo "$v $kind"
            in_three took $v $kind
            [ "$(ns offcpu 'g;f' '_start;.*main;g;f;')" = 0 ]
        done
    done
}

# The name is read while the process lives: it must live long enough on a machine that is busy.
synced() {
    record wait_one disk 0 500 "$PWD/data.bin" || return 1
    [ "$(ns offcpu ';main;g;f;.*fsync')" -gt 0 ] || return 1
    waits 'w["reason"] == "disk" and w["where"] == "f"' | grep -q "$PWD/data.bin"
}

@test "disk: fsync is a wait for storage, by the file's name" {
    in_three synced
}

@test "what is waited on: pipe and its other end, futex, child" {
    record wait_one pipe 20 30
    waits 'w["reason"] == "pipe"' | grep -Eq '^pipe:\[[0-9]+\] <- wait_one\[[0-9]+\] wait_one main'
    record wait_one futex 10 5
    waits 'w["reason"] == "futex"' | grep -Eq '^futex 0x[0-9a-f]+ wait_one poster'
    record wait_one child 10 5
    waits 'w["reason"] == "child"' | grep -Eq '^wait4 (wait_one\[)?[0-9]+'
    record wait_one sleep 10 5
    [ "$(waits 'w["reason"] == "sleep" and w["waker"] == "[irq]"' | wc -l)" -ge 1 ]
}

@test "lock convoy: who holds the mutex is told with what is waited for, whoever passes it on" {
    record wait_convoy 4 20 10
    holds "$(held_by s want holder) > 0.9"
}

@test "waits for one child after the other are one row" {
    need_python os
    cat >children.py <<'PY'
import os, time
for i in range(6):
    p = os.fork()
    if not p:
        time.sleep(0.03)
        os._exit(0)
    os.waitpid(p, 0)
PY
    in_three one_row
}

# Of a child that ends before it is waited for there is no wait.
one_row() {
    record "$PYTHON" children.py || return 1
    "$WPROF" show --waits --json s | python3 -c '
import json, sys
rows = [x for x in json.load(sys.stdin)["waits"] if x["reason"] == "child" and x["thread"] != "bash"]
assert [x["spans"] for x in rows] == [6], rows
assert rows[0]["what"].startswith("wait4 ") and rows[0]["what"].endswith(" and others"), rows
assert rows[0]["waker"] == "python3 and others" and not rows[0]["waker_tid"], rows'
}

passed_on() {
    record wait_convoy 1 20 10 || return 1
    want=$(ns waker '^wait_convoy;waiter-0;.*want;.*pthread_mutex_lock')
    holds "$want >= 0.9 * 20 * 10e6" || return 1
    by=$(ns waker '^wait_convoy;waiter-0;.*want;.*pthread_mutex_lock.*\[woken by\];wait_convoy;holder;.*hold;.*unlock')
    near "$by" "$want" 0.02
}

# What is below whoever ended a wait is in these formats what it is in folded text.
exported_waker() {
    local f
    for f in pprof speedscope; do
        "$WPROF" -q export -m waker -f $f -o waker.$f "$1"
        "$WPROF" -q import --force -o back waker.$f
        diff <("$WPROF" export -m waker -i "$1" | LC_ALL=C sort) <("$WPROF" export back | sed "s/^waker;//" | LC_ALL=C sort)
    done
}

@test "lock convoy: who waits for the mutex is woken by who held it" {
    in_three passed_on
    exported_waker s
}

answered() {
    record pingpong "$1" 200 500 || return 1
    for pair in ping:serve:pong:answer pong:answer:ping:serve; do
        IFS=: read -r who in other at <<<"$pair"
        all=$(ns waker "pingpong;$who;.*$in;receive_byte;.*\[woken by\]")
        holds "$all > 10e6" || return 1
        # A unix socket also wakes the sender of a byte that is taken out.
        near "$(ns waker "pingpong;$who;.*receive_byte;.*\[woken by\];pingpong;$other;.*$at;(send|receive)_byte")" "$all" 0.05 || return 1
    done
}

@test "ping-pong over pipe, unix socket, TCP: woken by the other side, from where it writes" {
    for kind in pipe unix tcp; do
        echo "$kind"
        in_three answered $kind
        [ "$kind" = unix ] || [ "$(ns waker 'receive_byte;.*\[woken by\].*receive_byte')" -le "$(ns waker 'receive_byte;.*\[woken by\].*send_byte')" ]
        [ "$kind" = pipe ] || waits 'w["reason"] == "socket"' | grep -Eq 'pingpong\[[0-9]+\] p[io]ng'
    done
}

conserved() {
    record pingpong pipe 400 500 || return 1
    while read -r name tid blocked; do
        near "$(ns offcpu "$name \\($tid\\);.*(serve|answer);|$name \\($tid\\);\\[short waits\\]")" "$blocked" 0.01 || return 1
    done <out
}

# The same where all of it is summed; that has what the threads did before and after, too. Interrupts and time that
# a hypervisor takes are neither run nor delay in the scheduler's figures: they count the more, the shorter waits are.
conserved_in_sums() {
    MORE=--min-block=1s record pingpong unix 400 500 || return 1
    while read -r name tid blocked; do
        sum=$(ns offcpu "$name \\($tid\\)")
        holds "$sum >= 0.98 * $blocked && $sum <= 1.2 * $blocked" || return 1
    done <out
}

@test "time off the CPU is what the scheduler has counted" {
    PIDS=--pids
    in_three conserved
    in_three conserved_in_sums
    [ "$(ns offcpu 'ping \\(' 'short waits')" = 0 ]
}

short_conserved() {
    record wait_short "$1" 5000 || return 1
    while read -r name tid blocked; do
        off=$(ns offcpu "$name \\($tid\\)")
        echo "$MORE $1 $name: $off of $blocked"
        near "$off" "$blocked" 0.01 || return 1
    done <out
}

@test "many waits of a few us, too" {
    PIDS=--pids
    for kind in futex pipe; do
        in_three short_conserved $kind
        MORE=--min-block=1s in_three short_conserved $kind
        MORE=--min-block=1us in_three short_conserved $kind
    done
}

slow_loader() {
    record "$PYTHON" "$ROOT/tests/workloads/wait_loader.py" 20 20 || return 1
    all=$(ns waker 'next_item \(wait_loader.py\)')
    holds "$all >= 0.9 * 20 * 20e6" || return 1
    near "$(ns waker 'main \(wait_loader.py\);next_item \(wait_loader.py\);.*\[woken by\];.*worker \(wait_loader.py\);send_item \(wait_loader.py\)')" "$all" 0.02 || return 1
    # ... which was in slow_transform before that: the main process's wait is one stack with it
    holds "$(ns waker 'next_item \(wait_loader.py\);.*\[woken by\];.*send_item \(wait_loader.py\);.*\[which was in\];.*slow_transform \(wait_loader.py\)') > 0.7 * $all"
}

@test "a loader with a slow worker: the main process is woken by the worker's Python function" {
    need_python multiprocessing
    in_three slow_loader
    waits 'w["reason"] == "pipe"' | grep -q 'Connection._send'
    "$WPROF" show --waits s | grep 'Connection._recv.*Connection._send .*slow_transform'
}

@test "two that want one CPU: waiting for it is delay, not time blocked" {
    need_command taskset
    record "$(command -v taskset)" -c 0 sh -c "'$WORKLOADS/split' 1 & '$WORKLOADS/split' 1; wait"
    holds "$(ns runq '^split') > 0.3e9"
    holds "$(ns offcpu '^split') < 0.2 * $(ns runq '^split')" # loading it from a disk is no delay
    holds "$(ns runq '^split;.*(main;hot_|over budget|new thread|short delays)') > 0.9 * $(ns runq '^split')"
}

@test "threads still blocked at the end: their spans end with the recording" {
    rm -rf s
    sleep 0 # and it is in memory
    "$WPROF" record -q --duration 600ms --kill -o s -- sleep 20
    # all of the recording but what sleep took to get there
    holds "$(ns offcpu '^sleep;.*nanosleep') <= 1e9 * $(duration) && $(ns offcpu '^sleep;.*nanosleep') >= 0.6e9 * $(duration)"
}

# hang PROG ARGS...: in TARGET, once it says that everybody is where it will stay.
hang() {
    "$@" >said 3>&- &
    TARGET=$!
    disown
    for _ in $(seq 400); do
        ! grep -q ready said || break
        sleep 0.05
    done
    sleep 0.2
}

@test "a process that was there before: blocked in code made at run time whose names are told later" {
    mkfifo gate
    "$WORKLOADS/jit" late <gate 3>&- &
    jit=$!
    exec 9>gate
    until_true 20 grep -q pipe_read "/proc/$jit/wchan"
    "$WPROF" record -q --duration 1500ms -o s -p $jit 3>&- 9>&- &
    recorder=$!
    until_true 20 test -s s/meta.json
    sleep 0.5
    echo -n x >&9
    wait $recorder
    exec 9>&-
    wait $jit
    "$WPROF" export -m offcpu s >folded
    grep -q 'main;jit_loop;wait_from_jit;' folded || { cat folded; false; }
}

@test "a process that was there before: where it is blocked already, and for how long it is recorded" {
    hang "$WORKLOADS/wait_locks" abba
    "$WPROF" record -q --duration 600ms -o s -p "$TARGET"
    kill "$TARGET"
    "$WPROF" show --waits --top 0 s
    # all of it, and what it takes to begin and to end one
    for place in ';take_ab;.*futex' ';take_ba;.*futex' 'main;.*nanosleep'; do
        holds "$(ns offcpu "$place") >= 0.95e9 * $(duration)"
    done
    holds "$(ns offcpu 'since before') == 0"
    [ "$(waits '(w["what"] or "").startswith("futex 0x")' | wc -l)" = 2 ]
    holds "$(held_by s take_ab ba) == 1 && $(held_by s take_ba ab) == 1"
}

@test "blocked already: Python's frames, and hundreds of threads" {
    cat >many.py <<'END'
import threading, time
def parked(e): e.wait()
e = threading.Event()
ts = [threading.Thread(target=parked, args=(e,), daemon=True) for _ in range(400)]
for t in ts: t.start()
print("ready", flush=True)
time.sleep(1000)
END
    hang python3 many.py
    "$WPROF" record -q --duration 2s -o s -p "$TARGET"
    kill "$TARGET"
    echo "parked: $(ns offcpu 'parked .many') all: $(ns offcpu .)"
    holds "$(ns offcpu 'parked .many') >= 0.9 * 400e9 * $(duration)"
    holds "$(ns offcpu 'many.py.*(nanosleep|select)') >= 0.9e9 * $(duration)"
}

@test "long waits after short ones at the same place: where they are, also of one that lasts to the end" {
    need_python
    printf '6.18\n%s\n' "$(uname -r)" | sort -VC || skip "needs Linux 6.18 (stacks of threads that are back)"
    cat >places.py <<'END'
import select, time
def idle(seconds):
    select.select([], [], [], seconds)
for i in range(10):
    for j in range(20):
        idle(0.00002)
    idle(0.03)
open("ready", "w").close()
for j in range(20):
    idle(0.00002)
idle(60)
END
    "$WPROF" record -q --stop-on USR1 --kill -o s -- "$PYTHON" places.py &
    local recorder=$!
    until_true 20 [ -e ready ]
    sleep 0.3
    kill -USR1 "$recorder"
    wait "$recorder"
    holds "$(ns offcpu 'idle .places.*select') >= 0.95 * $(ns offcpu .)"
    holds "$(ns offcpu 'idle .places.*select') >= 10 * 30e6 + 200e6"
}

waited() {
    [ "$(ns offcpu '^wait_one')" -gt 500000000 ]
}

@test "^C and kill -9 leave a session that opens" {
    for signal in INT KILL; do
        rm -rf s
        env --default-signal=INT "$WPROF" record -q -o s -- "$WORKLOADS/wait_one" sleep 100 300 >/dev/null &
        pid=$!
        until_true 30 waited
        command=$(pgrep -P $pid -x wait_one)
        kill -$signal $pid
        wait $pid || true
        kill "$command" 2>/dev/null || true
        waited
    done
}

@test "offcpu.folded.txt is the metric's text; --without offcpu has none" {
    record wait_one sleep 10 5
    "$WPROF" export --metric offcpu s | cmp - s/offcpu.folded.txt
    MORE='--without offcpu' record wait_one sleep 10 5
    [ ! -e s/offcpu.folded.txt ]
    run "$WPROF" export --metric offcpu s
    [ "$status" -eq 3 ]
}

@test "only offcpu: without the sampler" {
    MORE='--collect offcpu' record wait_one sleep 10 5
    [ "$(ns offcpu ';main;g;f;')" -gt 0 ]
    [ "$(samples s)" = 0 ]
}

@test "nothing is lost, and counted" {
    record pingpong pipe 2000
    [ "$(counter offcpu.lost)" = 0 ]
    [ "$(counter offcpu.nostack)" = 0 ]
    holds "$(counter offcpu.switches) >= 4000"
    holds "$(counter offcpu.spans) + $(counter offcpu.short) >= $(counter offcpu.switches)"
}

@test "what recording a program that sleeps costs is not put on the sampling frequency" {
    "$WPROF" record -q -o s -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done'
    run -0 "$WPROF" show s
    [[ $output != *"lower frequency"* ]]
    [[ $output != *"Recording cost"* || $output == *"--without offcpu or metrics"* ]]
}

@test "who wakes a target from outside is no target: its CPU time is not counted, nor are its figures" {
    need_python multiprocessing
    mkfifo ask answer
    "$PYTHON" -c '
import time
ask, answer = open("ask", "rb", 0), open("answer", "wb", 0)
while ask.read(1):
    end = time.process_time() + 0.05
    while time.process_time() < end: pass
    answer.write(b"x")' &
    record "$PYTHON" -c '
ask, answer = open("ask", "wb", 0), open("answer", "rb", 0)
for _ in range(20): ask.write(b"x"); answer.read(1)'
    wait
    waits 'w["reason"] == "pipe"' | grep -q python # the other one's name is known
    holds "$("$PYTHON" -c 'import json; print(json.load(open("s/meta.json"))["counters"]["target.cpu_ns"])') < 0.8e9"     # it used 1 s
    [ "$("$WPROF" show --json s | "$PYTHON" -c 'import json,sys; print(len(json.load(sys.stdin)["processes"]))')" = 1 ]
}

# In a network of its own, whose packets one CPU hands over to any: interrupts end part of the waits.
own_network() {
    unshare -n -m sh -c 'ip link set lo up && mount -t sysfs sysfs /sys &&
        echo 3 > /sys/class/net/lo/queues/rx-0/rps_cpus &&
        exec "$@"' sh "$@"
}

answers_have_senders() {
    rm -rf s
    own_network "$WPROF" record -q -o s -- "$PYTHON" net.py
    "$WPROF" show --waits --top 0 --json s >waits.json || return 1
    python3 - <<'END' || return 1
import json
rows = [w for w in json.load(open("waits.json"))["waits"] if w["reason"] == "socket" and w["where"] == "<module>"]
whole = sum(w["ns"] for w in rows)
named = sum(w["ns"] for w in rows if w["waker_tid"] and (w["meanwhile"] or "").startswith("serve ") and w["state"] == "asleep")
assert whole > 40 * 20e6, rows
assert named > 0.9 * whole, rows
END
    "$WPROF" report --rule blocked s | grep -q 'waits for a socket, held up in serve (net.py:6), asleep'
}

@test "an answer over loopback that an interrupt delivers: the other end is named, and asleep" {
    need_python
    need_command ip
    own_network true 2>/dev/null || skip "no network namespace whose packets can be steered (unshare, RPS)"
    cat >net.py <<'END'
import socket, threading, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
def serve():
    c, _ = s.accept()
    while c.recv(1):
        time.sleep(0.02); c.send(b"x")
threading.Thread(target=serve, daemon=True).start()
c = socket.create_connection(s.getsockname())
for i in range(40):
    c.send(b"q"); c.recv(1)
END
    in_three answers_have_senders
}
