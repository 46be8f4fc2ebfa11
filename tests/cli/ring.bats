#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The ring that keeps the end of a long run.

load common
load windows

last_second() { # TIER
    fails 0 "$WPROF" record --tier "$1" -F 199 --ring 1s -o s -- "$PHASES" alpha:0.6 sleep:1.5 gamma:0.3 sleep:0.3 delta:0.4 || return 1
    holds "$(meta s duration_s) >= 1 && $(meta s duration_s) < 2" || return 1
    [[ $(meta s notes) == *"(--ring): "*" older events are outside the ring"* ]] || return 1
    [[ $output == *"(--ring)"* ]] || return 1
    # the figures are the window's own
    holds "$(quality s taken) > 0.9 * $(quality s expected) - 3 && $(quality s taken) < 1.1 * $(quality s expected) + 3" || return 1
    [ "$(quality s taken)" = "$(samples s)" ] || return 1
    [ "$1" = C ] && return
    holds "$(samples s delta) > 5" && [ "$(samples s alpha)" = 0 ]
}

@test "--ring: the last second and its figures, in each tier" {
    tiers last_second
}

@test "--ring: a run that is shorter than the ring is there as a whole" {
    need_native
    "$WPROF" -q record -F 199 --ring 60s -o s -- "$PHASES" alpha:0.3 beta:0.3
    holds "$(samples s alpha) > 20 && $(samples s beta) > 20"
    [[ $(meta s notes) == *" 0 older events are outside"* ]]
}

@test "--ring: what collectors take to stop is not in the window" {
    local i
    for i in 1 2 3; do
        "$WPROF" -q record --ring 200ms --duration 500ms -o s$i -- sleep 0.7
        holds "$(meta s$i duration_s) >= 0.2 && $(meta s$i start_ts) < $(meta s$i end_ts)"
    done
}

@test "--ring: a crash keeps what came before it" {
    need_native
    fails 139 "$WPROF" record -F 199 --ring 1s -o s -- "$PHASES" alpha:0.5 sleep:1 gamma:0.4 die:11
    [ "$(meta s state)" = sealed ]
    [ "$(meta s exit_code)" = 139 ]
    holds "$(samples s gamma) > 5" # of the last second of a machine that may be busy
    fails 134 "$WPROF" record -F 199 --ring 1s -o t -- "$PHASES" alpha:0.5 sleep:1 gamma:0.4 die:6
    holds "$(samples t gamma) > 5"
}

@test "--ring with --stop-on: the window ends there" {
    need_native
    "$WPROF" -q record -F 199 --ring 1s --stop-on USR1 -o s -- "$PHASES" alpha:0.5 sleep:1.5 beta:0.4 signal:10 gamma:0.5
    [ "$(meta s end_reason)" = "stop signal" ]
    holds "$(samples s beta) > 5"
    [ "$(samples s alpha)" = 0 ]
    [ "$(samples s gamma)" = 0 ]
}

@test "--ring: kill -9 of wprof leaves at most two windows that open" {
    need_native
    "$WPROF" -q record -F 199 --ring 1s -o s -- "$PHASES" alpha:0.5 sleep:1.5 say:now beta:600 >out &
    local pid=$!
    STARTED=$pid
    until_true 60 grep -q now out
    STARTED="$pid $(cat "/proc/$pid/task/$pid/children")"
    sleep 3
    kill -9 $pid
    "$WPROF" export --format folded s >all
    grep -q beta all
    not grep -q alpha all
}

off_cpu_is_complete() { # TIER
    local all
    "$WPROF" -q record --tier "$1" --ring 1s --min-block 10ms --duration 2.5s --kill -o s -- "$PHASES" sleep:0.002 again || return 1
    # sums of short waits are cut off with the rest
    all=$(awk '{ s += $NF } END { printf "%.0f", s }' s/offcpu.folded.txt)
    holds "$all < 1.06e9 * $(meta s duration_s) && $all > 0.1e9 * $(meta s duration_s)" # it also waits for its turn
}

@test "--ring: short waits are summed within the window" {
    tiers off_cpu_is_complete
}

rss_kb() { # PID
    awk '/^VmRSS/ { print $2 }' "/proc/$1/status"
}

@test "--ring: memory and disk don't grow with the run" {
    need_native
    "$WPROF" -q record -F 199 --ring 1s -o s -- "$PHASES" alpha:0.05 sleep:0.02 beta:0.05 "mark:step 1" again 2>/dev/null &
    local pid=$! rss size
    until_true 20 test -e s/events.wlog
    STARTED="$pid $(cat "/proc/$pid/task/$pid/children")"
    sleep 2.5
    rss=$(rss_kb $pid) size=$(stat -c %s s/events.wlog)
    sleep 4.5
    holds "$(rss_kb $pid) < 1.2 * $rss + 1024"
    holds "$(stat -c %s s/events.wlog) < 4 * $size + 8192"
}
