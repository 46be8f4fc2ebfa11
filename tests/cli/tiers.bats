#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Recording without BPF: tier B (perf events) and tier C (from outside), as an ordinary user.
load common

setup_file() {
    build_workloads
    mkdir -p "$BUILD/tests"
    ${CC:-cc} -O2 -Wall -o "$BUILD/tests/refuse" "$ROOT/tests/fakes/refuse.c"
}

setup() {
    need_command setpriv
    D=$(mktemp -d)
    chmod 755 "$D"
    mkdir -m 777 "$D/out"
    cp "$WPROF" "$BUILD/tests/refuse" "$D/"
    cp "$WORKLOADS/split" "$WORKLOADS/wait_one" "$WORKLOADS/wait_one-fp" "$WORKLOADS/big_frame" "$WORKLOADS/threads" "$ROOT/tests/workloads/split.py" "$ROOT/tests/workloads/naps.py" "$D/"
    find "$D" -maxdepth 1 -type f -exec chmod 755 {} +
    WPROF=$D/wprof
    cd "$D/out" || return
}

teardown() {
    cd / && rm -rf "$D"
}

# user CMD...: as nobody, who may nothing.
user() {
    local who=()
    [ "$(id -u)" != 0 ] || who=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --inh-caps -all)
    HOME=$D/out "${who[@]}" "$@"
}

# works TIER: skips where an ordinary user can't record that way here.
works() {
    user "$WPROF" doctor --json >"$D/doctor" || true
    python3 - "$1" "$D/doctor" <<'END' || skip "needs tier $1"
import json, sys
tiers = {t["tier"]: t["state"] for t in json.load(open(sys.argv[2]))["tiers"]}
sys.exit(tiers[sys.argv[1]] not in ("ok", "limited"))
END
}

# waits DIR REGEX: seconds of the waits whose stack matches.
waits() {
    "$WPROF" export --format folded --metric offcpu "$1" | awk -v re="$2" '
        { n = $NF; sub(/ [0-9]+$/, "") }
        $0 ~ re { s += n }
        END { printf "%.3f\n", s / 1e9 }'
}

split_holds() {
    local a b
    a=$(share "$1" slow_a 'slow_[ab]')
    holds "$a > 0.62 && $a < 0.78"
    holds "$(quality "$1" python_share) > 0.8" # the rest came too late or did not fit, and is counted
    holds "$(quality "$1" taken) >= 0.85 * $(quality "$1" expected)"
}

@test "tier B: a C program's 70/30, whole stacks" {
    works B
    user "$WPROF" record -q --tier B -F 997 -o s -- "$D/split" 1.5 # which keeps clear of its period of 10 ms
    [ "$(meta s tier)" = B ]
    holds "$(share s 'main;hot_a;leaf_a' 'leaf_[ab]') > 0.64 && $(share s 'main;hot_a;leaf_a' 'leaf_[ab]') < 0.76"
    holds "$(quality s unwound_share) > 0.98"
}

@test "tier B: a Python program's 70/30, Python and native frames in one stack" {
    works B
    need_python
    user "$WPROF" record -q --tier B -F 199 -o s -- "$PYTHON" "$D/split.py" 2
    split_holds s
    holds "$(share s '_start.*slow_a' slow_a) > 0.95"
}

@test "tier C: a Python program's 70/30" {
    works C
    need_python
    user "$WPROF" record -q --tier C -F 199 -o s -- "$PYTHON" "$D/split.py" 2
    [ "$(meta s tier)" = C ]
    split_holds s
    [ "$(quality s unwound_share)" = None ]
    # which CPU it was on is not seen: nothing may be made of it
    "$WPROF" version | grep -qE '^  sqlite +yes' || return 0
    [ "$("$WPROF" -q query -n 0 -f csv s "SELECT count(*) > 0, count(cpu) FROM samples" | tail -1)" = 1,0 ]
}

@test "tier C: what isn't measured is in no sentence; Python deeper than the limit is counted" {
    works C
    need_python
    user "$WPROF" record --tier C -F 199 -o s -- "$PYTHON" -c 'import sys, time
sys.setrecursionlimit(5000)
def deep(n):
    if n: return deep(n - 1)
    end = time.monotonic() + 0.6
    while time.monotonic() < end: pass
deep(900)' 2>said
    run ! grep -q "not measured unwound" said
    run -0 "$WPROF" show s
    [[ $output =~ beware\ +[0-9.]+\ %\ stacks\ were\ deeper || $output =~ beware\ +[0-9]+.*stacks\ were\ deeper ]]
    [[ $output != *"not measured stacks"* ]]
}

