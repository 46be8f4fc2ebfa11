/* SPDX-License-Identifier: Apache-2.0 */
/* Where a recording goes: the session's writer and the sums of what was written. */
#ifndef WPROF_RECORD_SINK_H
#define WPROF_RECORD_SINK_H

#include "model/session.h"
#include "model/store_visit.h"
#include "record/ring.h"
#include "record/tally.h"

struct sink {
    struct session_writer *w;
    struct store *store;
    struct tally tally; /* without a ring */
    struct ring ring;
    uint64_t samples; /* flushed so far */
    /* Who else holds ids of the store; NULL: they can't be moved, and only events leave the ring. */
    store_visitor each;
    void *each_arg;
    struct store_visit visit;
    int broken;     /* a write failed: nothing more goes to the log until sealing tries again */
    size_t counted; /* events in the store that are in the tally already */
};

enum sink_state { SINK_OK, SINK_FULL /* --max-size */, SINK_NO_SPACE, SINK_FAILED };

/* ring: its length, ns; 0: everything is kept. */
int sink_open(struct sink *s, const struct session_create *how, uint64_t ring, struct store *store,
              const struct meta *m, struct err *e);

/* Recording begins: the counters in the store are what they begin with. */
void sink_begin(struct sink *s, uint64_t now);

/* Counts and writes the store's events. SINK_NO_SPACE and SINK_FAILED with `e`; the events are lost then, and
 * counted as record.unwritten. */
enum sink_state sink_flush(struct sink *s, struct meta *m, uint64_t now, struct err *e);

/*
 * Ends the session. `derive` gets it with the events, or their sums where there are too many, in the store,
 * to name frames and to make what is derived; when it fails that is said and the session is sealed all the
 * same. -1 with `e` when the session could not be sealed.
 */
typedef int (*sink_derive)(void *arg, struct session_writer *w, struct meta *m, struct store *s,
                           struct err *e);
int sink_seal(struct sink *s, struct meta *m, sink_derive derive, void *arg, struct err *e);

/* Removes a session in which nothing was recorded: its log, its meta.json, its directory. */
void sink_discard(struct sink *s);
void sink_release(struct sink *s);

#endif
