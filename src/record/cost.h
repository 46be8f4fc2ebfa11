/* SPDX-License-Identifier: Apache-2.0 */
/* What recording costs: our own CPU time against the target's, over the time that was recorded. Times in ns.
 */
#ifndef WPROF_RECORD_COST_H
#define WPROF_RECORD_COST_H

#include "model/store.h"

#include <sys/resource.h>
#include <sys/types.h>

struct cost {
    uint64_t own_start, tables_start, target_start, own;
    int running;
};

/* n processes, as they are now; none: the collectors know the target's time, or nobody. */
void cost_begin(struct cost *c, const struct store *s, const pid_t *pids, size_t n);

/* Sets own.cpu_ns in the store, as of now. */
void cost_now(const struct cost *c, struct store *s);

/* Recording ends here: our own time is taken. */
void cost_end(struct cost *c);

/*
 * Sets own.cpu_ns, target.cpu_ns and own.rss_max in the store, after the collectors set their last counters.
 * `ended`: the resources of the one command, waited for, or NULL where the processes are still there. Of two
 * figures for the target the larger is the more complete: rusage misses children that nobody waited for, sums
 * over tasks those not seen.
 */
void cost_report(struct cost *c, struct store *s, const pid_t *pids, size_t n, const struct rusage *ended);

#endif
