/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collectors of tier A share: our programs in the kernel and their rings, the processes followed,
 * tasks, stacks. The first collector to ask makes it, the last one to let go frees it; each says what it does
 * with its own records of the samples' ring.
 */
#ifndef WPROF_COLLECT_TRACE_H
#define WPROF_COLLECT_TRACE_H

#include "collect/gil.h"
#include "collect/runtime.h"
#include "collect/stack.h"
#include "collect/who.h"
#include "model/collector.h"

#include <stdint.h>

struct trace {
    struct record_ctx *ctx;
    struct bpfside *bpf;
    struct track *track;
    struct who who;
    struct runtime runtime;
    struct stack_taker taker;
    struct gils gils;
    struct trace_private *own;
};

/* A record, with all changes before it applied. */
typedef void trace_record(void *arg, const void *record, size_t n);

/* Borrows the one of this recording; NULL with `e`. Give it back with trace_put, once for each. */
struct trace *trace_get(struct record_ctx *ctx, struct err *e);
void trace_put(struct trace *t); /* NULL is fine */

/* Records of this type (enum wire_type) go to `each`; NULL: to nobody. */
void trace_handle(struct trace *t, uint32_t type, trace_record *each, void *arg);

/* The beginning of what is counted; more than once is fine. */
int trace_begin(struct trace *t, struct err *e);

int trace_fd(struct trace *t, struct err *e); /* readable when trace_poll has work; each call's is its own */
int trace_poll(struct trace *t, struct err *e);
int trace_handles(const struct trace *t, uint32_t type); /* somebody takes these records */

/* Sets the counters of no single collector; final: the last time, the programs' costs go to the debug log. */
struct store_visit;
void trace_ids(struct trace *t, struct store_visit *v); /* model/store_visit.h; more than once is fine */
void trace_counters(struct trace *t, int final);
/* The last trace_counters() asked what our programs took: every few seconds. */
int trace_costs_due(const struct trace *t);
/* Has a followed process mapped code of a file whose path contains `part`, as of the last trace_poll()? Also
 * 1 where that isn't known for sure. */
int trace_mapped(const struct trace *t, const char *part);
int trace_alive(const struct trace *t); /* followed processes that are still there */

/* The process of a record's task, NULL for a kernel thread; and its task id. */
struct process *trace_task(struct trace *t, const struct wire_task *task, uint64_t ts, uint32_t image,
                           int kthread, uint32_t *id);

#endif
