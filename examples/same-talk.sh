#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does a command talk to whom it talked before, and as much? Records it twice: 0 when the topologies are equal, 1 when not.
#   examples/same-talk.sh CMD...
set -eu
: "${WPROF:=wprof}"

dir=$(mktemp -d)
"$WPROF" record --interval 1s -o "$dir/before" -- "$@"
"$WPROF" record --interval 1s -o "$dir/after" -- "$@"
"$WPROF" diff --topology --by-name "$dir/before" "$dir/after"
