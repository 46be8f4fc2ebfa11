/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's counters of threads: cycles, instructions, cache misses. */
#ifndef WPROF_COLLECT_METRICS_CACHE_H
#define WPROF_COLLECT_METRICS_CACHE_H

#include "collect/metrics_series.h"
#include "platform/perf_count.h"
#include "platform/pfm.h"

#include <stdint.h>
#include <sys/types.h>

enum metrics_event {
    METRICS_CYCLES,
    METRICS_INSTRUCTIONS,
    METRICS_L1I,
    METRICS_LLC,
    METRICS_LLC_READS,
    METRICS_EVENTS
};

struct metrics_cache {
    struct pfm_event events[METRICS_EVENTS];
    uint8_t there[METRICS_EVENTS]; /* it opens here */
    unsigned count;                /* of those that do */
    int errnum;                    /* why none, or not all of them */
    uint64_t untold;               /* intervals in which a counter had no turn */
    uint64_t refused; /* threads whose counters could not be opened, for want of files or rights */
};

/* Which of the events can be counted here. names[METRICS_EVENTS]: as libpfm4 calls them; NULL: the usual. */
void metrics_cache_init(struct metrics_cache *c, const char *const *names);

/* Why something is left out, for people; "" where nothing is. */
const char *metrics_cache_why(const struct metrics_cache *c, char *text, size_t n);

/* The counters of one thread, or with inherit of a thread and all that it starts. */
struct metrics_counts {
    int fds[METRICS_EVENTS]; /* -1: not there */
    struct perf_count last[METRICS_EVENTS];
};

/* How many descriptors that took; 0: none could be had. From here on they count. */
size_t metrics_counts_open(struct metrics_cache *c, struct metrics_counts *x, pid_t tid, int inherit);
size_t metrics_counts_close(struct metrics_counts *x); /* how many descriptors are free again */

/* What becomes events: the sum of one counter or more. */
struct metrics_counted {
    uint64_t sums[METRICS_EVENTS], grown[METRICS_EVENTS]; /* grown: since the last events */
    uint8_t known[METRICS_EVENTS];                        /* grown is */
    uint64_t ts;                                          /* of the last events */
    struct metrics_series series[METRICS_EVENTS], ipc;
};

void metrics_counted_begin(struct metrics_counted *d, uint64_t ts);
/* Adds what the counters grew by since they were last read. One that had no turn stays as it was. */
void metrics_counts_add(struct metrics_cache *c, struct metrics_counts *x, struct metrics_counted *d);
/* Events of a thread, or of a whole tree, from what was added. */
void metrics_counted_put(struct metrics_counted *d, struct metrics_out *out, int tree, uint32_t task,
                         uint64_t ts);
void metrics_counted_end(struct metrics_counted *d, struct metrics_out *out, int tree, uint32_t task);

#endif
