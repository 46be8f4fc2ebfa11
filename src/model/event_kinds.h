/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kinds of events there are where: a bit a kind for each block of them, so that who looks for few among
 * tens of millions, or for what isn't there, does not read them all.
 */
#ifndef WPROF_MODEL_EVENT_KINDS_H
#define WPROF_MODEL_EVENT_KINDS_H

#include "model/event.h"

#include <stddef.h>
#include <stdint.h>

enum { EVENT_KINDS_BLOCK = 64 };

struct event_kinds {
    uint8_t *a;             /* a block's kinds; those of newer versions count as EVENT_NONE */
    const struct event *of; /* what they are of, and how many: others were not looked at */
    size_t n;
};

/* Of events that stay as they are and where they are; whoever changes them releases this first. */
void event_kinds_init(struct event_kinds *k, const struct event *ev, size_t n);
void event_kinds_release(struct event_kinds *k);

static inline unsigned event_kind_bit(unsigned kind)
{
    return 1u << (kind <= EVENT_METRIC ? kind : EVENT_NONE);
}

/* The first event from `i` on of those kinds, bits; n: there is none. Where k is not of these events they are
 * looked at one by one. */
static inline size_t event_kinds_next(const struct event_kinds *k, const struct event *ev, size_t n, size_t i,
                                      unsigned kinds)
{
    int known = k->a && k->of == ev && k->n == n;

    while (i < n) {
        if (known && !(k->a[i / EVENT_KINDS_BLOCK] & kinds))
            i = (i / EVENT_KINDS_BLOCK + 1) * EVENT_KINDS_BLOCK;
        else if (event_kind_bit(ev[i].kind) & kinds)
            return i;
        else
            i++;
    }
    return n;
}

#endif
