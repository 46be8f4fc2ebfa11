/* SPDX-License-Identifier: Apache-2.0 */
/* One metric's events with their stacks of raw frames: for formats that tell addresses, modules, inlined
 * functions and threads apart, which a folded profile does not. */
#ifndef WPROF_EXCHANGE_EXPORT_EVENTS_H
#define WPROF_EXCHANGE_EXPORT_EVENTS_H

#include "base/map.h"
#include "exchange/export/export.h"

struct export_events {
    const struct session *session;
    const struct store *s;
    const char *metric, *unit; /* "oncpu", "samples"; "offcpu", "ns" */
    VEC(uint32_t) list;        /* places in the store, in the order of time */
    struct strtab extra;       /* names of frames that are none of the store's, numbered behind those */
    struct stacks below;       /* of such frames and the store's: what stands below events' own stacks */
    struct map below_of;       /* what tells them apart -> stack in below */
    int samples;               /* the value is samples; else ns */
    uint64_t total;
};

/* Whether it is a plain sum of events; NULL: the default. */
int export_events_takes(const char *metric);
/* -1 with `e`: no such metric here, or one that is no plain sum of events. */
int export_events_init(struct export_events *x, const struct export_input *in, struct err *e);
void export_events_release(struct export_events *x);

uint64_t export_events_value(const struct export_events *x, const struct event *ev);

/* A metric's stack: the event's own, and below that, as a stack of x->below, what ran on a GPU, or who held
 * the GIL and where; or that there is none of its own. Equal ones are equal. */
struct export_stack {
    uint32_t own, below; /* 0: none */
};
struct export_stack export_events_stack(const struct export_events *x, const struct event *ev);

/* Its frames, by number, the innermost first; release with vec_release(). */
struct export_path {
    VEC(uint32_t) frames;
};
void export_events_path(const struct export_events *x, struct export_stack stack, struct export_path *out);

/* Of frame number 1..export_events_frames(): the store's, then the extra ones. Gives how many names it has,
 * the outermost first; at least 1. */
uint32_t export_events_frames(const struct export_events *x);
uint32_t export_events_names(const struct export_events *x, uint32_t frame);

/* Name k of it: its text is appended to `func`. */
struct export_place {
    const char *file; /* "" where it is not known */
    uint32_t line;    /* 0: not known */
    int named;        /* 0: func only says where it is */
};
struct export_place export_events_name(const struct export_events *x, uint32_t frame, uint32_t k,
                                       struct buf *func);

/* Appends the process's and thread's name, "python3 (1234) worker (1236)"; of task 0 nothing. */
void export_events_thread(const struct export_events *x, uint32_t task, struct buf *out);
const struct task *export_events_task(const struct export_events *x, uint32_t task); /* NULL: none */
const struct task *export_events_leader(const struct export_events *x, const struct task *t);

static inline uint32_t export_pid(const struct task *t)
{
    return t->ns_pid ? t->ns_pid : t->pid;
}

static inline uint32_t export_tid(const struct task *t)
{
    return t->ns_tid ? t->ns_tid : t->tid;
}

#endif
