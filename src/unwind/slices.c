/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/slices.h"

#include <string.h>

void slices_init(struct slices *s, struct wire_mapping *at, size_t room)
{
    *s = (struct slices){.at = at, .room = room};
}

void slices_release(struct slices *s)
{
    vec_release(&s->list);
    for (int i = 0; i < SLICES_CLASSES; i++)
        vec_release(&s->unused[i].ids);
    *s = (struct slices){0};
}

static uint32_t take_unused(struct slices *s, int class, uint64_t now)
{
    size_t *head = &s->unused[class].head;
    uint32_t id;

    if (*head == s->unused[class].ids.n)
        return 0;
    id = s->unused[class].ids.a[*head];
    if (now - s->list.a[id - 1].freed_ns < SLICES_REST_NS)
        return 0;
    if (++*head == s->unused[class].ids.n) {
        *head = 0;
        vec_clear(&s->unused[class].ids);
    }
    return id;
}

uint32_t slices_put(struct slices *s, const struct wire_mapping *m, uint32_t n, uint64_t now)
{
    uint32_t id, size = SLICES_SMALLEST;
    int class = 0;

    while (size < n && class < SLICES_CLASSES) {
        size *= 2;
        class ++;
    }
    if (class == SLICES_CLASSES)
        return 0;
    id = take_unused(s, class, now);
    if (!id) {
        if (s->used + size > s->room)
            return 0;
        *vec_push(&s->list) = (struct slice){.first = (uint32_t)s->used, .size_class = (uint8_t) class};
        s->used += size;
        id = (uint32_t)s->list.n;
    }
    s->list.a[id - 1].n = n;
    s->list.a[id - 1].number = ++s->last_number;
    s->list.a[id - 1].refs = 1;
    if (n)
        memcpy(s->at + s->list.a[id - 1].first, m, n * sizeof(*m));
    return id;
}

void slices_ref(struct slices *s, uint32_t id)
{
    if (id)
        s->list.a[id - 1].refs++;
}

void slices_unref(struct slices *s, uint32_t id, uint64_t now)
{
    struct slice *sl;

    if (!id)
        return;
    sl = &s->list.a[id - 1];
    if (--sl->refs)
        return;
    sl->freed_ns = now;
    *vec_push(&s->unused[sl->size_class].ids) = id;
}
