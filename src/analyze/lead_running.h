/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the lead's threads were on a CPU: the time between their waits and delays, less those that were too
 * short to be listed, whose sums lie somewhere in it. Each sample of a thread stands for the running time
 * that is nearer to it than to another one: all of them together are what it ran, however many CPUs it had to
 * share.
 */
#ifndef WPROF_ANALYZE_LEAD_RUNNING_H
#define WPROF_ANALYZE_LEAD_RUNNING_H

#include "analyze/lead.h"

enum { LEAD_SHORT_QUEUE = WAIT_OTHER + 1, LEAD_SHORTS, LEAD_RAN = LEAD_SHORTS };

/* A time whose short waits, by reason, and delays were summed up. */
struct lead_turn {
    uint64_t start;
    uint32_t thread;  /* index */
    uint64_t between; /* ns of it that are in no listed span */
    uint64_t running; /* what the sums leave of that */
    uint64_t ns[LEAD_SHORTS], n[LEAD_SHORTS];
};

/* Time in no listed span. */
struct lead_piece {
    uint64_t start, end; /* CLOCK_MONOTONIC */
    uint32_t turn;
};

typedef VEC(struct lead_piece) lead_pieces;

struct lead_running {
    lead_pieces pieces;          /* by thread, sorted, disjoint, each in one turn and of one sample at most */
    VEC(struct lead_turn) turns; /* by thread */
    struct lead_range *of_sample; /* by the lead's samples: pieces; NULL: no waits are known */
};

void lead_running_init(struct lead_running *x, const struct lead *l, const struct session *s);
void lead_running_release(struct lead_running *x);

/* The part of a piece that it ran (LEAD_RAN), or was in short waits of a reason (or LEAD_SHORT_QUEUE) for.
 * When in the piece that was is not known: each part has a place of its own in it. */
struct lead_piece lead_piece_part(const struct lead_running *x, const struct lead_piece *p, unsigned part);

#endif
