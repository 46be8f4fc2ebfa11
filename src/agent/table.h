/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys to ids, of fixed room: equal bytes have one id, ids count from 1. What is full is emptied by its user
 * and begins anew. Memory comes from mmap(2), at once and once.
 */
#ifndef WPROF_AGENT_TABLE_H
#define WPROF_AGENT_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table_slot {
    uint64_t hash;
    uint32_t id, at, n; /* id 0: free; the key's place and length */
};

struct table {
    struct table_slot *slots;
    uint8_t *keys;
    uint32_t nslots, room; /* nslots: a power of two */
    uint32_t n, used;
};

int table_init(struct table *t, uint32_t slots, uint32_t room); /* -1: no memory */
void table_clear(struct table *t);
/* Its id, 0: not in. */
uint32_t table_find(const struct table *t, const void *key, size_t n, uint64_t hash);
uint32_t table_add(struct table *t, const void *key, size_t n, uint64_t hash); /* 0: it is full */

/* Memory full of zeroes; NULL: there is none. */
void *table_memory(size_t n);

#endif
