#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

setup() {
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR
    mkdir -p "$XDG_CONFIG_HOME/wprof"
    FILE=$XDG_CONFIG_HOME/wprof/config
}

@test "config --list: default, file and environment with their origins" {
    run -0 "$WPROF" config --list
    grep -qE '^record.frequency +99 .*\(default\)' <<<"$output"

    printf '[record]\nfrequency = 199\n' >"$FILE"
    run -0 "$WPROF" config --list
    grep -qE "^record.frequency +199 .*\($FILE:2\)" <<<"$output"

    WPROF_RECORD_FREQUENCY=299 run -0 "$WPROF" config --list
    grep -qE '^record.frequency +299 .*\(environment WPROF_RECORD_FREQUENCY\)' <<<"$output"
}

@test "--config names another file" {
    printf '[record]\nfrequency = 199\n' >"$FILE"
    printf '[record]\nfrequency = 17\n' >"$BATS_TEST_TMPDIR/other"
    run -0 "$WPROF" --config "$BATS_TEST_TMPDIR/other" config record.frequency
    [ "$output" = 17 ]
    run -2 "$WPROF" --config "$BATS_TEST_TMPDIR/none" config record.frequency
    [[ $output == *"No such file"* ]]
}

@test "an unknown key, an indented key, a bad value: file, line, nearest name" {
    printf '[record]\nfrequenzy = 3\n' >"$FILE"
    run -2 "$WPROF" config --list
    [[ $output == *"$FILE:2: unknown setting 'record.frequenzy', did you mean 'record.frequency'?"* ]]
    printf '; fine\n[record]\n frequency = 3\n' >"$FILE"
    run -2 "$WPROF" config --list
    [[ $output == *"$FILE:3: "*"first column"* ]]
    printf '[record]\nfrequency = fast\n' >"$FILE"
    run -2 "$WPROF" version
    [[ $output == *"$FILE:2: record.frequency: 'fast'"* ]]
}

@test "a misspelled variable is said, WPROF alone is not" {
    WPROF_RECORD_FREQENCY=3 run -0 "$WPROF" config record.frequency
    [[ $output == *"WPROF_RECORD_FREQENCY in the environment is no setting"* ]]
    run -0 "$WPROF" config record.frequency
    [ "$output" = 99 ]
}

@test "config --json is the same list" {
    "$WPROF" config --json | python3 -c '
import json, sys
s = {x["key"]: x for x in json.load(sys.stdin)}
assert s["record.frequency"]["value"] == "99" and s["record.frequency"]["origin"] == "default"
assert all(x["help"] for x in s.values())'
}

@test "config: what is wrong with the command line" {
    run -2 "$WPROF" config
    [[ $output == *"--list"* ]]
    run -2 "$WPROF" config no.such
    [[ $output == *"unknown setting 'no.such'"* ]]
    run -2 "$WPROF" config a b
    [[ $output == *"'b' is too many"* ]]
}
