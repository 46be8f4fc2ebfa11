/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session cut down to some of its units: what happened while they went on. Every view of what is left shows
 * them alone. Samples and other moments stay where they lie inside; spans are clipped, and what begins in one
 * piece of time and ends in another is divided to the ns: over pieces that cover the recording each metric
 * adds up to its whole.
 *
 * A process's time is cut by its own units of the kind; where it has none by those of the nearest ancestor
 * that has some (a loader's worker by its training process's); else by those of all.
 */
#ifndef WPROF_ANALYZE_CUT_H
#define WPROF_ANALYZE_CUT_H

#include "analyze/units.h"

struct cut_range {
    uint64_t start, end; /* CLOCK_MONOTONIC ns */
};

/* Pieces of time of one scope: sorted, disjoint. */
struct cut_scope {
    VEC(struct cut_range) ranges;
};

struct cut {
    VEC(struct cut_scope) scopes; /* 0: of processes that no unit is of */
    uint32_t *scope_of;           /* task id -> index */
    size_t ntasks;
    uint32_t had; /* kinds of events that there were before: bits */
};

void cut_init(struct cut *c, const struct session *s, const struct units *u,
              const struct units_choice *choice);
void cut_release(struct cut *c);

/* A task's pieces of time. */
const struct cut_scope *cut_of(const struct cut *c, uint32_t task);

/* The first piece that ends after `ts`; n where there is none. */
size_t cut_find(const struct cut_scope *scope, uint64_t ts);

/* Appends what of an event lies in a scope; lasts_to: of cut_ends(). */
void cut_event(const struct cut_scope *scope, const struct event *ev, uint64_t lasts_to, struct store *out);

/* Replaces the session's events by what is left of them. What is known of whole tasks alone, their CPU time,
 * is gone. */
void cut_apply(struct cut *c, struct session *s);

/* Which scope each task is of: a number for each process with units of the kind, given to its descendants too
 * that have none; 0: neither. scope_of has ntasks + 1 entries; of_unit one for each of the choice. Returns
 * how many numbers there are, 0 counted. */
uint32_t cut_scopes(const struct session *s, const struct units *u, const struct units_choice *choice,
                    uint32_t *scope_of, uint32_t *of_unit);

/* For what lasts until the next one of its series, or to the end of its thread: sums of short spans, gauges.
 * An end for each event of the store; 0: it is none of these. Owned by the caller. */
uint64_t *cut_ends(const struct session *s);

#endif
