/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeouts.h"

#include "analyze/waits_top.h"
#include "base/mem.h"

#include <stdlib.h>

enum { LEAST = 3 }; /* fewer of the same length are chance */

#define ROUND_NS 5000000ull  /* timeouts are multiples of that, */
#define SHORT_NS 20000000ull /* and of shorter ones too many waits have the length */
/* How late a timer may be: poll's slack is 0.1 %, an interrupt's way. */
#define LATE_NS   1000000ull
#define LATE_PART 1000

struct wait_of {
    uint32_t task, where, reason, event;
    uint64_t dur;
};

static int in_order(const void *pa, const void *pb)
{
    const struct wait_of *a = pa, *b = pb;

    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    if (a->where != b->where)
        return a->where < b->where ? -1 : 1;
    if (a->reason != b->reason)
        return a->reason < b->reason ? -1 : 1;
    return a->dur != b->dur ? (a->dur < b->dur ? -1 : 1) : (a->event > b->event) - (a->event < b->event);
}

static int may_time_out(const struct event *ev, const struct wait *w)
{
    static const uint8_t may[WAIT_OTHER + 1] = {
        [WAIT_FUTEX] = 1, [WAIT_POLL] = 1, [WAIT_PIPE] = 1, [WAIT_SOCKET] = 1, [WAIT_OTHER] = 1};

    return ev->kind == EVENT_OFFCPU && w && w->irq && !w->waker_task && may[wait_reason_of(w)] &&
           ev->dur >= SHORT_NS;
}

/* The timeout that a wait of this length may have had; 0: none. */
static uint64_t timeout_of(uint64_t dur)
{
    uint64_t whole = dur / ROUND_NS * ROUND_NS;

    return dur - whole <= LATE_NS + dur / LATE_PART ? whole : 0;
}

static int same(const struct wait_of *a, const struct wait_of *b)
{
    return a->task == b->task && a->where == b->where && a->reason == b->reason &&
           timeout_of(a->dur) == timeout_of(b->dur);
}

uint64_t *timeouts_find(const struct store *s)
{
    uint64_t *of = mem_calloc(s->events.n + 1, sizeof(*of));
    VEC(struct wait_of) list = {0};

    for (size_t i = 0; i < s->events.n; i++) {
        const struct event *ev = &s->events.a[i];
        const struct wait *w = waits_of_event(&s->waits, ev);

        if (may_time_out(ev, w) && timeout_of(ev->dur))
            *vec_push(&list) =
                (struct wait_of){ev->task, waits_place(s, ev->stack), w->reason, (uint32_t)i, ev->dur};
    }
    if (list.n)
        qsort(list.a, list.n, sizeof(*list.a), in_order);
    for (size_t i = 0, end; i < list.n; i = end) {
        for (end = i + 1; end < list.n && same(&list.a[end], &list.a[i]);)
            end++;
        for (size_t k = i; end - i >= LEAST && k < end; k++)
            of[list.a[k].event] = timeout_of(list.a[k].dur);
    }
    vec_release(&list);
    return of;
}
