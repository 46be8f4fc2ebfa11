#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a few requests take far longer than the others, and whether a change helped: examples/serve.py with its flaw and
# without, what holds its slow requests up, and the difference.
#   examples/serving.sh [SECONDS]     of load, each time
set -eu
here=$(dirname "$0")
: "${WPROF:=wprof}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$WPROF" record -q -o "$work/before" -- python3 "$here/serve.py" --seconds "${1:-10}"
"$WPROF" record -q -o "$work/after" -- python3 "$here/serve.py" --seconds "${1:-10}" --fixed

"$WPROF" report "$work/before"
"$WPROF" show --units request --top 5 "$work/before"
"$WPROF" diff "$work/before" "$work/after"
