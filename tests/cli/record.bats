#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# wprof record: the command line, the command's exit code, terminal and user, and every way in which a recording ends.

load common

setup() {
    D=$(mktemp -d)
    chmod 755 "$D"
    cd "$D" || return 1
}

teardown() {
    cd /
    [ -z "${MOUNTED:-}" ] || umount "$MOUNTED"
    for pid in ${STARTED:-}; do
        kill -9 "$pid" 2>/dev/null || true
    done
    rm -rf "$D"
}

# The derived file is what is tested here, not the command that makes the same.
folded() {
    cat "$1/folded.txt"
}

# A shell that uses the CPU for about SECONDS and then exits with CODE.
BUSY='now() { echo $(($(date +%s%N) / 1000000)); }; end=$(($(now) + $1 * 1000)); while [ $(now) -lt $end ]; do'
BUSY+=' i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; done; exit ${2:-0}'

busy() { # SECONDS [CODE]: the words of that command
    printf '%s\n' sh -c "$BUSY" busy "$@"
}

no_session() {
    [ -z "$(ls -A "$D")" ] || { echo "left behind: $(ls -A "$D")"; return 1; }
}

# ---- the command line ----

@test "a wrong command line is 125, and nothing is left" {
    fails 125 "$WPROF" record
    says 'what is to be recorded'
    fails 125 "$WPROF" record -p 1 -- true
    fails 125 "$WPROF" record -a -p 1
    fails 125 "$WPROF" record -F 0 -- true
    fails 125 "$WPROF" record --duraton 1 -- true
    says 'duration'
    fails 125 "$WPROF" record --collect cpuu -- true
    says "'cpu'"
    fails 125 "$WPROF" record -p no -- true
    no_session
}

@test "an unknown event names the nearest" {
    fails 125 "$WPROF" record -e cpu-clok -- touch ran
    says 'cpu-clock'
    no_session
}

@test "no such command is 127, not executable is 126, and no session is left" {
    fails 127 "$WPROF" record -- no-such-command-here
    says 'no-such-command-here'
    fails 127 "$WPROF" record -- ./nothing
    no_session
    echo text >plain
    fails 126 "$WPROF" record -- ./plain
    fails 126 "$WPROF" record -- /
    rm plain
    no_session
}

@test "dead processes are said, all dead is 125" {
    fails 125 "$WPROF" record -p 1999999991 -p 1999999992
    says '1999999991 does not exist'
    says 'nothing to record'
    fails 125 "$WPROF" record -p x
    no_session
}

@test "a directory that is not empty is refused, --force replaces only a session" {
    need_tier_a
    mkdir full && echo precious >full/file
    fails 125 "$WPROF" record -o full -- touch ran
    says 'not empty'
    fails 125 "$WPROF" record --force -o full -- touch ran
    [ ! -e ran ]
    [ "$(cat full/file)" = precious ]
    "$WPROF" -q record -o s -- true
    fails 125 "$WPROF" record -o s -- touch ran
    [ ! -e ran ]
    "$WPROF" -q record --force -o s -- touch ran
    [ -e ran ]
    mkdir elsewhere && ln -s elsewhere link
    fails 125 "$WPROF" record -o link -- true
    [ -z "$(ls -A elsewhere)" ]
}

# ---- what the command sees ----

@test "the command's exit code is passed on" {
    need_tier_a
    fails 0 "$WPROF" record -o a -- true
    fails 7 "$WPROF" record -o b -- sh -c 'exit 7'
    fails 137 "$WPROF" record -o c -- sh -c 'kill -9 $$'
    [ "$(meta b exit_code)" = 7 ]
    [ "$(meta c exit_code)" = 137 ]
}

@test "what runs before the command is the command is not in the session" {
    need_tier_a
    local long
    long=$(printf '%0100000d' 0)
    env a=$long b=$long c=$long d=$long e=$long f=$long g=$long h=$long i=$long j=$long \
        "$WPROF" -q record -F 9999 -o s -- true # whose arguments the kernel copies for some ms
    [ "$(samples s 'spawn_behind_gate')" = 0 ]
    python3 -c 'import json
c = next(c for c in json.load(open("s/meta.json"))["collectors"] if c["name"] == "cpu")
assert c["counters"]["before_exec"] > 0, c'
}

