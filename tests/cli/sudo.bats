#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# record --sudo: with a real sudo, a user and a sudoers file that only these tests see (in a mount namespace of their own).
load common

HASH='$6$wprof$tLsM6T.mpaElcWsrdNSWZwCiQWlqx6wci/BYXTBHeu3rZTTsNSmM6rqGyAKhpn2r3LHoQXAwn0lwRusiTBRmC/' # of "secret"

setup() {
    need_tier_a
    need_command sudo
    need_command unshare
    need_command setpriv
    D=$(mktemp -d)
    chmod 755 "$D"
    mkdir -m 700 "$D/ts"
    mkdir "$D/home"
    chown 31337:31337 "$D/home"
    cp "$WPROF" "$D/wprof"
    chmod 755 "$D/wprof"
    # as distributions have it, and a bit stricter
    printf 'Defaults %s\n' env_reset use_pty 'secure_path="/usr/sbin:/usr/bin:/sbin:/bin"' >"$D/sudoers"
    { sed '/^wptest:/d' /etc/passwd && echo "wptest:x:31337:31337::$D/home:/bin/sh"; } >"$D/passwd"
    { sed '/^wptest:/d' /etc/group && echo 'wptest:x:31337:'; } >"$D/group"
    { sed '/^wptest:/d' /etc/shadow && echo "wptest:$HASH:19000:0:99999:7:::"; } >"$D/shadow"
    chmod 600 "$D/shadow"
    unshare -m true || skip "needs a mount namespace"
    cd "$D/home" || return
}

teardown() {
    [ -z "${D-}" ] || { cd / && rm -rf "$D"; }
}

# may RULE: what the user may by sudo.
may() {
    echo "wptest $1" >>"$D/sudoers"
    chmod 440 "$D/sudoers"
}

# user CMD...: as that user, with sudo as set up.
user() {
    # shellcheck disable=SC2016
    D=$D timeout --foreground 60 unshare -m --propagation private sh -c '
        for f in passwd group shadow sudoers; do mount --bind "$D/$f" "/etc/$f"; done
        mkdir -p /run/sudo/ts && mount --bind "$D/ts" /run/sudo/ts
        exec setpriv --reuid 31337 --regid 31337 --init-groups --reset-env "$@"' sh "$@"
}

# fails CODE CMD...: with that code, whatever it says in "$D/said".
fails() {
    local want=$1 code=0
    shift
    "$@" >"$D/out" 2>"$D/said" || code=$?
    [ "$code" = "$want" ] || { cat "$D/said"; echo "exit $code, not $want"; return 1; }
}

@test "the command is the user's: ids, environment, directory, exit code; the session too" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    # shellcheck disable=SC2016
    fails 7 user env VENV=here "$D/wprof" record -q --sudo -F 199 -o s -- \
        sh -c 'id -u; id -G; echo "$HOME:$VENV:${SUDO_UID:-none}"; pwd; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exit 7'
    [ "$(cat "$D/out")" = "31337
31337
$D/home:here:none
$D/home" ]
    [ "$(stat -c %u:%g s s/* | sort -u)" = 31337:31337 ]
    [ "$(meta s user)" = wptest ]
    [ "$(meta s exit_code)" = 7 ]
    [ "$(meta s end_reason)" = "command ended" ]
    [[ "$(meta s command)" == "['sh', '-c', "*"exit 7'"* ]]
    [ "$(meta s tier)" = A ]
    holds "$(samples s) > 10"
}

@test "what the command is, sudo's log doesn't hear of" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    printf 'Defaults logfile=%s/log\n' "$D" >>"$D/sudoers"
    fails 0 user "$D/wprof" record -q --sudo -o s -- sh -c 'sleep 0.1; : unspeakable'
    grep -q 'COMMAND=.*record' "$D/log"
    run ! grep -q unspeakable "$D/log"
}

@test "settings and options of the user hold for the half that collects" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    fails 0 user env WPROF_RECORD_FREQUENCY=457 "$D/wprof" record -q --sudo --duration 300ms -o s -- sleep 1
    [ "$(meta s frequency)" = 457 ]
    [ "$(meta s end_reason)" = duration ]
}

