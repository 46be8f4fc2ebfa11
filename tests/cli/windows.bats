#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# When wprof records: signals, marks and times that begin and end it, and what becomes of the command.

load common
load windows

# ---- the command line ----

@test "wrong signals, ranges and combinations are 125 and name what is meant" {
    fails 125 "$WPROF" record --start-on USER1 -- touch ran
    says "no signal 'USER1'; did you mean USR1"
    fails 125 "$WPROF" record --stop-on KILL -- touch ran
    says "KILL can't be waited for"
    fails 125 "$WPROF" record --start-on 999 -- touch ran
    fails 125 "$WPROF" record --capture steps -- touch ran
    says 'KIND:FIRST-LAST'
    fails 125 "$WPROF" record --capture step:7-3 -- touch ran
    says 'ends before it begins'
    fails 125 "$WPROF" record --kill -p $$
    says 'needs a command'
    fails 125 "$WPROF" record --ring 0 -- touch ran
    says 'a ring of no length keeps nothing'
    fails 125 "$WPROF" record --kill --ring 1s -- touch ran
    says 'nothing ends this recording before the command'
    fails 125 "$WPROF" record --kill --max-size 0 --capture step:3- -- touch ran
    says 'nothing ends this recording before the command'
    [ ! -e ran ]
    fails 0 "$WPROF" record --kill -o sized -- touch ran
    says "only the session's size ends this recording, at 1.0 GiB"
    [ -e ran ]
}

# ---- signals ----

only_beta() { # TIER
    fails 0 "$WPROF" record --tier "$1" -F 499 --start-on USR1 --stop-on SIGUSR2 -o s -- \
        "$PHASES" alpha:0.3 signal:10 beta:0.4 signal:12 gamma:0.3 || return 1
    [ "$(meta s end_reason)" = "stop signal" ] || return 1
    holds "$(quality s target_cpu_s) > 0.35 && $(quality s target_cpu_s) < 0.65" || return 1
    [ "$1" = C ] && return # native code can't be told apart from outside
    holds "$(samples s beta) > 80" && [ "$(samples s alpha)" = 0 ] && [ "$(samples s gamma)" = 0 ]
}

@test "from one signal to the other: what ran between them and nothing else" {
    tiers only_beta
}

@test "one signal starts and stops; --delay counts from it" {
    need_native
    "$WPROF" -q record -F 499 --start-on USR1 --stop-on USR1 --delay 100ms -o s -- \
        "$PHASES" alpha:0.2 signal:10 beta:0.5 signal:10 gamma:0.2
    [ "$(meta s end_reason)" = "stop signal" ]
    holds "$(samples s beta) > 100"
    [ "$(samples s alpha)" = 0 ]
    [ "$(samples s gamma)" = 0 ]
}

@test "--duration counts from the begin, and the command runs on" {
    need_native
    "$WPROF" -q record -F 499 --start-on USR1 --duration 500ms -o s -- \
        "$PHASES" alpha:0.2 signal:10 beta:0.7 say:done >out
    [ "$(cat out)" = done ]
    [ "$(meta s end_reason)" = duration ]
    [ "$(samples s alpha)" = 0 ]
    holds "$(meta s duration_s) >= 0.5"
}

@test "the signals are wprof's: the command doesn't get them, others it gets" {
    "$WPROF" -q record --start-on USR1 -o s -- sh -c 'trap "echo usr1 >>got" USR1; trap "echo usr2 >>got; exit 6" USR2
        touch ready; while :; do sleep 0.1; done' &
    local pid=$! code=0
    STARTED=$pid
    until_true 20 test -e ready
    kill -USR1 "$pid"
    kill -USR1 "$pid"
    sleep 0.5
    kill -USR2 "$pid"
    wait "$pid" || code=$?
    [ "$code" = 6 ]
    [ "$(cat got)" = usr2 ]
    [ "$(meta s end_reason)" = "command ended" ]
}

@test "a start that never comes is said, in the session too" {
    fails 0 "$WPROF" record --start-on USR1 -o s -- "$PHASES" alpha:0.1
    says 'ended before SIGUSR1 came \(--start-on\): nothing was recorded'
    [[ $(meta s notes) == *"before SIGUSR1 came"* ]]
    [ "$(meta s state)" = sealed ]
    "$WPROF" show s >/dev/null
    fails 0 "$WPROF" record --start-on USR1 --stop-on USR2 -o t -- "$PHASES" signal:12 alpha:0.1
    says 'ended before SIGUSR1 came'
    [ "$(meta t end_reason)" = "stop signal" ]
    fails 0 "$WPROF" record --capture step:3-4 -o u -- "$PHASES" alpha:0.1
    says 'ended before a mark of step 3 to 4 '
}