@test "input and output of the command are untouched, -q is silent" {
    need_tier_a
    printf 'hello\n' | "$WPROF" -q record -o s -- sh -c 'cat; echo err >&2; ls -l /proc/self/fd | wc -l >fds' >out 2>err
    [ "$(cat out)" = hello ]
    [ "$(cat err)" = err ]
    sh -c 'ls -l /proc/self/fd | wc -l >fds2' </dev/null
    [ "$(cat fds)" = "$(cat fds2)" ]
}

@test "signal dispositions are what wprof was given" {
    need_tier_a
    (trap '' USR1; "$WPROF" -q record -o s -- sh -c 'grep SigIgn /proc/self/status' >ignored)
    (trap '' USR1; sh -c 'grep SigIgn /proc/self/status' >expected)
    diff ignored expected
    "$WPROF" -q record -o t -- grep SigBlk /proc/self/status >blocked
    grep SigBlk /proc/self/status | diff blocked -
}

@test "a session has its parts, and only the owner reads it" {
    need_tier_a
    HF_TOKEN=hf_secret RANK=3 "$WPROF" record -F 499 -o s -- env API_KEY=k1 sh -c "$BUSY" busy 1 2>err
    [ "$(meta s state)" = sealed ]
    [ "$(meta s end_reason)" = "command ended" ]
    [ "$(stat -c %a s)" = 700 ]
    [ "$(stat -c %a s/events.wlog)" = 600 ]
    [ "$(stat -c %a s/meta.json)" = 600 ]
    [ "$(stat -c %a s/folded.txt)" = 600 ]
    not grep -r hf_secret s
    not grep -q k1 s/meta.json
    [[ $(meta s command) == *'API_KEY=[redacted]'* ]]
    [[ $(meta s env) == *RANK=3* ]]
    grep -q 'wprof show' err
    grep -q 'heaviest' err
    holds "$(samples s) > 30"
}

@test "under sudo the command is the caller's: user, groups, environment, and so is the session" {
    need_tier_a
    need_command setpriv
    cp "$WPROF" wprof
    mkdir bin && printf '#!/bin/sh\nid -u; id -G; echo "$HOME:$VIRTUAL_ENV:${SUDO_UID:-none}"\n' >bin/mycmd
    chmod 755 bin/mycmd bin wprof
    FAKE_UID=65534 FAKE_GID=65534 HOME=/home/alice VIRTUAL_ENV=/venv PATH=$D/bin:$PATH \
        "$ROOT/tests/fakes/sudo" ./wprof -q record -o s -- mycmd >out
    [ "$(sed -n 1p out)" = 65534 ]
    [ "$(sed -n 2p out)" = "$(id -G nobody)" ]
    [ "$(sed -n 3p out)" = "/home/alice:/venv:none" ]
    [ "$(stat -c %u:%g s s/meta.json s/events.wlog s/folded.txt | sort -u)" = 65534:65534 ]
    [ "$(meta s user)" = nobody ]
}

# ---- how it ends ----

@test "--duration seals and waits for the command" {
    need_tier_a
    # a command that ends once the session is sealed, or fails
    fails 5 "$WPROF" record --duration 600ms -F 499 -o s -- sh -c '
        for i in $(seq 2000); do ! grep -q \"sealed\" s/meta.json || exit 5; sleep 0.02; done'
    [ "$(meta s end_reason)" = duration ]
    holds "$(meta s duration_s) >= 0.6"
    holds "$(samples s) > 5"
}

@test "--delay records later" {
    need_tier_a
    mapfile -t cmd < <(busy 2)
    local began=$EPOCHREALTIME
    "$WPROF" -q record --delay 1s -o s -- "${cmd[@]}"
    holds "$(meta s duration_s) + 1 < $EPOCHREALTIME - $began"
    holds "$(samples s) > 10"
}

@test "--max-size ends the recording, not the command" {
    need_tier_a
    mapfile -t cmd < <(busy 3 6)
    fails 6 "$WPROF" record -F 999 --max-size 4k -o s -- "${cmd[@]}"
    [ "$(meta s end_reason)" = max-size ]
    holds "$(samples s) > 10"
}

