/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/table.h"

#include <string.h>
#include <sys/mman.h>

void *table_memory(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

int table_init(struct table *t, uint32_t slots, uint32_t room)
{
    *t = (struct table){.nslots = slots, .room = room};
    t->slots = table_memory(slots * sizeof(*t->slots));
    t->keys = table_memory(room);
    return t->slots && t->keys ? 0 : -1;
}

void table_clear(struct table *t)
{
    memset(t->slots, 0, t->nslots * sizeof(*t->slots));
    t->n = t->used = 0;
}

static struct table_slot *slot_of(const struct table *t, const void *key, size_t n, uint64_t hash)
{
    for (uint32_t i = (uint32_t)hash;; i++) {
        struct table_slot *s = &t->slots[i & (t->nslots - 1)];

        if (!s->id || (s->hash == hash && s->n == n && !memcmp(t->keys + s->at, key, n)))
            return s;
    }
}

uint32_t table_find(const struct table *t, const void *key, size_t n, uint64_t hash)
{
    return slot_of(t, key, n, hash)->id;
}

uint32_t table_add(struct table *t, const void *key, size_t n, uint64_t hash)
{
    struct table_slot *s;

    if (t->n + t->n / 4 >= t->nslots || n > t->room - t->used)
        return 0;
    s = slot_of(t, key, n, hash);
    if (s->id)
        return s->id;
    memcpy(t->keys + t->used, key, n);
    *s = (struct table_slot){.hash = hash, .id = ++t->n, .at = t->used, .n = (uint32_t)n};
    t->used += (uint32_t)n;
    return s->id;
}