@test "tier C: of C programs the processes' CPU times are right" {
    works C
    in_three two_of_them
    folded s | grep -q 'native, not seen'
}

# What they use after the last look at them is missing.
two_of_them() {
    rm -rf s
    user "$WPROF" record -q --tier C -F 199 -o s -- sh -c '"$1" 0.7 & "$1" 0.3 & wait' sh "$D/split" || return 1
    "$WPROF" show --json s | python3 -c 'import json, sys
cpu = sorted(p["cpu_ns"] / 1e9 for p in json.load(sys.stdin)["processes"] if p["name"] == "split")
assert len(cpu) == 2 and 0.25 < cpu[0] < 0.4 and 0.6 < cpu[1] < 0.8, cpu'
}

# whats DIR 'EXPRESSION': of `show --waits`, rows w for which it holds: what, who woke, and where.
whats() {
    "$WPROF" show --waits --top 0 --json "$1" | python3 -c 'import json, sys
for w in json.load(sys.stdin)["waits"]:
    if eval(sys.argv[1]): print(w["what"], "|", w["waker"], "|", w["waker_where"])' "$2"
}

# known_wait TIER PROGRAM KIND: each wait's time in main;g;f; on a busy machine some end before they are looked at. Never
# more than was waited.
known_wait() {
    local took
    rm -rf s
    user "$WPROF" record -q --tier "$1" -o s -- "$D/$2" "$3" 40 15 >took || return 1
    took=$(awk '{ print $1 / 1e9 }' took)
    holds "$(waits s 'main;g;f') > 0.7 * $took && $(waits s "^$2;.*main;g;f") < 1.02 * $took"
}

@test "waits have their stack with frame pointers, too, in tiers B and C" {
    local tier
    for tier in B C; do
        works "$tier"
        in_three known_wait "$tier" wait_one-fp sleep
        holds "$(waits s 'main;g;f.*nanosleep') == $(waits s 'main;g;f')"
    done
}

@test "waits of every kind have their time, their place and their name in tiers B and C" {
    local tier
    for tier in B C; do
        works "$tier"
        for kind in sleep poll pipe futex; do
            echo "$tier $kind"
            in_three known_wait "$tier" wait_one $kind
            case $kind in
            sleep) whats s 'w["reason"] == "sleep" and w["where"] == "f"' | grep -q . ;;
            poll) whats s 'w["reason"] == "poll" and w["where"] == "f"' | grep -Eq '^pipe:\[[0-9]+\]' ;;
            pipe) whats s 'w["reason"] == "pipe"' | grep -Eq '^pipe:\[[0-9]+\] <- wait_one\[[0-9]+\] \| wait_one \(inferred\) ' ;;
            futex) whats s 'w["reason"] == "futex"' | grep -Eq '^futex 0x[0-9a-f]+' ;;
            esac
        done
        user "$WPROF" record -q --tier "$tier" -o "child$tier" -- "$D/wait_one" child 60 5 >took
        whats "child$tier" 'w["reason"] == "child"' | grep -Eq '^wait4 wait_one\[[0-9]+\] and others \| wait_one and others \(inferred\)'
    done
}

@test "who holds the mutex is told with what is waited for, in tiers B and C" {
    local tier

    for tier in B C; do
        works $tier
        "$WPROF" record -q --tier $tier -o "s$tier" -- "$WORKLOADS/wait_convoy" 4 20 50
        holds "$(held_by "s$tier" want holder) > 0.9"
    done
}

@test "a wait that is under way all the time is there, in tiers B and C" {
    local tier pid

    [ "$(id -u)" = 0 ] || skip "needs root"
    for tier in B C; do
        "$WORKLOADS/wait_one" sleep 60000 1 &
        pid=$!
        for _ in $(seq 200); do
            ! grep -q "State:.S" "/proc/$pid/status" || break
            sleep 0.05
        done
        sleep 0.2 # it may have been between two others
        "$WPROF" record -q --tier $tier -o "s$tier" --duration 1s -p $pid
        kill $pid
        holds "$(waits "s$tier" 'main;g;f') > 0.8 * $(meta "s$tier" duration_s) && $(waits "s$tier" .) < 1.02 * $(meta "s$tier" duration_s)"
    done
}

