#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stacks of another tool become a session: shown, drawn, and written back as they came.
#   examples/folded.sh [FILE]     FILE: folded stacks; without it a few are made up
set -eu
: "${WPROF:=wprof}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

file=${1:-$work/made-up.folded}
[ $# -gt 0 ] || cat >"$file" <<'STACKS'
python3;main (train.py);load (data.py);decode_jpeg 412
python3;main (train.py);load (data.py);read;vfs_read_[k] 75
python3;main (train.py);step (train.py);at::native::conv2d;gemm 903
python3;main (train.py);step (train.py);at::native::relu 61
STACKS

session=$("$WPROF" import --from folded -o "$work/session" "$file")
"$WPROF" show --top 5 "$session"
"$WPROF" show --tree "$session"
"$WPROF" render --format svg -o "$work/flame.svg" "$session"
"$WPROF" export --format folded --kernel "$session" >"$work/again.folded"
echo
echo "the picture has $(wc -c <"$work/flame.svg") bytes; $(wc -l <"$work/again.folded") stacks written back"
