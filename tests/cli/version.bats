#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

@test "version: the version, the license, every feature" {
    run -0 "$WPROF" version
    [[ ${lines[0]} =~ ^wprof\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    [[ $output == *Apache-2.0* ]]
    for f in bpf dwarf zstd pfm; do
        grep -qE "^  $f +(yes|no) " <<<"$output"
    done
    run -0 "$WPROF" --version
    [[ ${lines[0]} == wprof\ * ]]
}

@test "version --json says the same" {
    "$WPROF" version --json | python3 -c '
import json, subprocess, sys
v = json.load(sys.stdin)
text = subprocess.run([sys.argv[1], "version"], stdout=subprocess.PIPE, check=True).stdout.decode()
assert text.startswith("wprof " + v["version"] + "\n")
for name, f in v["features"].items():
    assert any(l.split()[:2] == [name, "yes" if f["present"] else "no"] for l in text.splitlines()), name
' "$WPROF"
}

@test "version: an operand or unknown option is refused" {
    run -2 "$WPROF" version now
    [[ $output == *"'now'"* ]]
    run -2 "$WPROF" version --jsn
    [[ $output == *"did you mean --json?"* ]]
}

@test "stdout that can't be written is a failure" {
    [ -e /dev/full ] || skip "needs /dev/full"
    run -3 bash -c '"$WPROF" version >/dev/full'
    [[ $output == *"No space left"* ]]
}
