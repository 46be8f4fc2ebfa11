/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank did in the time that others waited for it: its lead thread's spans off the CPU and in the run
 * queue, clipped to that time; the rest of it it was on a CPU, which its samples then share out.
 */
#include "analyze/gpu_place.h"
#include "analyze/ranks.h"
#include "base/hash.h"
#include "model/waits.h"

#include <stdlib.h>
#include <string.h>

/* Of one rank, state << 32 | place -> ns, or samples. */
struct doing {
    struct map ns, samples;
    uint64_t left, sampled; /* time on a CPU, samples in it */
};

/* ---- when others waited ---- */

struct edge {
    uint64_t ts;
    int change; /* of how many wait */
};

static int by_edge(const void *pa, const void *pb)
{
    const struct edge *a = pa, *b = pb;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->change < b->change ? -1 : a->change > b->change;
}

typedef VEC(struct edge) edges;

static void add_edges(edges *out, const struct rank *k, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < k->waits.n; i++) {
        uint64_t a = k->waits.a[i].start > from ? k->waits.a[i].start : from,
                 b = k->waits.a[i].end < to ? k->waits.a[i].end : to;

        if (a >= b)
            continue;
        *vec_push(out) = (struct edge){a, 1};
        *vec_push(out) = (struct edge){b, -1};
    }
}

