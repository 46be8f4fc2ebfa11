/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings view: what makes a run slow, each with what it costs, and what was looked for without being
 * found. Costs are parts of the wall time, and no second is in two of them: findings claim pieces of time,
 * and those of the heavier ones are taken off the lighter ones.
 */
#ifndef WPROF_MODEL_FINDINGS_H
#define WPROF_MODEL_FINDINGS_H

#include "base/json.h"
#include "base/vec.h"

#include <stdint.h>

enum finding_severity { FINDING_INFO, FINDING_LOW, FINDING_MEDIUM, FINDING_HIGH };
enum finding_certainty { FINDING_GUESS, FINDING_LIKELY, FINDING_MEASURED };

const char *finding_severity_name(enum finding_severity s);   /* "high" */
const char *finding_certainty_name(enum finding_certainty c); /* "measured" */

/* Up to ns of the time from start to end, which is CLOCK_MONOTONIC. All of it where ns is end - start; less
 * where it is not known when in it: a metric's interval. */
struct finding_claim {
    uint64_t start, end, ns;
    uint32_t lane; /* whose of several, from 1 on: of a finding with lanes */
};

/* The weight of those that only say where time goes, whose cost is all of it and not what could be saved. */
enum { FINDING_ONLY_WHERE = 1 };

struct finding {
    char *id;          /* the rule's: "loader-wait" */
    char *title;       /* one sentence without its full stop */
    char *evidence;    /* what was measured */
    char *advice;      /* what to do */
    char *why;         /* what the certainty rests on; NULL: nothing to say */
    char *stack;       /* where: root first, "a;b;c"; NULL: of no one place */
    char *line;        /* "slow_transform (train.py:64)" */
    char *process;     /* "python3[42]" */
    char *device;      /* "GPU 0" */
    uint64_t from, to; /* ns since the session's start; to 0: all of it */
    uint64_t total_ns; /* all that it claims */
    uint64_t cost_ns;  /* without what heavier findings count already */
    double share;      /* cost_ns of the wall time; NAN: no cost in time is known */
    uint8_t severity, certainty;
    uint8_t timed;  /* it claims time */
    uint8_t weight; /* the greater claims first: a wait for the loader before the same wait called a wait */
    uint32_t lanes; /* of so many who each have a time of their own, such as devices, it costs the average;
                       0: it is of the wall time itself */
    uint64_t least_ns;  /* it is dropped where others leave it less */
    size_t within;      /* index + 1 of another one that counts most of its time; 0: none */
    uint64_t within_ns; /* so much of it at most */
    VEC(struct finding_claim) claims;
};

enum check_state { CHECK_CLEAN, CHECK_FOUND, CHECK_NOT_DONE, CHECK_LEFT_OUT };

const char *check_state_name(unsigned state); /* "clean", "found", "not checked", "left out" */

/* What became of one rule. */
struct check {
    const char *id, *title; /* static or the session's */
    char *detail;           /* "needs gpu: ..."; NULL: nothing to say */
    uint8_t state;
    unsigned row; /* of the table of rules; 0: one of the user's */
};

struct findings {
    VEC(struct finding) list; /* sorted by findings_settle() */
    VEC(struct check) checks; /* in the table's order */
    uint64_t start, wall_ns;  /* CLOCK_MONOTONIC; 0: no wall time is known */
    uint64_t told_ns;         /* the sum of all costs: at most wall_ns */
};

void findings_release(struct findings *f);
void finding_release(struct finding *x); /* what it holds */

/* A new finding, zeroed but for `id`; valid until the next. */
struct finding *findings_add(struct findings *f, const char *id);
void finding_claim(struct finding *x, uint64_t start, uint64_t end, uint64_t ns); /* of lane 0 */

/* Sorts by cost, those that only say where a small part of the time goes behind the others; takes apart what
 * several claim, sets costs, shares and, where a rule left it at 0, severity: from a fifth of the wall time
 * on high, from a twentieth on medium. */
void findings_settle(struct findings *f);

size_t findings_count(const struct findings *f, unsigned check_state);

/* Members of the open object: findings, checks, wall_ns, findings_ns. */
void findings_json(const struct findings *f, struct json_writer *w);

/* Appends the sentence that says where the rest of x's time is counted; only of one with `within`. */
void finding_within(const struct finding *x, struct buf *out);

#endif
