/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a lead of its threads: whose time counts, and what they did. For lead.c alone. */
#ifndef WPROF_ANALYZE_CREW_H
#define WPROF_ANALYZE_CREW_H

#include "analyze/crew_idle.h"
#include "analyze/lead.h"

/* The main thread is blocked nearly all of the time, and not by what it does itself. */
int crew_may_be(const struct lead *main, const struct session *s);

/*
 * By task id, of each thread the last image: those of the main thread's process that work while it only
 * waits: for them, for connections, for signals; or those of the processes that it started and has nothing
 * to wait for from. NULL: others than these end its waits, or nobody works. Owned by the caller.
 */
uint8_t *crew_find(const struct lead *main, const struct session *s, const struct crew_idle *idle);

/* Until when a thread was there; seen: lead_last_seen(). */
uint64_t crew_until(const struct lead *main, const struct session *s, uint32_t task, const uint64_t *seen);

/* Gives the threads their lanes, and the lead all that its threads did. idle: NULL: what they wait for is no
 * idleness. */
void lead_collect(struct lead *l, const struct session *s, const struct crew_idle *idle);

#endif
