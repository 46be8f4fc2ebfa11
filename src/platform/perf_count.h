/* SPDX-License-Identifier: Apache-2.0 */
/* perf events that count, and don't sample: what the CPU's counters say of a thread. */
#ifndef WPROF_PLATFORM_PERF_COUNT_H
#define WPROF_PLATFORM_PERF_COUNT_H

#include "platform/pfm.h"

#include <stdint.h>
#include <sys/types.h>

/* Counts in user mode from now on, for thread tid and, with inherit, for what it starts. A descriptor, or -1
 * with errno: ENOENT where there is no such counter. */
int perf_count_open(const struct pfm_event *ev, pid_t tid, int inherit);

/* More events than the PMU has counters for take turns: it counted for `running` of `enabled` ns. */
struct perf_count {
    uint64_t value, enabled, running;
};

int perf_count_read(int fd, struct perf_count *out); /* -1 with errno */

/*
 * The increase from `before` to `now`, for all of the time: what was counted, in proportion to the time that
 * counted. 0 and *n; -1: it had no turn in between, nothing is known.
 */
int perf_count_grown(const struct perf_count *before, const struct perf_count *now, uint64_t *n);

#endif
