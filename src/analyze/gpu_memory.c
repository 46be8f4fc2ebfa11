/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_memory.h"

#include "base/hash.h"
#include "base/map.h"

#include <stdlib.h>

/* What is allocated, by its address. */
struct block {
    uint64_t bytes;
    uint32_t pool, stack;
    uint32_t step;   /* + 1: that allocated it */
    uint32_t before; /* without an address: the last of that size before it, index + 1 of list */
};

struct walk {
    struct gpu_memory *m;
    struct map blocks;   /* of who and address -> index + 1 of list */
    struct map by_bytes; /* without addresses: pool and size -> the last, likewise */
    VEC(struct block) list;
    struct map pools; /* -> index + 1 */
};

static uint32_t pool_of(struct walk *w, const struct gpu_work *work)
{
    uint64_t *known = map_put(&w->pools, (uint64_t)work->rank << 32 | (uint64_t)work->device << 8 | work->to);

    if (!*known) {
        *vec_push(&w->m->pools) =
            (struct gpu_memory_pool){.rank = work->rank, .device = work->device, .place = work->to};
        *known = w->m->pools.n;
    }
    return (uint32_t)*known - 1;
}

/* Each process has addresses of its own, and so has each rank. */
static uint64_t key_of(const struct store *s, const struct event *ev, const struct gpu_work *work)
{
    const struct task *t = ev->task && ev->task <= s->tasks.list.n ? &s->tasks.list.a[ev->task - 1] : NULL;

    return hash_mix(ev->value, (uint64_t)(t ? t->leader : 0) << 16 | work->rank);
}

static void put_step(struct walk *w, const struct event *ev, const struct block *b, int frees)
{
    struct gpu_memory_pool *p = &w->m->pools.a[b->pool];

    if (frees) {
        p->frees++;
        p->held -= b->bytes < p->held ? b->bytes : p->held;
    } else {
        p->allocations++;
        p->bytes += b->bytes;
        p->held += b->bytes;
    }
    if (p->held > p->peak) {
        p->peak = p->held;
        p->peak_ts = ev->ts;
    }
    *vec_push(&w->m->steps) = (struct gpu_memory_step){.ts = ev->ts,
                                                       .used = p->held,
                                                       .bytes = b->bytes,
                                                       .pool = b->pool,
                                                       .stack = b->stack,
                                                       .event = (uint32_t)(ev - w->m->s->events.a),
                                                       .of = frees ? b->step : 0,
                                                       .frees = frees};
}

static uint64_t *last_of_size(struct walk *w, const struct block *b)
{
    return map_put(&w->by_bytes, hash_mix(b->bytes, b->pool));
}

static void allocate(struct walk *w, const struct event *ev, const struct gpu_work *work)
{
    struct block b = {.bytes = work->bytes, .pool = pool_of(w, work), .stack = ev->stack};
    uint64_t *at = ev->value ? map_put(&w->blocks, key_of(w->m->s, ev, work)) : last_of_size(w, &b);

    b.step = (uint32_t)w->m->steps.n + 1;
    b.before = ev->value ? 0 : (uint32_t)*at;
    *vec_push(&w->list) = b;
    *at = w->list.n; /* one that was there at that address is gone, without having told */
    put_step(w, ev, &b, 0);
}

/* Without addresses sizes alone are told: the last of that size is taken for it. */
static struct block take_of_size(struct walk *w, const struct gpu_work *work)
{
    struct block b = {.bytes = work->bytes, .pool = pool_of(w, work)};
    uint64_t *last = last_of_size(w, &b);

    if (*last) {
        b = w->list.a[*last - 1];
        *last = b.before;
    }
    return b;
}

static void give_back(struct walk *w, const struct event *ev, const struct gpu_work *work)
{
    uint64_t key = key_of(w->m->s, ev, work), *at = ev->value ? map_get(&w->blocks, key) : NULL;
    struct block b;

    if (at) {
        b = w->list.a[*at - 1];
        map_del(&w->blocks, key);
    } else if (!ev->value && work->bytes) {
        b = take_of_size(w, work);
    } else {
        w->m->pools.a[pool_of(w, work)].unknown_frees++;
        return;
    }
    put_step(w, ev, &b, 1);
}

/* Of the pools: by rank, device, place. */
static int by_place(const void *pa, const void *pb, void *pools)
{
    const struct gpu_memory_pool *all = pools, *a = &all[*(const uint32_t *)pa],
                                 *b = &all[*(const uint32_t *)pb];
    uint64_t x = (uint64_t)a->rank << 32 | (uint64_t)a->device << 8 | a->place;
    uint64_t y = (uint64_t)b->rank << 32 | (uint64_t)b->device << 8 | b->place;

    return x < y ? -1 : x > y;
}

static void order_pools(struct gpu_memory *m)
{
    uint32_t *order = mem_alloc(m->pools.n * sizeof(*order)), *to = mem_alloc(m->pools.n * sizeof(*to));
    struct gpu_memory_pool *from = mem_dup(m->pools.a, m->pools.n * sizeof(*from));

    for (uint32_t i = 0; i < m->pools.n; i++)
        order[i] = i;
    qsort_r(order, m->pools.n, sizeof(*order), by_place, from);
    for (uint32_t i = 0; i < m->pools.n; i++) {
        m->pools.a[i] = from[order[i]];
        to[order[i]] = i;
    }
    for (size_t i = 0; i < m->steps.n; i++)
        m->steps.a[i].pool = to[m->steps.a[i].pool];
    free(order);
    free(from);
    free(to);
}

/* Launches are many more than allocations, and tell nothing of them. */
static int tells_memory(const struct store *s)
{
    for (size_t i = 0; i < s->gpus.list.n; i++)
        if (s->gpus.list.a[i].op == GPU_ALLOC || s->gpus.list.a[i].op == GPU_FREE)
            return 1;
    return 0;
}

void gpu_memory_init(struct gpu_memory *m, const struct store *s)
{
    unsigned kinds = tells_memory(s) ? 1 << EVENT_GPU : 0;
    struct walk w = {.m = m};

    *m = (struct gpu_memory){.s = s};
    store_each(s, i, kinds) {
        const struct event *ev = &s->events.a[i];
        const struct gpu_work *work = gpu_works_get(&s->gpus, ev->attr);

        if (work && work->op == GPU_ALLOC)
            allocate(&w, ev, work);
        else if (work && work->op == GPU_FREE)
            give_back(&w, ev, work);
    }
    if (m->pools.n > 1)
        order_pools(m);
    map_release(&w.blocks);
    map_release(&w.by_bytes);
    map_release(&w.pools);
    vec_release(&w.list);
}

void gpu_memory_release(struct gpu_memory *m)
{
    vec_release(&m->pools);
    vec_release(&m->steps);
}
