#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
load common

@test "events: lists the software events, and whether they open" {
    run -0 --separate-stderr "$WPROF" events
    [[ ${lines[0]} == EVENT*PMU*OPENS* ]]
    grep -qE '^cpu-clock +perf +(yes|user|no) ' <<<"$output"
    grep -qE '^page-faults ' <<<"$output"
    [[ $stderr == *"record samples "* ]]
}

@test "events: a pattern is part of the name, or a glob" {
    run -0 --separate-stderr "$WPROF" events CLOCK
    grep -q '^cpu-clock' <<<"$output"
    not grep -q '^page-faults' <<<"$output"
    run -0 --separate-stderr "$WPROF" events 'page*'
    [ "${#lines[@]}" = 2 ]
}

@test "events: the nearest names where nothing fits, exit 3" {
    run -3 "$WPROF" events cpu-clok
    [[ $output == *"nearest: cpu-clock"* ]]
}

@test "events --json: the same, with reasons" {
    "$WPROF" events --json 2>/dev/null | python3 -c '
import json, sys
e = json.load(sys.stdin)
assert any(x["name"] == "cpu-clock" for x in e)
for x in e:
    assert x["opens"] in ("yes", "user", "no"), x
    assert (x["why"] is not None) == (x["opens"] == "no"), x'
}

@test "events of a forced PMU" {
    "$WPROF" version | grep -qE '^  pfm +yes' || skip "needs libpfm4"
    LIBPFM_FORCE_PMU=skl LIBPFM_ENCODE_INACTIVE=1 run -0 --separate-stderr "$WPROF" events 'skl::l2_rqsts:*'
    [ "${#lines[@]}" -gt 5 ]
}

@test "an event that opens for nobody is no" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    need_command setpriv
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ] || skip "needs perf_event_paranoid >= 2"
    run -0 --separate-stderr setpriv --reuid 65534 --clear-groups --bounding-set -all --inh-caps -all "$WPROF" events cpu-clock
    grep -qE '^cpu-clock +perf +(user|no)' <<<"$output"
}
