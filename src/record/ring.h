/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --ring: of a recording that may go on for days only the last so many seconds are kept.
 *
 * Events are written to the session's log as always, so that what a kill -9 leaves opens as any unsealed
 * session does. What is in the window is also kept here, in memory. Once the log holds as much again from
 * before the window, a new one is made of what is here and takes its place (session_renew()): a log is never
 * longer than two windows and a turn, and at most RING_EVENTS_MAX events are kept, of the latest, however
 * many there are.
 *
 * Counters only ever grow; what they were is noted each turn, together with each task's CPU time. The window
 * begins at the youngest note that is as old as the window is long, so it is at most a turn longer than that.
 * At the end counters and CPU times are taken less what they were then, and spans are cut off there: all
 * figures are the window's own.
 */
#ifndef WPROF_RECORD_RING_H
#define WPROF_RECORD_RING_H

#include "base/vec.h"
#include "model/session.h"
#include "model/store.h"

#include <stdint.h>

enum {
    RING_EVENTS_MAX = 1 << 20, /* 48 MB */
    RING_TURNS = 20,           /* notes a window */
};

/* A task that had not ended by then. */
struct ring_task {
    uint32_t id;
    uint64_t cpu_ns;
};

/* What the figures were at a time. */
struct ring_note {
    uint64_t ts;
    uint64_t *counters; /* by the store's order; those that came later were 0 */
    size_t ncounters;
    VEC(struct ring_task) tasks; /* by id */
};

struct ring {
    uint64_t length;          /* ns; 0: there is no ring */
    VEC(struct event) events; /* of the window, and older ones until the next renewal */
    VEC(struct ring_note) notes;
    uint64_t outside; /* events that fell out */
    uint64_t early;   /* those of them that fell out for want of room */
    uint64_t begin;   /* of the recording */
    uint64_t cut;     /* where the last window began: what was before is gone; 0: there was none */
    int renewed;      /* the log is not the first one any more */
};

void ring_release(struct ring *r);

/* How often to flush: ns. */
uint64_t ring_turn(const struct ring *r);

/* Takes a copy of the store's events from that one on. */
void ring_take(struct ring *r, const struct store *s, size_t from);
/* Notes what the figures are. */
void ring_note(struct ring *r, const struct store *s, uint64_t now);
/* Is it time for a new log? */
int ring_is_due(const struct ring *r, uint64_t now);

/* The events of the window that ends now go into the store, which has none; spans are cut off at its begin,
 * which is returned; 0: that of the recording. */
uint64_t ring_cut(struct ring *r, struct store *s, uint64_t now);
/* And back. */
void ring_keep(struct ring *r, struct store *s);

/* After the last cut: the figures become the window's, and meta says what it is. `from`: the cut's. */
void ring_settle(struct ring *r, struct store *s, struct meta *m, uint64_t from);

#endif
