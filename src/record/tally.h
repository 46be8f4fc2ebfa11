/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the flushed events add up to. Events leave the store when they are written, but sealing needs their
 * sums for the folded text and the quality figures: one event stands for all that are equal but for time, CPU
 * and value.
 */
#ifndef WPROF_RECORD_TALLY_H
#define WPROF_RECORD_TALLY_H

#include "model/event.h"
#include "model/store.h"

struct tally {
    VEC(struct event) events; /* value and dur are sums; ts and cpu those of the first */
    struct index index;
    uint64_t samples; /* EVENT_SAMPLE events counted so far */
};

void tally_add(struct tally *t, const struct store *s, size_t from); /* the store's events from that one on */
void tally_release(struct tally *t);

/* Swaps the sums into the store, whose own events must all be written, and (again called) out of it. */
void tally_swap(struct tally *t, struct store *s);

#endif
