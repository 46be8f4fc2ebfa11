/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier C: how a thread spent its time off the CPU, out of looks now and then. A look tells what the scheduler
 * has counted so far, and whether the thread is blocked. The time that a runnable thread has been in the run
 * queue is counted when it gets a CPU, that on a CPU at a clock tick; so only of a blocked one the figures
 * are complete: time gone by - on a CPU - in the run queue = waits. Until then what is left over may be
 * either, and stays in the balance. So spans never add up to more than the figures leave.
 */
#ifndef WPROF_COLLECT_LOOK_TIMES_H
#define WPROF_COLLECT_LOOK_TIMES_H

#include <stdint.h>

/* Times in ns of CLOCK_MONOTONIC. */
struct look_times {
    uint64_t last;     /* the figures' last change is of this look */
    uint64_t seen;     /* the last look */
    uint64_t ran_from; /* since this look it was on a CPU */
    int64_t left;      /* up to `last`: time that neither figures nor spans stand for; below 0: too much */
    uint64_t found;    /* a wait: the first look at it, 0: there is none; */
    uint64_t begin;    /* of it; */
    uint64_t over;     /* the first look that found it over, while its end isn't known; 0 */
    uint64_t most;     /* then: it lasted at most so long after `found` */
};

/* What became known by a look. Spans of 0 ns are none. */
struct look_spans {
    uint64_t wait_ts, wait_ns;     /* a wait that was seen, and is over */
    uint64_t unseen_ts, unseen_ns; /* waits that were over before anybody looked */
};

struct look_figures {
    uint64_t run_ns, delay_ns; /* since the last call */
    int blocked;
};

/* From now on; nothing is known of the time before. */
void look_times_begin(struct look_times *t, uint64_t ts);

/* A look with new figures, or at a thread that isn't in a wait that was seen. */
void look_times_add(struct look_times *t, uint64_t ts, const struct look_figures *f, struct look_spans *out);

/* Whether a wait that was seen goes on where its figures are the same as at the last look. */
int look_times_waits(const struct look_times *t);

/* A look that found those same figures. */
void look_times_same(struct look_times *t, uint64_t ts);

/* The thread has ended before the look at ts (ended), or the recording at ts: what was under way. */
void look_times_end(struct look_times *t, uint64_t ts, int ended, struct look_spans *out);

#endif
