#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A service that runs for days and sometimes goes wrong: wprof keeps its last 30 seconds. A watcher asks for them with a
# signal, a crash leaves them by itself.
#   examples/ring.sh [CMD...]     without CMD: something that crashes after a few seconds
set -eu
: "${WPROF:=wprof}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ $# -gt 0 ] || set -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; kill -SEGV $$'

# From elsewhere, `kill -USR1` to this wprof ends the recording and leaves the command running.
code=0
"$WPROF" record --ring 30s --stop-on USR1 -o "$work/session" -- "$@" || code=$?
echo "ended with $code"
"$WPROF" show --top 5 "$work/session"