@test "attached: the signals begin and end it, the target is left alone" {
    need_native
    "$PHASES" alpha:0.2 beta:0.2 again &
    local target=$!
    STARTED=$target
    "$WPROF" -q record -F 499 --start-on USR1 --stop-on USR2 -o s -p $target 2>err &
    local pid=$!
    STARTED="$target $pid"
    until_true 20 test -e s/meta.json
    sleep 0.5
    kill -USR1 $pid
    sleep 0.6
    kill -USR2 $pid
    wait $pid
    kill -0 $target
    [ "$(meta s end_reason)" = "stop signal" ]
    holds "$(samples s 'alpha|beta') > 10"
}

# ---- marks ----

steps_2_and_3() { # TIER
    fails 0 "$WPROF" record --tier "$1" -F 499 --capture step:2-3 -o s -- "$PHASES" \
        "mark:step 1" alpha:0.2 "mark:step 2" beta:0.3 "mark:step 3" delta:0.2 "mark:step 4" gamma:0.2 || return 1
    [ "$(meta s end_reason)" = captured ] || return 1
    holds "$(quality s target_cpu_s) > 0.45 && $(quality s target_cpu_s) < 0.65" || return 1
    [ "$1" = C ] && return
    holds "$(samples s beta) > 60 && $(samples s delta) > 40" &&
        [ "$(samples s alpha)" = 0 ] && [ "$(samples s gamma)" = 0 ]
}

@test "--capture: from the mark of a step to the end of another" {
    tiers steps_2_and_3
}

@test "--capture: a request, between others; --kill ends the command after it" {
    need_native
    "$WPROF" -q record -F 499 --capture request:7 --kill -o s -- "$PHASES" "mark:begin request 6" alpha:0.2 \
        "mark:begin request 7" "mark:end request 6" beta:0.3 "mark:end request 7" sleep:1000
    [ "$(meta s end_reason)" = captured ]
    holds "$(samples s beta) > 60"
    [ "$(samples s alpha)" = 0 ]
}

# ---- the end of the command ----

gone() { # PID: ended, whether or not somebody waited for it
    not grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null
}

@test "--kill ends the command with the recording, and that is a success" {
    fails 0 "$WPROF" record --duration 300ms --kill -o s -- "$PHASES" alpha:6000
    [ "$(meta s end_reason)" = duration ]
    fails 5 "$WPROF" record --duration 300ms --kill -o t -- sh -c 'trap "exit 5" TERM; while :; do sleep 0.1; done'
    fails 139 "$WPROF" record --duration 5s --kill -o u -- sh -c 'kill -SEGV $$'
    fails 0 "$WPROF" record --kill -o v -- "$PHASES" alpha:0.1
}

@test "--kill ends a command that doesn't listen, and its descendants" {
    fails 0 "$WPROF" record --duration 300ms --kill -o s -- sh -c "trap '' TERM
        (sh -c 'trap \"\" TERM; echo \$\$ >child; while :; do sleep 0.2; done') & while :; do sleep 0.2; done"
    [ -s child ]
    until_true 20 gone "$(cat child)"
}

@test "without --kill, and when ^C ended it, the command ends by itself" {
    fails 3 "$WPROF" record --duration 200ms -o s -- sh -c 'sleep 1; exit 3'
}

# interrupted SECONDS COMMAND...: gets SIGINT after that time, with all of its process group, as from a terminal.
interrupted() {
    python3 -c '
import os, signal, subprocess, sys, time
def fresh():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[2:], start_new_session=True, preexec_fn=fresh, stderr=subprocess.DEVNULL)
while not os.path.exists(sys.argv[sys.argv.index("-o") + 1] + "/events.wlog"):
    time.sleep(0.02)
    if p.poll() is not None:
        sys.exit(1)
time.sleep(float(sys.argv[1]))
os.killpg(p.pid, signal.SIGINT)
try:
    p.wait(60)
except subprocess.TimeoutExpired:
    os.killpg(p.pid, signal.SIGKILL)
    sys.exit(1)' "$@"
}

@test "^C at any moment in each mode leaves an openable session" {
    local mode n=0
    need_command python3
    for mode in "--start-on USR1" "--delay 300ms" "--capture step:1-2" "--ring 200ms" "--duration 400ms --kill"; do
        for wait in 0.05 0.7; do
            n=$((n + 1))
            # shellcheck disable=SC2086
            interrupted $wait "$WPROF" -q record $mode -o s$n -- "$PHASES" alpha:0.1 sleep:0.1 again
            "$WPROF" show -n 3 s$n >/dev/null 2>err || { cat err; echo "$mode, $wait"; return 1; }
        done
    done
}
