/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables. `map` goes from a 64-bit key to a 64-bit value. `index` finds an element of a table that the
 * caller keeps elsewhere (strings, frames, stacks): it stores only {hash, id} and asks the caller to compare.
 */
#ifndef WPROF_BASE_MAP_H
#define WPROF_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint64_t key, val;
    uint8_t used; /* 0 free, 1 taken, 2 deleted */
};

struct map {
    struct map_slot *slots;
    size_t n, filled, cap; /* live, live + deleted, slots (a power of two) */
};

void map_release(struct map *m);
uint64_t *map_get(const struct map *m, uint64_t key); /* NULL when absent; valid until the next map_put */
uint64_t *map_put(struct map *m, uint64_t key);       /* finds or inserts (value 0) */
int map_del(struct map *m, uint64_t key);             /* 1 when it was there */

/* Walks the live slots: for (size_t i = 0; (s = map_next(m, &i));) */
struct map_slot *map_next(const struct map *m, size_t *i);

struct index_slot {
    uint32_t hash, id; /* id 0: free */
};

struct index {
    struct index_slot *slots;
    size_t n, cap;
};

void index_release(struct index *x);
void index_reserve(struct index *x, size_t n); /* room for n elements without growing again */

/* An element that compares equal, or 0: equal(ctx, id) tells whether element `id` is the one looked for. */
uint32_t index_find(const struct index *x, uint64_t hash, int (*equal)(const void *ctx, uint32_t id),
                    const void *ctx);
void index_add(struct index *x, uint64_t hash, uint32_t id); /* id != 0, not yet in */

#endif
