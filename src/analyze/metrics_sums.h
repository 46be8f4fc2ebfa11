/* SPDX-License-Identifier: Apache-2.0 */
/* A session's metrics, summed up. */
#ifndef WPROF_ANALYZE_METRICS_SUMS_H
#define WPROF_ANALYZE_METRICS_SUMS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/metrics.h"
#include "model/session.h"

#include <stdint.h>

/* Of one metric of one task, and CPU where it is of CPUs. Counters: least, mean and most are increases per
 * second, `last` too, total the whole increase. Gauges: total is nothing. Intervals shorter than a tenth of a
 * second count in mean and total alone. */
struct metrics_sum {
    uint32_t task; /* 0: the machine; in a session of several recordings a task stands for each machine */
    uint16_t cpu;  /* METRIC_ANY_CPU: not known, or of no CPU */
    enum metric_id id;
    double least, mean, most, last;
    double total;
    uint64_t from, to; /* measured: CLOCK_MONOTONIC */
    uint64_t n;        /* readings */
};

struct metrics_sums {
    VEC(struct metrics_sum) list; /* by task, metric, CPU */
    struct map by_key;
    const struct session *s;
};

/* Metrics that are not ours (an import's, a newer wprof's) are left out. */
void metrics_sums_init(struct metrics_sums *x, const struct session *s);
void metrics_sums_release(struct metrics_sums *x);

/* Of all CPUs together: NULL where it was not measured. For metrics of CPUs the one with METRIC_ANY_CPU. */
const struct metrics_sum *metrics_sums_find(const struct metrics_sums *x, uint32_t task, enum metric_id id);

/* Whether what is of this task was measured of a machine. */
int metrics_sums_is_machine(const struct metrics_sums *x, uint32_t task);

/* The task of the machine that the session is of; METRICS_MACHINES: it is of several. */
#define METRICS_MACHINES UINT32_MAX
uint32_t metrics_sums_machine(const struct metrics_sums *x);

/* Of that machine, as metrics_sums_find(); NULL, too, where there are several. */
const struct metrics_sum *metrics_sums_of_machine(const struct metrics_sums *x, enum metric_id id);

/* A counter's total over all CPUs; METRICS_NONE where none was measured. */
#define METRICS_NONE UINT64_MAX
uint64_t metrics_sums_total(const struct metrics_sums *x, uint32_t task, enum metric_id id);
uint64_t metrics_sums_most(const struct metrics_sums *x, uint32_t task, enum metric_id id); /* of a gauge */
uint64_t metrics_sums_max_rss(const struct metrics_sums *x, uint32_t task); /* as looks and its end tell it */

#endif
