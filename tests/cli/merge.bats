#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One session of many.
load common

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

@test "what can't be merged is refused, and nothing is left" {
    printf 'a;b 3\n' >a.folded
    "$WPROF" import -o a a.folded
    run -2 "$WPROF" merge a -o m
    run -2 "$WPROF" merge a a
    [[ $output == *"-o DIR"* ]]
    fails 3 "$WPROF" merge a a -o m
    says "among those before"
    fails 3 "$WPROF" merge a nothing -o m
    [ ! -e m ]
}
