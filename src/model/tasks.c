/* SPDX-License-Identifier: Apache-2.0 */
#include "model/tasks.h"

#include "base/hash.h"

struct wanted {
    const struct task *list, *key;
};

void tasks_release(struct tasks *t)
{
    vec_release(&t->list);
    vec_release(&t->changed);
    index_release(&t->index);
}

static uint64_t task_hash(const struct task *k)
{
    return hash_mix(k->tid | (uint64_t)k->image << 32, k->start_ns ^ (uint64_t)k->origin << 40);
}

static int same(const void *ctx, uint32_t id)
{
    const struct wanted *w = ctx;

    const struct task *t = &w->list[id - 1];

    return task_same_thread(t, w->key) && t->image == w->key->image;
}

static void build_index(struct tasks *t)
{
    index_release(&t->index);
    for (uint32_t id = 1; id <= t->list.n; id++)
        index_add(&t->index, task_hash(&t->list.a[id - 1]), id);
}

uint32_t tasks_add(struct tasks *t, const struct task *key)
{
    struct wanted w = {t->list.a, key};
    uint64_t hash = task_hash(key);
    uint32_t id;

    if (t->index.n != t->list.n)
        build_index(t);
    id = index_find(&t->index, hash, same, &w);
    if (id)
        return id;
    *vec_push(&t->list) = *key;
    id = (uint32_t)t->list.n;
    if (!key->leader && key->pid == key->tid)
        t->list.a[id - 1].leader = id;
    index_add(&t->index, hash, id);
    tasks_touch(t, id);
    return id;
}

struct task *tasks_get(struct tasks *t, uint32_t id)
{
    return id && id <= t->list.n ? &t->list.a[id - 1] : NULL;
}

void tasks_touch(struct tasks *t, uint32_t id)
{
    if (!t->changed.n || t->changed.a[t->changed.n - 1] != id)
        *vec_push(&t->changed) = id;
}

void tasks_touch_all(struct tasks *t)
{
    for (uint32_t id = 1; id <= t->list.n; id++)
        tasks_touch(t, id);
}
