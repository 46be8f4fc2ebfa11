/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads whose time is the run's: the command's main thread, or that of the process it waits for; or,
 * where that only waits while others of its process work, those: a server's, a pool's.
 */
#ifndef WPROF_ANALYZE_LEAD_H
#define WPROF_ANALYZE_LEAD_H

#include "base/buf.h"
#include "base/vec.h"
#include "model/session.h"

/* LEAD_IDLE: a worker that waits for something to do. */
enum lead_kind { LEAD_RUN, LEAD_QUEUE, LEAD_IDLE, LEAD_WAIT };

/* A piece of a thread's time. */
struct lead_span {
    uint64_t start, end; /* CLOCK_MONOTONIC */
    uint32_t event;      /* index: a wait or a delay */
    uint32_t thread;     /* index */
    uint8_t kind;        /* enum lead_kind, not LEAD_RUN: that is what is between them */
};

/* Of a list those from `first` to before `end`. */
struct lead_range {
    size_t first, end;
};

struct lead_thread {
    uint32_t task;     /* the last program that it executed */
    uint32_t lane;     /* threads of one follow each other */
    uint64_t from, to; /* when it was there */
    struct lead_range spans, samples, shorts;
};

typedef VEC(uint32_t) lead_events; /* indices in the store */

struct lead {
    uint32_t task;                   /* the main thread's; 0: none, and nothing else is valid */
    int crew;                        /* it only waits: `threads` are others of its process */
    uint32_t *thread_of;             /* task id -> 1 + which of the threads it is; 0: none of them */
    uint8_t *process;                /* task id -> whether it is of the same process */
    VEC(struct lead_thread) threads; /* by lane, by time */
    uint32_t lanes;                  /* so many had something to do at a time, on average, rounded up */
    VEC(struct lead_span) spans;     /* by thread, by time; disjoint in each */
    lead_events samples;             /* theirs, by thread, by time */
    lead_events shorts; /* waits and delays that were only summed up: they have no place in time */
    uint64_t short_ns;  /* the sum of these */
    int waits;          /* their waits or delays are known */
    int any_waits;      /* somebody's are */
    uint64_t life_ns;   /* how long they were there, in all, without ... */
    uint64_t idle_ns;   /* ... when a crew had nothing to do */
    uint64_t cpu_ns;    /* their CPU time; 0: not measured */
    int from_child;     /* the command only waited for this one */
};

void lead_init_main(struct lead *l, const struct session *s);
/* Those that work while the main thread only waits; 0: there are none, and `l` is of no use. */
int lead_init_crew(struct lead *l, const struct lead *main, const struct session *s);
void lead_init(struct lead *l, const struct session *s); /* the crew where there is one */
void lead_release(struct lead *l);

/* Of a thread's spans the first that ends after ts; the end of its spans: none does. */
size_t lead_first(const struct lead *l, uint32_t thread, uint64_t ts);

/* By task id, the end of the last event: of those whose end was not seen it is the last that is known. Owned
 * by the caller. */
uint64_t *lead_last_seen(const struct store *s);

/* "python3[42]" of any task. Appended. */
void lead_name(const struct store *s, uint32_t task, struct buf *out);

/* ---- where its wall time went ---- */

struct wall_part {
    const char *key;   /* "python", "runq", "futex"; static */
    const char *label; /* for people; static */
    uint64_t ns;
    int blocked;
};

struct wall {
    VEC(struct wall_part)
    parts;           /* on the CPU by kind, run queue, blocked by cause; what is nothing is left out */
    uint64_t ns;     /* the sum of all: the wall time; of a crew the time of all its threads */
    uint64_t unseen; /* part of it: the thread was not there, or nothing tells */
    int measured;    /* waits were recorded; else only samples tell */
};

void wall_init(struct wall *w, const struct lead *l, const struct session *s);
void wall_release(struct wall *w);

#endif