# 60 threads that sleep for 50 ms, one after the other, so that there are as many at each look; of some much goes unseen on a busy machine.
short_threads() {
    rm -rf s
    user "$WPROF" record -q --tier C -o s -- "$PYTHON" -c 'import threading, time
def nap(): time.sleep(0.05)
for _ in range(60):
    t = threading.Thread(target=nap)
    t.start()
    t.join()'
    echo "naps: $(waits s 'nap'), of 3 s"
    holds "$(waits s 'nap') > 0.4 * 3 && $(waits s 'nap') < 1.1 * 3"
}

@test "tier C: threads that take each other's place are seen, and all that they waited" {
    works C
    need_python
    in_three short_threads
}

# What naps.py waits for while two others want its CPU, too: no time in the run queue counts, each place has its own.
busy_naps() {
    local off queue cpu hogs=()
    cpu=$(taskset -pc $$ | sed 's/.*[^0-9]//')
    for _ in 1 2; do
        timeout 30 taskset -c "$cpu" sh -c 'while :; do :; done' &
        hogs+=($!)
    done
    rm -rf s
    user "$WPROF" record -q --tier "$1" -o s -- taskset -c "$cpu" "$PYTHON" "$D/naps.py" >took
    kill "${hogs[@]}"
    wait "${hogs[@]}" || true
    read -r off queue <took
    echo "off the CPU for $off ns, queued for $queue ns; all $(waits s .), nap $(waits s ";nap( |;)"), long_nap $(waits s long_nap)"
    holds "$queue > 50e6" && holds "$(waits s .) > 0.98 * $off / 1e9 && $(waits s .) < $off / 1e9 + 0.05" && # it waits a little before and after, too
        holds "$(waits s ';nap( |;)') > 0.8 * 0.48 && $(waits s ';nap( |;)') < 1.05 * 0.48" &&
        holds "$(waits s 'long_nap') > 0.8 * 0.6 && $(waits s 'long_nap') < 1.05 * 0.6"
}

@test "waits are no longer than they were where CPUs are short, in tiers B and C" {
    local tier
    need_python
    need_command taskset
    for tier in B C; do
        works "$tier"
        in_three busy_naps "$tier"
    done
}

# The time that main waited for items, of which the worker's function has its part.
loader() {
    rm -rf s
    user "$WPROF" record -q --tier "$1" -o s -- "$PYTHON" "$D/wait_loader.py" 15 40 || return 1
    "$WPROF" export --metric waker s >waker
    awk '
        { n = $NF }
        /next_item/ { all += n }
        /main \(wait_loader.py\);next_item \(wait_loader.py\);.*\[woken by\];[^;]*;\[inferred\];.*worker \(wait_loader.py\);slow_transform/ { slow += n }
        END { print slow / 1e9, "of", all / 1e9; exit !(slow > 0.7 * all && slow > 0.2) }' waker
}

@test "a loader with a slow worker: the main process's wait names the worker's Python function in tiers B and C" {
    local tier
    need_python multiprocessing
    cp "$ROOT/tests/workloads/wait_loader.py" "$D/"
    for tier in B C; do
        works "$tier"
        in_three loader "$tier"
        whats s 'w["where"] == "Connection._recv"' | grep -Eq ' <- .*\| python3.* \(inferred\) \| slow_transform'
    done
}

@test "an ordinary user gets tier B by itself, and with perf_event_open refused tier C" {
    works B
    run -0 user "$WPROF" record -o b -- "$D/split" 0.5
    [ "$(meta b tier)" = B ]
    [[ $output == *'tier B'*CAP_BPF* ]]
    run -0 user "$D/refuse" perf_event_open,bpf "$WPROF" record -o c -- "$D/split" 0.5
    [ "$(meta c tier)" = C ]
    run -0 "$WPROF" show c
    [[ $output == *'tier C'* && $output == *'not seen are'* ]]
}

@test "with perf_event_open and bpf refused: a Python program's 70/30, and its waits by name" {
    works C
    need_python
    user "$D/refuse" perf_event_open,bpf "$WPROF" record -q -F 199 -o s -- "$PYTHON" "$D/split.py" 2
    [ "$(meta s tier)" = C ]
    split_holds s
    whats s 'w["where"] in ("wait_for_it", "Event.wait", "Condition.wait")' | grep -Eq '^futex 0x[0-9a-f]+'
}

@test "with process_vm_readv refused, too, nothing can be recorded, and that is said" {
    run -125 user "$D/refuse" perf_event_open,bpf,process_vm_readv "$WPROF" record -o c -- touch ran
    [[ $output == *'was not started'* && $output == *doctor* ]]
    [ ! -e ran ] && [ ! -e c ]
}

