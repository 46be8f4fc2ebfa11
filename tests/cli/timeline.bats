#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The timeline in the page: render --view timeline.
load common

# A session of two threads, with waits, marks and metrics; see tests/unit/timeline_fixture.h.
setup() {
    cd "$BATS_TEST_TMPDIR"
    [ -x "$BUILD/tests/unit/test_timeline_session" ] || skip "needs the unit tests, built"
    WPROF_SESSION=$PWD/s "$BUILD/tests/unit/test_timeline_session" >/dev/null 2>&1
}

# info PAGE EXPR: a Python expression over the page's info.
info() {
    sed -n 's/.*id="info">\(.*\)<\/script>$/\1/p' "$1" | python3 -c '
import json, sys
info = json.load(sys.stdin)
assert eval(sys.argv[1]), info' "$2"
}

@test "render --view timeline: the page opens with it" {
    "$WPROF" render --view timeline -o page.html s
    info page.html 'info["view"] == "timeline" and info["timeline"]["switches"] and info["timeline"]["end"] == 100000000'
    grep -q 'data-pane="timeline"' page.html
}

@test "render: a page of another view has the timeline in a tab" {
    "$WPROF" render -o page.html s
    info page.html 'info["view"] == "cpu" and info["timeline"]'
    grep -q 'data-pane="timeline"' page.html
}

@test "render: no timeline where nothing has a time" {
    printf 'a;b 1\n' | "$WPROF" import -o folded - 2>/dev/null
    "$WPROF" render -o page.html folded
    info page.html '"timeline" not in info'
    ! grep -q 'data-pane="timeline"' page.html
    run -3 --separate-stderr "$WPROF" render --view timeline folded
    [[ $stderr == *"there is no timeline"* ]]
}

@test "render --view timeline: a picture has none" {
    run -3 --separate-stderr "$WPROF" render --format svg --view timeline s
    [[ $stderr == *"svg has no timeline: --format html has"* ]]
}

@test "render --view timeline: a recording of samples alone" {
    need_tier_a
    "$WPROF" record --without offcpu --duration 5 -o real -- \
        sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' 2>/dev/null
    "$WPROF" render --view timeline -o page.html real
    info page.html 'not info["timeline"]["switches"]'
}