# script runs its line by $SHELL: bash waits for wprof and writes the code, where dash would die of the ^C itself
@test "^C reaches the command, ends the recording, and its code is passed on" {
    need_tier_a
    need_command script
    (until_true 60 test -e ready; sleep 1; printf '\003'; sleep 1) |
        SHELL=/bin/bash script -qec "'$WPROF' record -o s -- sh -c 'trap \"exit 9\" INT; touch ready; while :; do :; done'; echo \$? >code" \
            /dev/null >out
    [ "$(cat code)" = 9 ]
    [ "$(meta s state)" = sealed ]
    holds "$(samples s) > 0"
}

@test "a command that survives ^C runs on after the recording" {
    need_tier_a
    need_command script
    (until_true 60 test -e ready; printf '\003'; sleep 3) |
        SHELL=/bin/bash script -qec "'$WPROF' record -o s -- sh -c 'trap : INT; touch ready; sleep 2; sleep 1; exit 4'; echo \$? >code" \
            /dev/null >out
    [ "$(cat code)" = 4 ]
    [ "$(meta s end_reason)" = interrupted ]
}

@test "SIGTERM and SIGUSR1 to wprof go to the command" {
    need_tier_a
    "$WPROF" -q record -o s -- sh -c 'trap "touch usr1" USR1; trap "exit 8" TERM; touch ready; while :; do sleep 0.1; done' &
    local pid=$!
    STARTED=$pid
    until_true 60 test -e ready
    kill -USR1 "$pid"
    until_true 60 test -e usr1
    kill -TERM "$pid"
    local code=0
    wait "$pid" || code=$?
    [ "$code" = 8 ]
    [ "$(meta s end_reason)" = "command ended" ]
}

@test "kill -9 of wprof leaves the command running and a session that opens" {
    need_tier_a
    mapfile -t cmd < <(busy 4)
    "$WPROF" -q record -F 499 -o s -- sh -c 'echo $$ >pid; "$@"; touch finished' sh "${cmd[@]}" &
    local pid=$!
    until_true 60 test -s pid
    STARTED="$pid $(cat pid)"
    sleep 2.7
    kill -9 "$pid"
    kill -0 "$(cat pid)"
    "$WPROF" export --format folded s >s/folded.txt
    holds "$(samples s) > 20"
    until_true 60 test -e finished
}

@test "a full disk ends the recording, not the command, and what was written opens" {
    need_tier_a
    mkdir small
    mount -t tmpfs -o size=400k tmpfs small || skip "cannot mount a tmpfs"
    MOUNTED=$D/small
    mapfile -t cmd < <(busy 4 5)
    "$WPROF" record -F 999 -o small/s -- sh -c 'sleep 2.5; dd if=/dev/zero of=small/fill bs=1k 2>/dev/null; "$@"' sh "${cmd[@]}" 2>err &
    local pid=$! code=0
    STARTED=$pid
    wait "$pid" || code=$?
    cat err
    [ "$code" = 5 ]
    grep -qi 'no space' err
    [ "$(meta small/s end_reason)" = "disk full" ]
    "$WPROF" show small/s >shown
}

@test "attached: ends with the process, and with its whole tree followed" {
    need_tier_a
    mapfile -t cmd < <(busy 2)
    sh -c 'until [ -s s/events.wlog ]; do sleep 0.05; done; "$@"' sh "${cmd[@]}" &
    local pid=$!
    STARTED=$pid
    fails 0 "$WPROF" record -p "$pid" -p 1999999991 -o s
    says '1999999991 does not exist'
    [ "$(meta s end_reason)" = "targets ended" ]
    [ "$(meta s pid)" = "$pid" ]
    holds "$(samples s) > 20"
}

@test "attached: --duration and SIGINT end it, the process runs on" {
    need_tier_a
    sleep 60 &
    STARTED=$!
    fails 0 "$WPROF" record -p "$STARTED" --duration 300ms -o a
    [ "$(meta a end_reason)" = duration ]
    "$WPROF" -q record -p "$STARTED" -o b 3>&- &
    local pid=$!
    until_true 60 test -s b/events.wlog
    sleep 0.3
    kill -TERM "$pid"
    wait "$pid"
    [ "$(meta b end_reason)" = interrupted ]
    kill -0 "$STARTED"
}

# ---- side by side ----

