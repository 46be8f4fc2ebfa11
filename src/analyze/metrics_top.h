/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of metrics. */
#ifndef WPROF_ANALYZE_METRICS_TOP_H
#define WPROF_ANALYZE_METRICS_TOP_H

#include "analyze/metrics_sums.h"
#include "model/table.h"

/* Every metric of every task, a row for each. Columns: of ("machine", "cgroup", "process", "thread"),
 * process, pid, tid, cpu, metric, kind, unit, min, mean, max, last, total, readings; numbers in the unit, a
 * counter's but for total per second. Without a value: null. */
void metrics_table_all(struct table *t, const struct metrics_sums *x);

/* For people: the machine's, or the control groups' (cgroup): what, min, mean, max, last, total. */
void metrics_table_machine(struct table *t, const struct metrics_sums *x, int cgroup);

/* What each process used, a column a metric; the most CPU time first; at most `limit` (0: all). */
void metrics_table_processes(struct table *t, const struct metrics_sums *x, size_t limit);

/* The same of threads: time on CPUs and on which, and what the counters of the CPU say. */
void metrics_table_threads(struct table *t, const struct metrics_sums *x, size_t limit);

#endif
