/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What those who ended a wait did while it lasted. The thread that wakes is seen at one moment only; what the
 * wait was for is what that thread did before: its samples of that time, and where it was itself blocked,
 * what the one that woke it, or held the GIL that it waited for, did, and so on. So "main waits in poll,
 * woken by a feeder thread, which was in Condition.wait, woken by the worker, which was in slow_transform".
 */
#ifndef WPROF_ANALYZE_WAKE_CHAIN_H
#define WPROF_ANALYZE_WAKE_CHAIN_H

#include "model/store.h"

enum { WAKE_STEPS = 6 };

/* One thread of the chain and where it was: at last running, in the steps before that blocked. */
struct wake_step {
    uint32_t task, stack;
    const struct event *wait; /* what it was blocked in; NULL: it ran */
};

/* Some events of each thread. */
struct wake_lane {
    uint32_t *first; /* task id -> where its events begin in `order`; one more at the end */
    uint32_t *order; /* events by task, by time */
};

/* Those of the kinds, bits, that is() takes; NULL: all of them. s must not change meanwhile. */
void wake_lane_init(struct wake_lane *l, const struct store *s, unsigned kinds,
                    int (*is)(const struct event *ev));
void wake_lane_release(struct wake_lane *l);

/* The first of a thread's that begins at ts or later, an index into `order`; the next thread's where there is
 * none. */
uint32_t wake_lane_find(const struct wake_lane *l, const struct store *s, uint32_t task, uint64_t ts);

struct wake_chain {
    const struct store *s;
    struct wake_lane spans, gils, samples;
    uint64_t left; /* events that may still be looked at, of all waits together: long waits of many threads
                      overlap */
};

/* s must not change meanwhile. */
void wake_chain_init(struct wake_chain *c, const struct store *s);
void wake_chain_release(struct wake_chain *c);

/* Some time of a wait, and the chain for it: steps[0] is of the thread that ended the wait. */
typedef void (*wake_each)(void *arg, const struct wake_step *steps, unsigned n, uint64_t ns);

/*
 * Takes a wait (EVENT_OFFCPU) apart. Gives the ns that were told to `each`; the rest, of the whole dur, is
 * time in which nobody saw what that thread did. 0 for sums of short waits, and where the waker is unknown,
 * or inferred otherwise than from what an interrupt brought.
 */
uint64_t wake_chain_follow(struct wake_chain *c, const struct event *wait, wake_each each, void *arg);

#endif
