/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From marks to spans: which end belongs to which begin. Pure, so that it can be tested without a socket.
 * Spans may nest and overlap; of several open ones with the same text an end closes the newest. A step lasts
 * until its sender's next step, or "end step". Who joins a piece of work leaves it in the same thread.
 */
#ifndef WPROF_RECORD_MARKS_PAIRS_H
#define WPROF_RECORD_MARKS_PAIRS_H

#include "base/map.h"
#include "base/vec.h"
#include "record/marks_line.h"

/* Open ones beyond these many are not kept: they are counted. */
enum { MARKS_OPEN_MAX = 65536 };

struct marks_span {
    uint64_t start, end; /* CLOCK_MONOTONIC ns; equal: an instant */
    uint32_t sender;     /* as it was given */
    pid_t thread;        /* of the begin, as it was given; 0: none */
    int joined;          /* the thread's part in it, not the piece of work itself */
    int open;            /* not over at the end */
    const char *text;    /* "step 12"; borrowed for the call */
};

struct marks_begun {
    char *text; /* owned; NULL: the place is free */
    uint64_t start;
    uint64_t key;  /* in `open` */
    uint32_t next; /* older one of the same key, or the next free place; number + 1, 0: none */
    uint32_t sender;
    pid_t thread;
    int joined;
};

struct marks_pairs {
    VEC(struct marks_begun) list;
    uint32_t free;
    size_t n;           /* open ones */
    struct map open;    /* hash of {sender, text, who joined} -> number of the newest + 1 */
    struct map step;    /* sender -> number of its step + 1 */
    uint64_t unmatched; /* ends without a begin */
    uint64_t over;      /* begins beyond MARKS_OPEN_MAX */
};

typedef void (*marks_spans)(void *arg, const struct marks_span *s);

/* Gives 0 or 1 span to `each`. -1: an end without a begin, counted. MARK_LOST is not for here. */
int marks_pairs_take(struct marks_pairs *p, const struct mark *m, uint32_t sender, marks_spans each,
                     void *arg);

/* All that are open, in the order of their begins, as they are at `end`. */
void marks_pairs_finish(struct marks_pairs *p, uint64_t end, marks_spans each, void *arg);
void marks_pairs_release(struct marks_pairs *p);

#endif
