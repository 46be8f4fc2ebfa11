/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a recording that was given no interval looks at the machine. Each look costs CPU time, and what two
 * processes share often begins soon after one of them has: so there are looks at times that grow, and soon
 * after processes have come, as long as looks took no more than their share.
 */
#ifndef WPROF_RECORD_TOPOLOGY_WHEN_H
#define WPROF_RECORD_TOPOLOGY_WHEN_H

#include "model/tasks.h"

#include <stdint.h>

/* All times but one: CLOCK_MONOTONIC ns. */
struct when {
    uint64_t begin, boot_begin; /* of the recording; CLOCK_BOOTTIME */
    uint64_t at_last;           /* when the next look is due at the latest */
    uint64_t asked;             /* the last look; 0: none yet */
    uint64_t spent;             /* CPU ns of all looks, */
    uint64_t dearest;           /* of the one that took most, */
    uint64_t extra;             /* of those that were not due by time */
    int is_extra;               /* the last one */
    uint32_t seen;              /* tasks that have been gone over */
    uint64_t from, to;          /* when the processes came that are not looked at yet; 0: none */
    uint64_t held;              /* times that these were not looked at: looks had taken too much */
    int holding;
    VEC(uint32_t) fresh; /* these processes, by task id */
};

#define WHEN_FIRST_NS 500000000ull /* a command that is over by then is told by its events alone */
#define WHEN_TICK_NS  100000000u   /* how often to ask */

void when_begin(struct when *w, uint64_t now, uint64_t boot);
int when_due(struct when *w, const struct tasks *tasks, uint64_t now); /* 1: now */
void when_asked(struct when *w, uint64_t now);                         /* a look was asked for */
void when_took(struct when *w, uint64_t cpu_ns);                       /* all looks so far, together */
void when_release(struct when *w);

#endif
