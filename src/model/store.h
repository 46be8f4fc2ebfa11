/* SPDX-License-Identifier: Apache-2.0 */
/* All tables of a session in memory: what the recorder fills, the writer persists, the reader restores, views
 * read. */
#ifndef WPROF_MODEL_STORE_H
#define WPROF_MODEL_STORE_H

#include "base/vec.h"
#include "model/event.h"
#include "model/event_kinds.h"
#include "model/frames.h"
#include "model/gpu.h"
#include "model/origins.h"
#include "model/stacks.h"
#include "model/strtab.h"
#include "model/tasks.h"
#include "model/waits.h"

/* A count or figure by dotted name ("cpu.taken"); the last value written wins. See quality.h for those in
 * use. */
struct counter {
    uint32_t name; /* strtab */
    uint64_t value;
};

struct store {
    struct strtab strings;
    struct frames frames;
    struct stacks stacks;
    struct tasks tasks;
    struct waits waits;
    struct gpu_works gpus;
    struct origins origins;
    VEC(struct event) events;     /* readers: all of them; the recorder: those not yet written */
    int as_written;               /* readers: events are in the order of the log, and there are no kinds */
    struct event_kinds kinds;     /* readers: of the events */
    VEC(struct counter) counters; /* few: searched linearly */
};

void store_release(struct store *s);

/* The first event from `i` on of those kinds, bits: 1 << EVENT_SAMPLE; events.n: there is none. */
static inline size_t store_next(const struct store *s, size_t i, unsigned kinds)
{
    return event_kinds_next(&s->kinds, s->events.a, s->events.n, i, kinds);
}

/* Each event of the kinds, in order. */
#define store_each(s, i, kinds)                                                                              \
    for (size_t i = store_next(s, 0, kinds); i < (s)->events.n; i = store_next(s, i + 1, kinds))

/* The events of `from` take the place of those of s. */
void store_replace_events(struct store *s, struct store *from);

void store_set_counter(struct store *s, const char *name, uint64_t value);
uint64_t store_counter(const struct store *s, const char *name, uint64_t otherwise);

/* Sorts indices of events by time, then as they are in the log, where they are nearly in order. */
void store_by_time(const struct store *s, uint32_t *events, size_t n);

#endif
