#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ^C, SIGTERM and kill -9 at random moments of a recording, in every tier (tests/tools/interrupt.py says what has to hold).
# WPROF_TEST_MOMENTS=50 tries that many of each.
load common

setup() {
    need_command python3
    "$WPROF" doctor --json >"$BATS_TEST_TMPDIR/doctor" 2>/dev/null || true
}

# moments TIER HOW...
moments() {
    local how tier=$1

    shift
    python3 -c 'import json, sys
sys.exit(not any(t["tier"] == sys.argv[1] and t["in_build"] and t["state"] in ("ok", "limited") for t in json.load(open(sys.argv[2]))["tiers"]))' \
        "$tier" "$BATS_TEST_TMPDIR/doctor" || skip "needs tier $tier"
    for how in "$@"; do
        python3 "$ROOT/tests/tools/interrupt.py" "$WPROF" "$tier" "$how" "${WPROF_TEST_MOMENTS:-3}"
    done
}

@test "tier A: ^C, SIGTERM, kill -9 at any moment" {
    moments A int twice int-p term kill
}

@test "tier B: ^C, SIGTERM, kill -9 at any moment" {
    moments B int twice int-p term kill
}

@test "tier C: ^C, SIGTERM, kill -9 at any moment" {
    moments C int twice int-p term kill
}
