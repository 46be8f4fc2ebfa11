#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Many threads and many short processes: all are known, nothing is lost silently. WPROF_TEST_FORKS=100000 for the full size.
# alone: a thousand threads take all CPUs
load common

setup_file() {
    build_workloads
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    FORKS=${WPROF_TEST_FORKS:-10000}
}

# asked 'EXPRESSION'...: each true of the session s: d, `show --json`; c, its collectors' counters by "collector.name".
asked() {
    "$WPROF" show --top 0 --json s >shown
    python3 - "$@" <<'END'
import json, sys
d = json.load(open("shown"))
c = {x["name"] + "." + k: v for x in json.load(open("s/meta.json"))["collectors"] for k, v in x["counters"].items()}
for e in sys.argv[1:]:
    if not eval(e):
        sys.exit("does not hold: %s\n%s\n%s" % (e, {k: v for k, v in d.items() if not isinstance(v, (list, dict))}, c))
END
}

# As many samples as the CPU time asks for: within 5 standard errors, and 4 %.
AS_EXPECTED='(d["taken"] - d["expected"]) ** 2 < (5 * d["expected"] ** 0.5 + 0.04 * d["expected"]) ** 2'

# recorded OPTION...: a new session, s.
recorded() {
    rm -rf s
    "$WPROF" record -q -o s "$@"
}

thousand() {
    recorded -F 499 -- "$WORKLOADS/threads" 1000 2 || return 1
    asked 'c["offcpu.lost_ns"] == 0 and c["offcpu.unfollowed"] == 0 and c["cpu.control_lost"] == 0' 'd["lost"] == 0' "$AS_EXPECTED"
}

@test "tier A: 1,000 threads, each with its waits and its CPU time" {
    need_tier_a
    in_three thousand
    # each began as a runnable thread, and waited for its turn
    "$WPROF" export --metric runq --pids s >runq
    [ "$(grep -oE 'worker-[0-9]+ \([0-9]+\)' runq | sort -u | wc -l)" = 1000 ]
}

short() {
    recorded -F 199 -- "$WORKLOADS/fork_churn" "$FORKS" 0
    asked 'd["lost"] == 0 and c["cpu.control_lost"] == 0 and c["cpu.unfollowed"] == 0 and c["offcpu.unfollowed"] == 0' \
        "len([p for p in d['processes'] if p['name'] == 'fork_churn']) == $FORKS + 1" "$AS_EXPECTED" \
        'd["rss_max"] < 256 << 20'
}

@test "tier A: short processes, all of them; the samples that their time asks for, the kernel's work at their end included" {
    need_tier_a
    in_three short
    holds "$(samples s 'do_exit') > 0"
    holds "$(quality s unwound_share) > 0.95"
}

# tier B|C: skips where an ordinary user cannot record that way here.
tier() {
    "$WPROF" doctor --json 2>/dev/null | python3 -c 'import json, sys
sys.exit(not any(t["tier"] == sys.argv[1] and t["state"] in ("ok", "limited") for t in json.load(sys.stdin)["tiers"]))' "$1" ||
        skip "needs tier $1"
}

thousand_from_outside() {
    recorded --tier "$1" -F 199 -- "$WORKLOADS/threads" 1000 2 || return 1
    asked 'd["lost"] < 0.1 * d["expected"]' "$AS_EXPECTED" # perf's ring may be full when a thousand begin at once
}

@test "tiers B and C: 1,000 threads that run for less than a period: together they have the samples of their time" {
    for t in B C; do
        tier $t
        in_three thousand_from_outside $t
    done
}

short_in_b() {
    recorded --tier B -F 199 -- "$WORKLOADS/fork_churn" $((FORKS / 10)) 0 exec || return 1
    asked 'd["rss_max"] < 256 << 20' 'd["taken"] + d["lost"] > 0.7 * d["expected"]' 'len(d["processes"]) > 1' # what the kernel does at their end is not seen
}

short_in_c() {
    recorded --tier C -F 199 -- "$WORKLOADS/fork_churn" $((FORKS / 2)) 0 || return 1
    asked 'd["rss_max"] < 256 << 20' 'd["taken"] > 0.8 * d["expected"] - 10' # but for the last 50 ms
}

@test "tiers B and C: short processes" {
    tier B
    in_three short_in_b
    tier C
    in_three short_in_c
}