# same_words TIER CALLS: what record says where that tier is forced, and these calls are refused, is what doctor says.
same_words() {
    user "$D/refuse" "$2" "$WPROF" doctor --json >doctor 2>/dev/null || true
    run -125 user "$D/refuse" "$2" "$WPROF" record --tier "$1" -o a -- touch ran
    python3 - "$1" "$output" <<'END'
import json, sys
t = {t["tier"]: t for t in json.load(open("doctor"))["tiers"]}[sys.argv[1]]
assert t["state"] == "no" and t["why"] in sys.argv[2] and t["grant"] in sys.argv[2], (t, sys.argv[2])
END
}

@test "a tier that does not work: record says why, and what grants it, in doctor's words" {
    same_words A bpf
    same_words B perf_event_open
    same_words C process_vm_readv
    [ ! -e ran ] && [ ! -e a ]
}

@test "tier A, forced as an ordinary user: why not, and what grants it" {
    [ "$(id -u)" = 0 ] || need_command setpriv
    run -125 user "$WPROF" record --tier A -o a -- touch ran
    [[ $output == *'tier A'* && $output == *'was not started'* ]]
    [ ! -e ran ]
    run -125 user "$WPROF" record --tier D -o a -- touch ran
    [[ $output == *'not A, B or C'* ]]
}

@test "tier B: stacks that are larger than the copy are counted as truncated" {
    works B
    user "$WPROF" record -q --tier B -F 199 -o s -- "$D/big_frame" 1
    holds "$(quality s truncated) > 0.9 * $(quality s taken)"
    holds "$(share s 'truncated.*leaf') > 0.9"
}

@test "tier C: threads that run for less than a period count together" {
    works C
    user "$WPROF" record -q --tier C -F 99 -o s -- "$D/threads" 200 5
    holds "$(quality s taken) > 0.5 * $(quality s expected) && $(quality s taken) < 1.2 * $(quality s expected)" # their last run is not seen
}

@test "children and programs they become are followed in tiers B and C" {
    local tier
    for tier in B C; do
        works "$tier"
        user "$WPROF" record -q --tier "$tier" -F 199 -o "s$tier" -- sh -c '(exec "$1" 0.8) & sh -c "exec \"\$0\" 0.8" "$1"; wait' sh "$D/split"
        run -0 "$WPROF" show --json "s$tier"
        python3 - "$output" <<'END'
import json, sys
names = [p["name"] for p in json.loads(sys.argv[1])["processes"]]
assert names.count("split") == 2, names
END
    done
}

@test "tier B: what runs before the command is the command is not in the session" {
    works B
    local long
    long=$(printf '%0100000d' 0)
    env a=$long b=$long c=$long d=$long e=$long f=$long g=$long h=$long i=$long j=$long \
        "$WPROF" -q record --tier B -F 9999 -o s -- true # whose arguments the kernel copies for some ms
    [ "$(samples s 'spawn_behind_gate')" = 0 ]
    python3 -c 'import json
c = next(c for c in json.load(open("s/meta.json"))["collectors"] if c["name"] == "cpu")
assert c["counters"]["before_exec"] > 0 or "side is not sampled" in c["detail"], c'
}

@test "a running process of one's own, by -p" {
    local tier pid
    for tier in B C; do
        works "$tier"
        user sh -c 'echo $$ >pid; exec "$0" 20' "$D/split" &
        sleep 0.5
        pid=$(cat pid)
        # Yama lets nobody but ancestors read memory where ptrace_scope is 1.
        run user "$WPROF" record -q --tier "$tier" -F 199 -o "s$tier" --duration 1s -p "$pid"
        kill "$pid"
        wait || true
        [ "$status" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" != 0 ]
        [ "$status" != 0 ] || holds "$(quality "s$tier" taken) > 10"
    done
}

@test "a process whose first thread has ended, attached to, in every tier" {
    local tier pid

    [ "$(id -u)" = 0 ] || skip "needs root"
    for tier in A B C; do
        "$WORKLOADS/threads" 2 20000 leave &
        pid=$!
        for _ in $(seq 200); do
            ! grep -q "State:.Z" "/proc/$pid/status" || break
            sleep 0.05
        done
        "$WPROF" -q record --tier $tier -o "s$tier" --duration 1.5s -p $pid
        kill $pid
        [ "$(meta "s$tier" tier)" = $tier ]
        holds "$(samples "s$tier" 'worker-[01];') > 5"
        [ $tier = C ] || holds "$(samples "s$tier" 'worker-[01];.*work') > 5" # native places of what runs aren't seen there
    done
}
