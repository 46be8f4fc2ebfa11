#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Many threads and many short processes: all are known, nothing is lost silently. WPROF_TEST_FORKS=100000 for the full size.
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

@test "tier A: 1,000 threads, each with its waits and its CPU time" {
    need_tier_a
    "$WPROF" record -q -F 499 -o s -- "$WORKLOADS/threads" 1000 2
    asked 'c["offcpu.lost_ns"] == 0 and c["offcpu.unfollowed"] == 0 and c["cpu.control_lost"] == 0' 'd["lost"] == 0' "$AS_EXPECTED"
    # each began as a runnable thread, and waited for its turn
    "$WPROF" export --metric runq --pids s >runq
    [ "$(grep -oE 'worker-[0-9]+ \([0-9]+\)' runq | sort -u | wc -l)" = 1000 ]
}

@test "tier A: short processes, all of them; the samples that their time asks for, the kernel's work at their end included" {
    need_tier_a
    "$WPROF" record -q -F 199 -o s -- "$WORKLOADS/fork_churn" "$FORKS" 0
    asked 'd["lost"] == 0 and c["cpu.control_lost"] == 0 and c["cpu.unfollowed"] == 0 and c["offcpu.unfollowed"] == 0' \
        "len([p for p in d['processes'] if p['name'] == 'fork_churn']) == $FORKS + 1" "$AS_EXPECTED" \
        'd["rss_max"] < 256 << 20'
    holds "$(samples s 'do_exit') > 0"
    holds "$(quality s unwound_share) > 0.95"
}
