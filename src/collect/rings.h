/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier B: what perf's rings tell of own processes, without BPF. The samples come with registers and a piece
 * of the stack, which is walked here; Python's part is read from the process as soon as a sample arrives, and
 * kept only where it fits the native part. The first collector to ask makes it, the last one to let go frees
 * it.
 */
#ifndef WPROF_COLLECT_RINGS_H
#define WPROF_COLLECT_RINGS_H

#include "collect/outside.h"
#include "platform/perf_task.h"

struct rings {
    struct outside outside;
    struct perf_task events;
    char why[200]; /* why the event isn't a counter of the CPU; "" */
    uint32_t metric;
    uint64_t visited; /* the last pass of rings_ids() */
    uint64_t taken, lost;
    uint64_t tick_ns;     /* of one bare tick, 0: not measured */
    uint64_t python_late; /* samples whose Python part came too late to be read */
    int sampling;         /* samples are wanted; else the events only tell of switches */
    struct rings_private *own;
};

struct rings *rings_get(struct record_ctx *ctx, struct err *e); /* NULL with `e` */
void rings_put(struct rings *r);                                /* NULL is fine */

int rings_begin(struct rings *r, struct err *e); /* more than once is fine */
int rings_fd(struct rings *r);
int rings_poll(struct rings *r, struct err *e);
int rings_end(struct rings *r, struct err *e); /* no more events; what is there is taken */
struct store_visit;
void rings_ids(struct rings *x, struct store_visit *v); /* model/store_visit.h; more than once is fine */
void rings_counters(struct rings *r);

#endif
