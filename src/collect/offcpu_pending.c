/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/offcpu_pending.h"

#include "base/mem.h"

#include <stdlib.h>

enum { KEEP_BYTES = 8192 }; /* of an emptied record's memory */

static void pending_free(struct offcpu_pending *p)
{
    buf_release(&p->blocked);
    free(p);
}

void offcpu_threads_release(struct offcpu_threads *t)
{
    struct map_slot *s;

    for (size_t i = 0; (s = map_next(&t->by_tid, &i));)
        pending_free((struct offcpu_pending *)(uintptr_t)s->val);
    map_release(&t->by_tid);
}

struct offcpu_pending *offcpu_pending_find(struct offcpu_threads *t, uint32_t tid)
{
    uint64_t *slot = map_get(&t->by_tid, tid);

    return slot ? (struct offcpu_pending *)(uintptr_t)*slot : NULL;
}

struct offcpu_pending *offcpu_pending_get(struct offcpu_threads *t, uint32_t tid)
{
    struct offcpu_pending *p = offcpu_pending_find(t, tid);

    if (!p) {
        p = mem_calloc(1, sizeof(*p));
        *map_put(&t->by_tid, tid) = (uint64_t)(uintptr_t)p;
    }
    return p;
}

void offcpu_pending_drop(struct offcpu_threads *t, uint32_t tid)
{
    struct offcpu_pending *p = offcpu_pending_find(t, tid);

    if (!p)
        return;
    map_del(&t->by_tid, tid);
    pending_free(p);
}

void offcpu_copy(struct buf *to, const struct wire_sample *s, uint32_t skip)
{
    const uint64_t *words = (const uint64_t *)(s + 1);
    struct wire_sample head = *s;
    size_t cut;

    if (skip > s->kernel_n)
        skip = s->kernel_n;
    cut = skip * sizeof(*words);
    head.kernel_n -= (uint16_t)skip;
    head.head.size -= (uint32_t)cut;
    if (to->cap > KEEP_BYTES && to->cap / 2 > head.head.size)
        buf_release(to);
    buf_clear(to);
    buf_reserve(to, head.head.size);
    buf_add(to, &head, sizeof(head));
    buf_add(to, words + skip, head.head.size - sizeof(head));
}
