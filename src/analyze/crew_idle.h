/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a worker has nothing to do: its waits for the next task or request, which no cause holds up. These are
 * the waits at a listening socket, or at a connection that was made to one; for any of several descriptors;
 * and for a condition, in the function that the thread itself loops in, or where a known pool parks them.
 */
#ifndef WPROF_ANALYZE_CREW_IDLE_H
#define WPROF_ANALYZE_CREW_IDLE_H

#include "base/map.h"
#include "model/store.h"

struct crew_idle {
    const struct store *s;
    uint8_t *home;     /* by stack id: where threads wait for what there is to do */
    struct map served; /* hashes of addresses that somebody listens at */
};

/* main: task id -> whether it is the main thread, whose sockets are where work comes from. */
void crew_idle_init(struct crew_idle *x, const struct store *s, const uint32_t *main);
void crew_idle_release(struct crew_idle *x);
int crew_idle_is(const struct crew_idle *x, const struct event *ev); /* of a wait */
/* It is one at a listening socket, or a connection that was made to one: for who asks. */
int crew_idle_serves(const struct crew_idle *x, const struct event *ev);

#endif
