#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A folder of sessions: a page for each, one page that lists them, and what differs between them in SQL.
#   examples/sessions.sh [DIR]     DIR: where the sessions are; without it two are made up
set -eu
: "${WPROF:=wprof}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

dir=${1:-$work}
if [ $# -eq 0 ]; then
    printf 'train;main;load 412\ntrain;main;step;gemm 903\n' | "$WPROF" -q import --from folded -o "$dir/run-1" - >/dev/null
    printf 'train;main;load 97\ntrain;main;step;gemm 911\n' | "$WPROF" -q import --from folded -o "$dir/run-2" - >/dev/null
fi

# The newest eight, one path a line.
"$WPROF" -q ls --format json --limit 8 "$dir" | sed -n 's/^,\{0,1\}{"path":"\([^"]*\)".*/\1/p' >"$work/paths"
while read -r session; do
    mkdir -p "$session/reports"
    "$WPROF" -q report --format html -o "$session/reports/page.html" "$session"
done <"$work/paths"
"$WPROF" -q ls --format html -o "$dir/sessions.html" "$dir"
echo "$dir/sessions.html lists $(grep -c '<tr data-start' "$dir/sessions.html") sessions, $(grep -c 'class="page"' "$dir/sessions.html") with a page"

set --
while read -r session; do
    set -- "$@" "$session"
done <"$work/paths"
"$WPROF" -q query across "$@"
