#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

names() {
    "$WPROF" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

@test "wprof, wprof -h and wprof help list the commands" {
    all=$("$WPROF" help)
    [ "$("$WPROF")" = "$all" ]
    [ "$("$WPROF" -h)" = "$all" ]
    [ "$(names | wc -l)" -ge 5 ]
    names | grep -qx version
}

@test "every command has -h" {
    for c in $(names); do
        run -0 "$WPROF" "$c" -h
        [[ ${lines[0]} == "usage: wprof $c"* ]]
        [[ $output == *"--help"* ]]
    done
}

@test "help shows every page as text to a pipe, the options too" {
    [ -e "$BUILD/man/wprof.1" ] || skip "needs the pages (cmark)"
    for c in $(names) wprof session; do
        run -0 "$WPROF" help "$c"
        [[ $output == NAME*DESCRIPTION*"SEE ALSO"* ]] || { echo "$c: $output"; false; }
        not grep -E '\\[^ ]|^\.[A-Z]|.{140}' <<<"$output"
    done
    [ "$("$WPROF" help record | tr -s ' \n' ' ' | grep -c -- '- -o, --output DIR: The session')" = 1 ]
    run -0 "$WPROF" help wprof-session
    [[ $output == *"CRC-32C"* ]]
}

@test "help without pages shows what -h does" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    cp "$WPROF" "$BATS_TEST_TMPDIR/bin/wprof"
    [ "$("$BATS_TEST_TMPDIR/bin/wprof" help export)" = "$("$WPROF" export -h)" ]
    run -2 "$BATS_TEST_TMPDIR/bin/wprof" help session
    run -2 "$WPROF" help ../man/session
}

@test "help shows the manual page on a terminal" {
    need_command man
    need_command script
    need_command cmark
    output=$(env MANPAGER=cat PAGER=cat TERM=dumb script -qec "'$WPROF' help version" /dev/null | tr -s " ")
    [[ $output == *"Prints the version"* ]]
}

@test "an unknown command tells the nearest and exits with 2" {
    run -2 "$WPROF" vresion
    [[ $output == *"unknown command 'vresion', did you mean 'version'?"* ]]
    run -2 "$WPROF" frobnicate
    [[ $output == *"wprof help"* ]]
    run -2 "$WPROF" help vresion
    [[ $output == *"did you mean 'version'?"* ]]
}

@test "an unknown option tells the nearest and exits with 2" {
    run -2 "$WPROF" --verbos version
    [[ $output == *"did you mean --verbose?"* ]]
    run -2 "$WPROF" config --lst
    [[ $output == *"did you mean --list?"* ]]
    run -2 "$WPROF" config -Z
    [[ $output == *"unknown option -Z"* ]]
}

@test "wprof-NAME on PATH serves as a command" {
    printf '#!/bin/sh\necho "ext $*"\nexit 7\n' >"$BATS_TEST_TMPDIR/wprof-ext"
    chmod +x "$BATS_TEST_TMPDIR/wprof-ext"
    PATH=$BATS_TEST_TMPDIR:$PATH run -7 "$WPROF" ext a -b
    [ "$output" = "ext a -b" ]
}

@test "one of our own is never taken from PATH" {
    printf '#!/bin/sh\necho stolen\n' >"$BATS_TEST_TMPDIR/wprof-version"
    chmod +x "$BATS_TEST_TMPDIR/wprof-version"
    PATH=$BATS_TEST_TMPDIR:$PATH run -0 "$WPROF" version
    [[ $output != *stolen* ]]
}
