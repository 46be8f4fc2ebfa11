#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every file owes: a license line, a bearable length, no promises, the format.
. "$(dirname "$0")/lib.bash"

SOURCES='Makefile cmd src bpf portable templates tests examples completions man .ci'

# Data has no place for a comment: recorded inputs, expected outputs.
is_text_of_ours() {
    case $1 in
    */LICENSE* | tests/golden/* | tests/fuzz/corpus/* | tests/fsroot/* | tests/*/fixtures/* | tests/fixtures/* | tests/*/data/*) return 1 ;;
    *.json | *.png | *.txt | *.bin | *.gz | *.zst | *.folded) return 1 ;;
    esac
}

# shellcheck disable=SC2086
ours=$(files $SOURCES | while read -r f; do is_text_of_ours "$f" && echo "$f"; done)

license_of() {
    case $1 in
    bpf/*) echo 'SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause' ;;
    *) echo 'SPDX-License-Identifier: Apache-2.0' ;;
    esac
}

# The first line; the second behind "#!" or "#compdef" or <!doctype>, which must be first.
for f in $ours; do
    head -n 2 "$f" | awk 'NR == 1 || first ~ /^(#!|#compdef|<![dD][oO][cC])/ { print } NR == 1 { first = $0 }' |
        grep -qF "$(license_of "$f")" || echo "$f"
done | check "license line first"

# shellcheck disable=SC2086
wc -l $ours | awk '$2 != "total" && $1 > 800 { print $2 " has " $1 " lines" }' | check "at most 800 lines a file"

promises='\b(TODO|FIXME|XXX|HACK|not yet (implemented|supported))\b'
printf '%s\n' $ours README.md | grep -v '^tests/lint/' | xargs grep -nIE "$promises" | check "no promises in the text"

# Only cmd/ prints products and exits: everything below returns.
files src | grep '\.c$' | grep -vE '^src/(base/(mem|log)\.c|agent/)' |
    xargs grep -nE '(^|[^_.>[:alnum:]])(exit|printf|puts|putchar|abort)\(' |
    grep -vE '(sn|f|v|as)printf|^[^:]*:[0-9]*: *(/?\*|//)' | check "only cmd prints and exits"

# Another version formats otherwise.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    # shellcheck disable=SC2046
    clang-format --dry-run $(printf '%s\n' $ours | grep '\.[ch]$') 2>&1 | grep -E '^[^ ]+:[0-9]+:' |
        cut -d: -f1 | sort | uniq -c | awk '{ print $2 " has " $1 " places that clang-format would change" }' |
        check "clang-format"
else
    skip_check "clang-format" "clang-format 14"
fi
finish