# refused WORDS OPTION...: as the user alone is refused that, so it is with --sudo, and nothing has changed.
refused() {
    local words=$1
    shift
    fails 125 user "$D/wprof" record "$@" -- touch ran
    grep -q "$words" "$D/said"
    fails 125 user "$D/wprof" record --sudo "$@" -- touch ran
    grep -q "$words" "$D/said"
    [ ! -e ran ]
}

@test "the session is made with the user's rights: nothing of others is made or replaced" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    mkdir -m 755 "$D/roots"
    refused 'Permission denied' -o "$D/roots/new"
    [ ! -e "$D/roots/new" ]
    "$D/wprof" record -q -o "$D/roots/s" -- true
    chmod 755 "$D/roots/s"
    before=$(stat -c '%n %u %g %a %Y %s' "$D/roots/s" "$D/roots/s"/*)
    refused "no wprof session\\|another user's" --force -o "$D/roots/s"
    [ "$(stat -c '%n %u %g %a %Y %s' "$D/roots/s" "$D/roots/s"/*)" = "$before" ]
    # shellcheck disable=SC2016
    fails 125 user sh -c 'sleep 30 & '"$D/wprof record --sudo --duration 300ms -o $D/roots/new"' -p $!; code=$?; kill $!; exit $code'
    grep -q 'Permission denied' "$D/said"
    [ ! -e "$D/roots/new" ]
    # where a group of the user's may write, so may he
    mkdir -m 770 "$D/groups"
    chgrp 31338 "$D/groups"
    fails 125 user "$D/wprof" record -q --sudo -o "$D/groups/s" -- true
    echo 'more:x:31338:wptest' >>"$D/group"
    fails 0 user "$D/wprof" record -q --sudo -o "$D/groups/s" -- true
    [ "$(stat -c %u:%g "$D/groups/s" "$D/groups/s"/* | sort -u)" = 31337:31337 ]
}

@test "a signal's code, a command that isn't there, a directory that is taken" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    # shellcheck disable=SC2016
    fails 143 user "$D/wprof" record -q --sudo -o s -- sh -c 'kill -TERM $$'
    [ "$(meta s exit_code)" = 143 ]
    fails 127 user "$D/wprof" record --sudo -o none -- no-such-command
    grep -q 'no-such-command: no such command in PATH' "$D/said"
    [ ! -e none ]
    fails 125 user "$D/wprof" record --sudo -o s -- touch ran
    grep -q 's exists' "$D/said"
    [ ! -e ran ]
}

@test "the session is made where the user may make it, and nowhere else" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    mkdir -m 755 "$D/roots"
    mkdir -m 700 "$D/roots/s"
    fails 125 user "$D/wprof" record --sudo -o "$D/roots/new" -- touch ran
    grep -q 'new: Permission denied' "$D/said"
    fails 125 user "$D/wprof" record --sudo --force -o "$D/roots/s" -- touch ran
    grep -q "s is another user's" "$D/said"
    fails 125 user "$D/wprof" record --sudo --duration 1s -o "$D/roots/new" -p 1
    grep -q 'new: Permission denied' "$D/said"
    [ ! -e "$D/roots/new" ] && [ ! -e ran ]
    [ "$(stat -c %u "$D/roots/s")" = 0 ]
}

@test "SIGTERM reaches the command" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    # shellcheck disable=SC2016
    fails 5 user sh -c "$D/wprof"' record -q --sudo -o s -- sh -c "trap \"exit 5\" TERM; touch up; while :; do sleep 0.05; done" &
        until [ -e up ]; do sleep 0.05; done; sleep 0.2; kill -TERM $!; wait $!'
    [ "$(meta s exit_code)" = 5 ]
}

@test "where sudo says no, the command isn't started; with --keep-going it is" {
    may 'ALL=(ALL) ALL' # asks, and there is no terminal
    fails 125 user setsid -w "$D/wprof" record --sudo -o s -- touch ran
    grep -q 'touch was not started: --sudo: sudo: a password is required' "$D/said"
    [ ! -e ran ] && [ ! -e s ]
    fails 3 user setsid -w "$D/wprof" record --sudo --keep-going -o s -- sh -c 'touch ran; exit 3'
    grep -q 'runs unrecorded' "$D/said"
    [ -e ran ] && [ ! -e s ]
}

@test "without sudo" {
    fails 125 user env PATH=/nowhere "$D/wprof" record --sudo -o s -- /bin/true
    grep -q 'there is no sudo in PATH' "$D/said"
}

# at_terminal KEYS CMD...: on a terminal of its own; "N:TEXT" in KEYS is typed when N times "password for" or, for
# go:TEXT, the command's "go" was shown. Says the terminal's modes at "go".
at_terminal() {
    python3 - "$@" <<'END'
import os, pty, select, sys, termios, time
keys, cmd = sys.argv[1].split(","), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(cmd[0], cmd)
out, end, modes = b"", time.time() + 40, None
while time.time() < end:
    if select.select([fd], [], [], 0.1)[0]:
        try:
            got = os.read(fd, 4096)
        except OSError:
            break
        out += got
    if modes is None and b"go\r" in out:
        time.sleep(0.3)
        a = termios.tcgetattr(fd)
        modes = bool(a[3] & termios.ICANON and a[3] & termios.ISIG and a[1] & termios.OPOST)
    if keys and keys[0]:
        when, text = keys[0].split(":")
        if modes if when == "go" else out.count(b"password for") >= int(when):
            time.sleep(0.2)
            os.write(fd, text.replace("^C", "\x03").encode() + (b"" if "^" in text else b"\n"))
            keys.pop(0)
print(out.decode(errors="replace"), "modes kept:", modes)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
}

@test "a password is asked for on the terminal, which stays as it is" {
    may 'ALL=(ALL) ALL'
    export D
    export -f user
    fails 5 at_terminal 1:wrong,2:secret bash -c "user $D/wprof record --sudo -o s -- sh -c 'echo go; sleep 0.6; tty; exit 5'"
    grep -q 'modes kept: True' "$D/out"
    grep -q '^/dev/pts/' "$D/out"
    [ "$(meta s exit_code)" = 5 ]
}

@test "^C is the command's, and ends the recording" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    export D
    export -f user
    at_terminal go:^C bash -c "user $D/wprof record --sudo -o s -- sh -c 'trap \"echo caught; exit 9\" INT; echo go; sleep 20; sleep 20'" >"$D/out" || true
    grep -q caught "$D/out"
    [ "$(meta s state)" = sealed ]
    [ "$(meta s end_reason)" = interrupted ] || [ "$(meta s end_reason)" = "command ended" ]
}

@test "with -p all of wprof runs under sudo, and the session is the user's" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    # shellcheck disable=SC2016
    fails 0 user sh -c 'sleep 30 & '"$D/wprof"' record -q --sudo --duration 300ms -o s -p $!; code=$?; kill $!; exit $code'
    [ "$(stat -c %u:%g s s/* | sort -u)" = 31337:31337 ]
}

@test "the signals of --start-on and --stop-on are for the recording" {
    may 'ALL=(ALL) NOPASSWD: ALL'
    # shellcheck disable=SC2016
    fails 6 user sh -c "$D/wprof"' record -q --sudo --start-on USR1 --stop-on USR2 -o s -- \
        sh -c "touch up; i=0; while [ ! -e down ]; do sleep 0.05; done; exit 6" &
        until [ -e up ]; do sleep 0.05; done; sleep 1; kill -USR1 $!; sleep 1; kill -USR2 $!
        until grep -q sealed s/meta.json; do sleep 0.05; done; touch down; wait $!'
    holds "$(meta s duration_s) > 0.5 && $(meta s duration_s) < 10"
    [[ "$(meta s end_reason)" == "stop signal" ]]
    fails 125 user "$D/wprof" record --sudo --kill -o k -- true
    grep -q 'does not go with --kill' "$D/said"
}