@test "two recorders at once" {
    need_tier_a
    mapfile -t cmd < <(busy 2)
    "$WPROF" -q record -F 199 -o a -- "${cmd[@]}" &
    local one=$!
    "$WPROF" -q record -F 199 -o b -- "${cmd[@]}" &
    local two=$!
    STARTED="$one $two"
    wait $one
    wait $two
    holds "$(samples a) > 20"
    holds "$(samples b) > 20"
}

@test "record inside record" {
    need_tier_a
    mapfile -t cmd < <(busy 2 3)
    fails 3 "$WPROF" -q record -F 199 -o outer -- "$WPROF" -q record -F 199 -o inner -- "${cmd[@]}"
    holds "$(samples inner '^(sh|date)') > 20"
    holds "$(samples outer '^(sh|date)') > 20"
}

# ---- without the means ----

@test "without root: one clear message, 125, and the command does not run" {
    [ "$(id -u)" = 0 ] || need_command setpriv
    cp "$WPROF" wprof
    mkdir out && chmod 777 out
    as_nobody=()
    [ "$(id -u)" != 0 ] || as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    fails 125 "${as_nobody[@]}" ./wprof record --tier A -o out/s -- touch out/ran
    says 'root|cap_bpf|capabilit'
    says 'was not started'
    [ "$(wc -l <<<"$output")" = 1 ]
    [ ! -e out/ran ] && [ ! -e out/s ]
    fails 0 "${as_nobody[@]}" ./wprof record --tier A --keep-going -o out/s -- touch out/ran
    [ -e out/ran ]
}

@test "no permission where the session should be" {
    need_tier_a
    need_command setpriv
    fails 125 "$WPROF" record -o /proc/nowhere/s -- touch ran
    says '/proc/nowhere'
    [ ! -e ran ]
}

@test "a full disk: the session says so and has what was recorded until then" {
    need_tier_a
    mkdir small
    mount -t tmpfs -o size=2m tmpfs small || skip "cannot mount a tmpfs"
    # A command that takes whatever space becomes free at once.
    run -7 --separate-stderr "$WPROF" record -F 499 -o small/s -- python3 -c '
import sys, time
f, end = open("small/fill", "wb", 0), time.monotonic() + 3
while time.monotonic() < end:
    try:
        f.write(bytes(4096))
    except OSError:
        pass
sys.exit(7)'
    run -0 python3 -c 'import json
d = json.load(open("small/s/meta.json"))
print(d["state"], d["end_reason"], d["quality"]["taken"] > 5)' || true
    state=$output
    "$WPROF" show -n 0 small/s >out 2>&1 || true
    umount small
    [[ $stderr == *"No space left"* ]]
    [ "$state" = "sealed disk full True" ]
    grep -q "disk full" out
    grep -q "<module>" out
}

@test "what -o and -F may not be, an event without a PMU" {
    need_tier_a
    fails 125 "$WPROF" record -F 99999999999999999999 -- touch ran
    says '99999999999999999999 is too large a number'
    fails 125 "$WPROF" record -o '' -- touch ran
    says 'has an empty name'
    mkdir real && ln -s real link
    fails 125 "$WPROF" record -o link -- touch ran
    says 'link is a symlink'
    [ ! -e ran ]
    if "$WPROF" events cycles 2>/dev/null | grep -q cycles; then return; fi
    "$WPROF" record -e cycles -o s -- true 2>err || true
    grep -q -- "-e cpu-clock" err
}

@test "a session's directory that is removed meanwhile is said, and nothing to type next" {
    need_tier_a
    fails 3 "$WPROF" record -o gone -- sh -c 'rm -rf gone; exit 3'
    says 'gone was removed while it was recorded'
    if says 'wprof show gone'; then false; fi
}

@test "a limit on the size of files ends the recording, not wprof" {
    need_tier_a
    need_command python3
    fails 7 bash -c 'ulimit -f 8; "$WPROF" record -F 999 -o s -- python3 -c "
import signal, sys, time
end = time.monotonic() + 3
while time.monotonic() < end:
    sorted(str(i) for i in range(1000))
sys.exit(8 if signal.pthread_sigmask(signal.SIG_BLOCK, []) else 7)"'
    says 'File too large'
    [ "$(meta s end_reason)" = "write failed" ]
}
