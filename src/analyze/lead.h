/* SPDX-License-Identifier: Apache-2.0 */
/* The thread whose time is the run's: the command's main thread, or that of the process it waits for. */
#ifndef WPROF_ANALYZE_LEAD_H
#define WPROF_ANALYZE_LEAD_H

#include "base/buf.h"
#include "base/vec.h"
#include "model/session.h"

enum lead_kind { LEAD_RUN, LEAD_QUEUE, LEAD_WAIT };

/* A piece of its time; they are sorted and disjoint. */
struct lead_span {
    uint64_t start, end; /* CLOCK_MONOTONIC */
    uint32_t event;      /* index: a wait or a delay */
    uint8_t kind;        /* enum lead_kind, not LEAD_RUN: that is what is between them */
};

struct lead {
    uint32_t task;    /* the last program that it executed; 0: none, and nothing else is valid */
    uint8_t *is;      /* task id -> whether it is the same thread */
    uint8_t *process; /* task id -> whether it is of the same process */
    VEC(struct lead_span) spans;
    VEC(uint32_t) samples; /* indices of its samples, by time */
    VEC(uint32_t) shorts;  /* of its waits and delays that were only summed up: they have no place in time */
    uint64_t short_ns;     /* the sum of these */
    int waits;             /* its own waits or delays are known */
    int any_waits;         /* somebody's are */
    uint64_t from, to;     /* when it was there */
    uint64_t cpu_ns;       /* its CPU time; 0: not measured */
    int from_child;        /* the command only waited for this one */
};

void lead_init(struct lead *l, const struct session *s);
void lead_release(struct lead *l);
size_t lead_first(const struct lead *l, uint64_t ts); /* of the spans the first that ends after ts */

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
    uint64_t ns;     /* the sum of all: the wall time */
    uint64_t unseen; /* part of it: the thread was not there, or nothing tells */
    int measured;    /* waits were recorded; else only samples tell */
};

void wall_init(struct wall *w, const struct lead *l, const struct session *s);
void wall_release(struct wall *w);

#endif
