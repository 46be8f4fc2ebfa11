/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/kin.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>

/* A pool of so many has a row for each thread. */
enum { FEW = 16 };

/* 0: it has nothing that others could share. */
static uint64_t key_of(const struct task *t)
{
    int process = t->pid == t->tid;
    uint64_t key[] = {process ? t->parent : t->leader, t->comm, (uint64_t)process, t->origin};

    return key[0] && t->comm ? hash_bytes(key, sizeof(key)) | 1 : 0;
}

uint32_t *kin_find(const struct store *s)
{
    uint32_t *of = mem_calloc(s->tasks.list.n + 1, sizeof(*of));
    struct map count = {0}, first = {0};

    for (uint32_t i = 1; i <= s->tasks.list.n; i++) {
        uint64_t key = key_of(&s->tasks.list.a[i - 1]), *at = map_put(&first, key);

        *at = *at ? *at : i;
        ++*map_put(&count, key);
    }
    for (uint32_t i = 1; i <= s->tasks.list.n; i++) {
        uint64_t key = key_of(&s->tasks.list.a[i - 1]);

        of[i] = key && *map_get(&count, key) > FEW ? (uint32_t)*map_get(&first, key) : i;
    }
    map_release(&count);
    map_release(&first);
    return of;
}

int kin_add(struct kin_seen *x, uint32_t with, uint32_t task)
{
    uint64_t *at = map_put(&x->known, (uint64_t)with << 32 | task);

    if (*at)
        return 0;
    *at = 1;
    return 1;
}

void kin_seen_release(struct kin_seen *x)
{
    map_release(&x->known);
}
