/* SPDX-License-Identifier: Apache-2.0 */
#include "model/event_kinds.h"

#include "base/mem.h"

#include <stdlib.h>

_Static_assert(EVENT_METRIC < 8, "a block's kinds are a byte");

void event_kinds_init(struct event_kinds *k, const struct event *ev, size_t n)
{
    *k = (struct event_kinds){mem_calloc(n / EVENT_KINDS_BLOCK + 1, sizeof(*k->a)), ev, n};
    for (size_t i = 0; i < n; i++)
        k->a[i / EVENT_KINDS_BLOCK] |= (uint8_t)event_kind_bit(ev[i].kind);
}

void event_kinds_release(struct event_kinds *k)
{
    free(k->a);
    *k = (struct event_kinds){0};
}
