#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The page of wprof report in a headless Chromium; see page.bats.

load common

setup_file() {
    export RESULTS=$BATS_FILE_TMPDIR/results
    local root=$BATS_TEST_DIRNAME/../..
    : "${BUILD:=$root/build}"
    find_browser
    "$BUILD/wprof" version | grep -qE '^ *cmark +yes' || MISSING=libcmark
    export MISSING
    [ -z "$MISSING" ] || return 0
    cd "$BATS_FILE_TMPDIR"
    for i in {1..40}; do
        echo "main;<img src=x onerror=alert(1)>;f$i $i"
    done >x
    "$BUILD/wprof" import -o s x 2>/dev/null
    "$BUILD/wprof" report --format html -o page.html s
    timeout 200 python3 "$BATS_TEST_DIRNAME/report_test.py" "$PWD/page.html" >"$RESULTS"
}

@test "report: no message in the console, no request" { expect no_console_message_and_no_request; }
@test "report: the report is read first" { expect report_is_read_first; }
@test "report: the page scrolls" { expect the_page_scrolls; }
@test "report: the panes are below, still pictures hidden" { expect panes_are_below; }
@test "report: names are text" { expect names_are_text; }
@test "report: print has the pictures" { expect print_has_pictures; }
@test "report: without a script too" { expect without_a_script_too; }
@test "report: without a script it is long" { expect without_a_script_it_is_long; }
