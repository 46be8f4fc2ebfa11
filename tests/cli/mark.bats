#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# wprof mark: what is sent, to whom, and that it does no harm where nobody records.

load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset WPROF_MARKS
}

# A stand-in for a recorder: prints what arrives at the socket $1, $2 datagrams of it.
receive() {
    python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
s.settimeout(30)
open("ready", "w").close()
for _ in range(int(sys.argv[2])):
    print(s.recv(4096).decode())' "$@"
}

@test "without a recording nothing happens, and it is no error" {
    run -0 --separate-stderr "$WPROF" mark step 1
    [ -z "$output$stderr" ]
    WPROF_MARKS=$PWD/gone run -0 --separate-stderr "$WPROF" mark step 1
    [ -z "$output$stderr" ]
    python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind("dead")'
    WPROF_MARKS=$PWD/dead run -0 --separate-stderr "$WPROF" mark step 1
    [ -z "$output$stderr" ]
}

@test "a session that nobody records is an error that says so" {
    mkdir s
    run -3 "$WPROF" mark --session s step 1
    [[ $output == *"s: no recording takes marks there"* ]]
    run -3 "$WPROF" mark --session none step 1
    [[ $output == *"none: no recording"* ]]
}

@test "the line names the process that calls, or the one that is asked for" {
    receive "$PWD/m" 5 >got &
    for _ in {1..300}; do [ -e ready ] && break; sleep 0.1; done
    export WPROF_MARKS=$PWD/m
    "$WPROF" mark step 1
    "$WPROF" mark --pid 4711 begin request 7
    "$WPROF" mark end request 7
    "$WPROF" mark checkpoint   written
    "$WPROF" mark -- mark --here
    wait $!
    [ "$(sed -n 2p got)" = "@4711 begin request 7" ]
    sed 's/^@[1-9][0-9]* //' got >lines
    printf '%s\n' "step 1" "begin request 7" "end request 7" "mark checkpoint written" "mark --here" | cmp - lines
    [ "$(sed -n 1p got)" = "@$BASHPID step 1" ] || [ "$(sed -n 1p got)" = "@$$ step 1" ]
}

@test "wrong usage is said" {
    run -2 "$WPROF" mark
    [[ $output == *"what is to be marked?"* ]]
    run -2 "$WPROF" mark begin
    [[ $output == *"begin what?"* ]]
    run -2 "$WPROF" mark "$(printf 'x%.0s' {1..300})"
    [[ $output == *"longer than 200 bytes"* ]]
}
