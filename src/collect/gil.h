/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for CPython's GIL, put together from what the scheduler shows of them. A thread that wants the GIL
 * sleeps on one of its condition variables for at most a switch interval (5 ms) at a time, so that one wait
 * is mostly many spans off the CPU with a few microseconds of running between them; before that, who gave the
 * GIL away on request sleeps until another one has taken it (take_gil() and drop_gil() of CPython's
 * ceval_gil.h, later ceval_gil.c). One EVENT_GIL is the whole of it, from the first sleep to when the thread
 * runs on.
 */
#ifndef WPROF_COLLECT_GIL_H
#define WPROF_COLLECT_GIL_H

#include <linux/types.h>

#include "base/map.h"
#include "bpf/wire.h"
#include "model/store.h"

#include <stdint.h>

/* One span off the CPU, on one of the GIL's futexes. */
struct gil_part {
    uint64_t ts, end;    /* until it ran again */
    struct wire_gil gil; /* at ts */
    uint64_t woken;      /* when its waker woke it */
    uint32_t task, stack;
    uint16_t flags; /* EVENT_, of the stack */
    uint8_t walked; /* the stack is there: no marker stands for it */
    uint8_t open;   /* it was not over when the recording ended */
    struct wait wait;
};

struct gils {
    struct store *store;
    struct map threads; /* tid -> struct gil_thread *: a wait under way */
    struct map tasks;   /* hash of {process, thread id} -> task id */
    size_t holders_max;
    struct map holders;  /* task id -> struct gil_holder * */
    struct map names;    /* task id of a holder -> string; 0: nobody known */
    uint32_t frame;      /* [waiting for the GIL]; 0: not needed so far */
    uint64_t read, held; /* samples that say whether their thread held the GIL; where it did */
    uint64_t waits, ns;  /* events made */
};

void gils_init(struct gils *g, struct store *s);
struct store_visit;
void gils_ids(struct gils *g, struct store_visit *v); /* model/store_visit.h */
void gils_release(struct gils *g);

/* The stack with the frame `[waiting for the GIL]` on top of it. */
uint32_t gils_stack(struct gils *g, uint32_t stack);

/* "the GIL (held by NAME[tid])": a string of the store. who: one that waits for it. */
uint32_t gils_name(struct gils *g, const struct wire_task *who, const struct wire_gil *gil);

/* Which task the thread is, so that it can be named where it holds the GIL. */
void gils_note(struct gils *g, const struct wire_task *who, uint32_t task);

/* A span of a thread, in order: on the GIL; or another one, of which one of waiting (EVENT_OFFCPU) ends a
 * wait for the GIL. Where the thread holds the GIL meanwhile, that is where its holder is. */
void gils_part(struct gils *g, const struct wire_task *who, const struct gil_part *p);
void gils_other(struct gils *g, const struct wire_task *who, const struct event *span);

/* A sample of a running thread, which may hold the GIL. */
void gils_sample(struct gils *g, const struct event *sample);

/* The sum of short spans on the GIL's futexes: the same as an event of its own. */
void gils_short(struct gils *g, const struct event *sum);

void gils_ended(struct gils *g, const struct wire_task *who); /* the thread did */

/* Waits whose last span is some time before `now` are over. UINT64_MAX: all are. */
void gils_turn(struct gils *g, uint64_t now);

#endif
