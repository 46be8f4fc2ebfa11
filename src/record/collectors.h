/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors of one recording: which of them, and all of them at once. One that fails is said and left
 * out. */
#ifndef WPROF_RECORD_COLLECTORS_H
#define WPROF_RECORD_COLLECTORS_H

#include "model/collector.h"

enum collector_state {
    COLLECTOR_OFF,
    COLLECTOR_OPEN,
    COLLECTOR_ON,
    COLLECTOR_STOPPED,
    COLLECTOR_FAILED,
    COLLECTOR_UNAVAILABLE, /* wanted, and not of the tier in use */
};

struct collector_slot {
    const struct collector_ops *ops;
    struct collector *c; /* NULL unless open, on or stopped */
    enum collector_state state;
    struct err why; /* of COLLECTOR_FAILED */
};

struct collectors {
    VEC(struct collector_slot) list;
    unsigned tier; /* in use; 0: not chosen */
};

/* All that are compiled in, from collectors.def; *n of them. */
const struct collector_ops *const *collectors_all(size_t *n);

/*
 * `only` and `without`: comma-separated names, or NULL. only NULL: those that are on by default. Unknown
 * names are an error that gives the nearest.
 */
int collectors_choose(struct collectors *s, const struct collector_ops *const *all, size_t n,
                      const char *only, const char *without, struct err *e);

int collectors_wanted(const struct collectors *s, const char *name); /* chosen, or open */

/* Opens the chosen ones. Gives how many are open; 0 with `e` saying why none is. */
size_t collectors_open(struct collectors *s, struct record_ctx *ctx, struct err *e);
size_t collectors_ready(struct collectors *s, struct err *e);
size_t collectors_start(struct collectors *s, struct err *e);

/* Adds their descriptors to an epoll instance, with their index as data. Gives 1 when one has none and is to
 * be polled. */
int collectors_watch(struct collectors *s, int epoll, struct err *e);
void collectors_poll(struct collectors *s, size_t i); /* one that fails is said and stopped */
void collectors_poll_all(struct collectors *s);
/* Whether all that run can name the ids they hold, and have them visited. */
int collectors_can_move(const struct collectors *s);
void collectors_ids(struct collectors *s, struct store_visit *v);
void collectors_counters(struct collectors *s);
void collectors_ended(struct collectors *s); /* the command is a zombie */
void collectors_stop(struct collectors *s);  /* in reverse order */
size_t collectors_running(const struct collectors *s);

/* Writes their names, states and details into m->collectors, anew. */
void collectors_describe(const struct collectors *s, struct meta *m);
void collectors_release(struct collectors *s);

#endif
