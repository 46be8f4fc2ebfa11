# SPDX-License-Identifier: Apache-2.0
# What the tests of pages share: they read what one run of a browser found, in $RESULTS.

# What is lacking, in MISSING; empty: nothing.
find_browser() {
    local browser
    MISSING=
    command -v python3 >/dev/null || MISSING=python3
    for browser in chromium chromium-browser google-chrome google-chrome-stable ""; do
        [ -z "$browser" ] || ! command -v "$browser" >/dev/null || break
    done
    [ -n "$browser" ] || MISSING=chromium
    export MISSING
}

# expect CHECK: it ran, and was found to hold.
expect() {
    [ -z "$MISSING" ] || skip "needs $MISSING"
    grep -E "^[a-zA-Z]+ $1(:|\$)" "$RESULTS" || { echo "$1 did not run"; return 1; }
    grep -qx "ok $1" "$RESULTS"
}
