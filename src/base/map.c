/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>

enum { FREE, TAKEN, DELETED };

void map_release(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

static struct map_slot *map_slot_of(const struct map *m, uint64_t key)
{
    struct map_slot *deleted = NULL;

    for (size_t i = hash_u64(key) & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        struct map_slot *s = &m->slots[i];

        if (s->used == FREE)
            return deleted ? deleted : s;
        if (s->used == TAKEN && s->key == key)
            return s;
        if (s->used == DELETED && !deleted)
            deleted = s;
    }
}

static void map_grow(struct map *m)
{
    struct map old = *m;

    m->cap = old.n * 4 > old.cap * 2 ? old.cap * 2 : old.cap; /* same size again when most were deleted */
    if (m->cap < 16)
        m->cap = 16;
    m->slots = mem_calloc(m->cap, sizeof(*m->slots));
    m->filled = m->n;
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].used == TAKEN)
            *map_slot_of(m, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
    struct map_slot *s;

    if (!m->cap)
        return NULL;
    s = map_slot_of(m, key);
    return s->used == TAKEN ? &s->val : NULL;
}

uint64_t *map_put(struct map *m, uint64_t key)
{
    struct map_slot *s;

    if ((m->filled + 1) * 4 > m->cap * 3)
        map_grow(m);
    s = map_slot_of(m, key);
    if (s->used != TAKEN) {
        m->filled += s->used == FREE;
        m->n++;
        *s = (struct map_slot){.key = key, .used = TAKEN};
    }
    return &s->val;
}

int map_del(struct map *m, uint64_t key)
{
    struct map_slot *s;

    if (!m->cap)
        return 0;
    s = map_slot_of(m, key);
    if (s->used != TAKEN)
        return 0;
    s->used = DELETED;
    m->n--;
    return 1;
}

struct map_slot *map_next(const struct map *m, size_t *i)
{
    while (*i < m->cap) {
        struct map_slot *s = &m->slots[(*i)++];

        if (s->used == TAKEN)
            return s;
    }
    return NULL;
}

void index_release(struct index *x)
{
    free(x->slots);
    *x = (struct index){0};
}

static void index_insert(struct index *x, struct index_slot s)
{
    size_t i = s.hash & (x->cap - 1);

    while (x->slots[i].id)
        i = (i + 1) & (x->cap - 1);
    x->slots[i] = s;
}

static void index_resize(struct index *x, size_t cap)
{
    struct index old = *x;

    x->cap = cap;
    x->slots = mem_calloc(cap, sizeof(*x->slots));
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].id)
            index_insert(x, old.slots[i]);
    free(old.slots);
}

void index_reserve(struct index *x, size_t n)
{
    size_t cap = x->cap ? x->cap : 64;

    while (n * 3 > cap * 2)
        cap *= 2;
    if (cap > x->cap)
        index_resize(x, cap);
}

uint32_t index_find(const struct index *x, uint64_t hash, int (*equal)(const void *ctx, uint32_t id),
                    const void *ctx)
{
    uint32_t h = (uint32_t)hash;

    if (!x->cap)
        return 0;
    for (size_t i = h & (x->cap - 1); x->slots[i].id; i = (i + 1) & (x->cap - 1))
        if (x->slots[i].hash == h && equal(ctx, x->slots[i].id))
            return x->slots[i].id;
    return 0;
}

void index_add(struct index *x, uint64_t hash, uint32_t id)
{
    index_reserve(x, x->n + 1);
    index_insert(x, (struct index_slot){(uint32_t)hash, id});
    x->n++;
}
