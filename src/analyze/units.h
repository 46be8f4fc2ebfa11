/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces of work that a session's marks tell apart: steps, requests, anything that begins and ends. Their
 * kind is the first word of the mark, their id what follows.
 */
#ifndef WPROF_ANALYZE_UNITS_H
#define WPROF_ANALYZE_UNITS_H

#include "base/err.h"
#include "model/session.h"

struct unit {
    uint32_t kind, id;   /* strings of the units'; id 0: none */
    uint64_t start, end; /* CLOCK_MONOTONIC ns: [start, end) */
    uint32_t task; /* the thread that began it, the main one where the mark tells none; 0: it is the whole
                      recording's */
    int open;      /* not over when the recording ended */
};

/* A thread that works on what another one began. */
struct unit_join {
    uint32_t unit;       /* index */
    uint32_t task;       /* the thread; 0: not known */
    uint64_t start, end; /* inside the unit's */
};

struct units {
    struct strtab strings;
    VEC(struct unit) list;       /* by start */
    VEC(struct unit_join) joins; /* by unit, then start */
};

/* Marks of no length are moments and no units. */
void units_collect(struct units *u, const struct session *s);
void units_release(struct units *u);

/* Part of units_collect(): fills in the joins. */
void units_take_joins(struct units *u, const struct session *s);
size_t units_first_join(const struct units *u, size_t unit); /* of that one, or of a later one */

/* What --only says: "step:12-20,25", "request:7", "eval", "outside:step". */
struct units_choice {
    uint32_t kind;      /* string of the units' */
    int outside;        /* the time that is in no unit of the kind */
    VEC(size_t) chosen; /* indices, rising; of outside: all of the kind */
};

/* -1 with `e`: not written so, no unit of that kind or id; names those there are. */
int units_choose(struct units_choice *c, const struct units *u, const char *text, struct err *e);

/* The kind that the program is about: steps, requests, iterations or batches, where there are three or more
 * of them, else that of most units; a string, 0: there are none. */
uint32_t units_main_kind(const struct units *u);

/* All of a kind. */
int units_choose_kind(struct units_choice *c, const struct units *u, const char *kind, struct err *e);
void units_choice_release(struct units_choice *c);

/* Some units by start, to find those that go on at a time. */
struct units_row {
    VEC(uint32_t) units; /* as they were given */
    VEC(uint64_t) ends;  /* the latest end up to each */
};

void units_row_add(struct units_row *r, uint32_t unit, uint64_t end); /* in the order of their starts */
size_t units_row_find(const struct units_row *r, uint64_t ts);        /* the first that may end after ts */
void units_row_release(struct units_row *r);

/* "step 12" */
void units_label(const struct units *u, const struct unit *x, struct buf *out);

#endif
