/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier C: the targets looked at from outside at the sampling rate, where neither BPF nor perf events are
 * allowed. A look reads each thread's run and delay times, which are exact; of one that runs its Python
 * stack, of one that blocks its whole stack and what it waits for. The first collector to ask makes it, the
 * last one to let go frees it.
 */
#ifndef WPROF_COLLECT_LOOKS_H
#define WPROF_COLLECT_LOOKS_H

#include "collect/outside.h"

struct looks {
    struct outside outside;
    uint64_t period;      /* ns from look to look */
    uint64_t looks, late; /* rounds made; those that began more than a period too late */
    uint64_t taken;       /* samples, by weight */
    uint64_t rests_ns; /* CPU time of threads that were not met running since, and no sample stands for yet */
    uint64_t native_only; /* samples of running threads without any stack */
    int sampling;         /* samples are wanted */
    int by_ticks;         /* no schedstat here: CPU times are to a clock tick */
    uint32_t metric;
    uint64_t visited; /* the last pass of looks_ids() */
    struct looks_private *own;
};

struct looks *looks_get(struct record_ctx *ctx, struct err *e); /* NULL with `e` */
void looks_put(struct looks *l);                                /* NULL is fine */

int looks_begin(struct looks *l, struct err *e); /* more than once is fine */
int looks_fd(struct looks *l);
int looks_poll(struct looks *l, struct err *e);
int looks_end(struct looks *l, struct err *e);
struct store_visit;
void looks_ids(struct looks *x, struct store_visit *v); /* model/store_visit.h; more than once is fine */
void looks_counters(struct looks *l);

#endif