static uint64_t share_of(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* ---- what it did ---- */

static uint32_t place_of(const struct ranks *r, uint32_t stack)
{
    return gpu_place_of(&r->s->store, stack).where;
}

static size_t first_event(const struct ranks *r, const struct rank *k, uint64_t ts)
{
    size_t low = 0, high = k->events.n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (r->s->store.events.a[k->events.a[mid]].ts < ts)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Where it was blocked; of a thread that only waits for a CPU it says nothing. */
static uint32_t blocked_at(const struct ranks *r, const struct event *ev)
{
    uint32_t where = ev->kind == EVENT_RUNQ ? 0 : place_of(r, ev->stack);

    return *strtab_get(&r->s->store.strings, where) == '[' ? 0 : where; /* "[stack over budget]" */
}

static uint32_t state_of(const struct ranks *r, const struct event *ev)
{
    const struct wait *w = waits_get(&r->s->store.waits, ev->attr);

    return ev->kind == EVENT_RUNQ ? RANKS_QUEUED : RANKS_BLOCKED + (w ? w->reason : WAIT_UNKNOWN);
}

/* The longest span that began before may reach in: spans of one thread follow each other. */
enum { BACK = 4 };

static void take_piece(const struct ranks *r, size_t rank, uint64_t from, uint64_t to, struct doing *d)
{
    const struct rank *k = &r->waits.list.a[rank];
    size_t i = first_event(r, k, from);
    uint64_t off = 0;

    for (i = i > BACK ? i - BACK : 0; i < k->events.n; i++) {
        const struct event *ev = &r->s->store.events.a[k->events.a[i]];
        uint64_t a = ev->ts > from ? ev->ts : from, b = ev->ts + ev->dur < to ? ev->ts + ev->dur : to, ns;

        if (ev->ts >= to)
            break;
        if (ev->kind == EVENT_SAMPLE && ev->ts >= from) {
            *map_put(&d->samples, place_of(r, ev->stack)) += ev->value ? ev->value : 1;
            d->sampled += ev->value ? ev->value : 1;
        }
        if (ev->kind == EVENT_SAMPLE || ev->flags & EVENT_SHORT || a >= b)
            continue;
        ns = b - a;
        off += ns;
        *map_put(&d->ns, (uint64_t)state_of(r, ev) << 32 | blocked_at(r, ev)) += ns;
    }
    if (k->events.n) /* else nothing was seen of the thread: a trace of devices alone */
        d->left += share_of(to - from, off);
}

/* Kernels of its devices that are no communication, whatever its threads did. */
static void take_kernels(const struct ranks *r, size_t rank, uint64_t from, uint64_t to, struct doing *d)
{
    uint32_t number = origins_get(&r->s->store.origins, r->waits.list.a[rank].origin)->rank;

    for (size_t i = 0; i < r->gpu.devices.n && number; i++) {
        const struct gpu_device *dev = &r->gpu.devices.a[i];

        for (uint32_t k = dev->first; dev->rank == number && k < dev->first + dev->n; k++) {
            const struct event *ev = gpu_event(&r->gpu, &r->gpu.ran.a[k]);
            uint64_t a = ev->ts > from ? ev->ts : from, b = ev->ts + ev->dur < to ? ev->ts + ev->dur : to;

            if (a < b && gpu_class_of(&r->gpu, ev) != GPU_COMMUNICATE)
                *map_put(&d->ns, (uint64_t)RANKS_GPU << 32 | gpu_work_of(&r->gpu, ev)->name) += b - a;
        }
    }
}

/* In a step: while at least half of the others wait, and the last one doesn't. */
static void take_step(const struct ranks *r, const struct ranks_step *x, struct doing *d)
{
    const struct ranks_visit *v = r->visits.a + x->first;
    edges all = {0};
    uint64_t from = UINT64_MAX, to = 0, since = 0;
    int waiting = 0, most = (int)(x->n - 1 + 1) / 2, own = 0;

    for (size_t i = 0; i < x->n; i++) {
        from = v[i].start < from ? v[i].start : from;
        to = v[i].end > to ? v[i].end : to;
    }
    for (size_t i = 0; i < x->n; i++)
        if (v[i].rank != x->last)
            add_edges(&all, &r->waits.list.a[v[i].rank], from, to);
    if (all.n)
        qsort(all.a, all.n, sizeof(*all.a), by_edge);
    for (size_t i = 0; i < all.n; i++) {
        int before = waiting >= most;

        waiting += all.a[i].change;
        if (before && all.a[i].ts > since) {
            own = rank_waited(&r->waits.list.a[x->last], since, all.a[i].ts) < (all.a[i].ts - since) / 2;
            if (own) {
                take_piece(r, x->last, since, all.a[i].ts, d);
                take_kernels(r, x->last, since, all.a[i].ts, d);
            }
        }
        since = all.a[i].ts;
    }
    vec_release(&all);
}

/* ---- rows ---- */

static void add_did(struct ranks_did *best, uint32_t rank, uint64_t key, uint64_t ns)
{
    *best = (struct ranks_did){rank, (uint32_t)(key >> 32), (uint32_t)key, ns};
}

/* Its time on a CPU, where nothing was sampled of no place. */
static uint64_t ran(const struct doing *d, uint64_t samples)
{
    return d->sampled ? (uint64_t)((double)d->left * (double)samples / (double)d->sampled) : 0;
}

typedef VEC(struct ranks_did) did_list;

static void list(struct doing *d, uint32_t rank, did_list *out)
{
    struct map_slot *s;

    for (size_t i = 0; (s = map_next(&d->ns, &i));)
        add_did(vec_push(out), rank, s->key, s->val);
    for (size_t i = 0; (s = map_next(&d->samples, &i));)
        add_did(vec_push(out), rank, s->key, ran(d, s->val));
    if (!d->sampled && d->left)
        add_did(vec_push(out), rank, 0, d->left);
    map_release(&d->ns);
    map_release(&d->samples);
}

static int by_rank(const void *pa, const void *pb)
{
    const struct ranks_did *a = pa, *b = pb;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->state != b->state)
        return a->state < b->state ? -1 : 1;
    return a->where < b->where ? -1 : a->where > b->where;
}

void ranks_find_did(struct ranks *r)
{
    struct doing *all = mem_calloc(r->waits.list.n + 1, sizeof(*all));
    did_list rows = {0};

    for (size_t i = 0; i < r->steps.n; i++)
        if (r->steps.a[i].last != UINT32_MAX)
            take_step(r, &r->steps.a[i], &all[r->steps.a[i].last]);
    for (size_t i = 0; i < r->waits.list.n; i++)
        list(&all[i], (uint32_t)i, &rows);
    if (rows.n)
        qsort(rows.a, rows.n, sizeof(*rows.a), by_rank);
    for (size_t i = 0; i < rows.n; i++)
        *vec_push(&r->did) = rows.a[i];
    vec_release(&rows);
    free(all);
}

size_t ranks_did_most(const struct ranks *r, const struct ranks_step *x, struct ranks_did *out, size_t max)
{
    struct doing d = {0};
    did_list rows = {0};
    size_t n;

    if (x->last == UINT32_MAX)
        return 0;
    take_step(r, x, &d);
    list(&d, x->last, &rows);
    if (rows.n)
        qsort(rows.a, rows.n, sizeof(*rows.a), by_rank);
    n = rows.n < max ? rows.n : max;
    for (size_t i = 0; i < n; i++)
        out[i] = rows.a[i];
    vec_release(&rows);
    return n;
}
