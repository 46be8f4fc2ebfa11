/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_ranks.h"

#include "analyze/gpu_figures.h"
#include "analyze/gpu_pairs.h"

#include <math.h>

/* Differences of lengths below these say nothing: of a timestamp's resolution, and a part of the longest. */
enum { EQUAL_NS = 1000, EQUAL_PART = 100 };

static const struct table_column columns[] = {
    {"rank", "rank", TABLE_ID},
    {"devices", "devices", TABLE_COUNT, 7},
    {"span_ns", "span", TABLE_NS},
    {"busy_ns", "busy", TABLE_NS},
    {"busy_share", "of span", TABLE_SHARE, 4},
    {"compute_ns", "computing", TABLE_NS, 5},
    {"comm_ns", "communicating", TABLE_NS, 1},
    {"exposed_ns", "exposed", TABLE_NS, 3},
    {"collectives", "collectives", TABLE_COUNT, 2},
    {"alone", "not compared", TABLE_COUNT, 8},
    {"last", "came last", TABLE_COUNT},
    {"last_share", "of them", TABLE_SHARE, 6},
    {"waited_ns", "waited", TABLE_NS},
};

struct rank {
    uint16_t rank;
    uint64_t devices, span, busy, compute, comm, exposed;
    uint64_t collectives, alone, last, waited;
};

struct ranks {
    const struct gpu_trace *x;
    VEC(struct rank) list;
    VEC(struct gpu_part) parts;
};

static void add_device(struct ranks *r, const struct gpu_device *d)
{
    struct gpu_figures f;
    struct rank *k;

    if (!r->list.n || r->list.a[r->list.n - 1].rank != d->rank)
        *vec_push(&r->list) = (struct rank){.rank = d->rank};
    k = &r->list.a[r->list.n - 1];
    gpu_figures(&f, r->x, d->first, d->n);
    k->devices++;
    k->span += f.span;
    k->busy += f.busy;
    k->compute += f.of[GPU_COMPUTE];
    k->comm += f.of[GPU_COMMUNICATE];
    k->exposed += f.exposed;
    for (uint32_t i = d->first; i < d->first + d->n; i++) {
        const struct event *ev = gpu_event(r->x, &r->x->ran.a[i]);

        if (gpu_class_of(r->x, ev) == GPU_COMMUNICATE)
            *vec_push(&r->parts) = (struct gpu_part){.name = gpu_work_of(r->x, ev)->name,
                                                     .rank = (uint32_t)r->list.n - 1,
                                                     .end = (int64_t)(ev->ts + ev->dur),
                                                     .dur = ev->dur};
    }
}

/* Of one collective the kernels' lengths tell who came last, unless they are equal: within what clocks
 * resolve and what the end itself varies by nobody was late. */
static void compare(struct ranks *r, const uint32_t *of)
{
    const struct gpu_part *a = r->parts.a;
    uint64_t longest = 0, least = UINT64_MAX;
    size_t last = 0;

    for (size_t k = 0; k < r->list.n; k++) {
        uint64_t dur = a[of[k]].dur;

        r->list.a[k].collectives++;
        last = dur < least ? k : last;
        least = dur < least ? dur : least;
        longest = dur > longest ? dur : longest;
    }
    if (longest - least <= EQUAL_NS || longest - least <= longest / EQUAL_PART)
        return;
    for (size_t k = 0; k < r->list.n; k++)
        r->list.a[k].waited += a[of[k]].dur - least;
    r->list.a[last].last++;
}

static void compare_all(struct ranks *r)
{
    struct gpu_pairs p;

    for (size_t i = 0; i < r->parts.n; i++)
        r->list.a[r->parts.a[i].rank].alone++;
    gpu_pairs_find(&p, r->parts.a, r->parts.n, (uint32_t)r->list.n);
    for (size_t i = 0; i < p.of.n; i += r->list.n)
        compare(r, p.of.a + i);
    for (size_t k = 0; k < r->list.n; k++)
        r->list.a[k].alone -= r->list.a[k].collectives;
    vec_release(&p.of);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static void fill(union table_cell *c, const struct rank *k)
{
    size_t n = 0;

    c[n++].count = k->rank ? (uint64_t)k->rank - 1 : TABLE_NONE;
    c[n++].count = k->devices;
    c[n++].count = k->span;
    c[n++].count = k->busy;
    c[n++].share = share(k->busy, k->span);
    c[n++].count = k->compute;
    c[n++].count = k->comm;
    c[n++].count = k->exposed;
    c[n++].count = k->collectives;
    c[n++].count = k->alone;
    c[n++].count = k->last;
    c[n++].share = share(k->last, k->collectives);
    c[n].count = k->waited;
}

static int latest_first(const void *pa, const void *pb)
{
    const struct rank *a = pa, *b = pb;

    if (a->last != b->last)
        return a->last > b->last ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

void gpu_ranks_table(struct table *t, const struct gpu_trace *x, size_t limit)
{
    struct ranks r = {.x = x};
    size_t n;

    table_init(t, columns, ARRAY_SIZE(columns));
    if (!x->ranks)
        return;
    for (size_t d = 0; d < x->devices.n; d++)
        add_device(&r, &x->devices.a[d]);
    compare_all(&r);
    n = table_limit(t, r.list.n, limit);
    if (n < r.list.n)
        qsort(r.list.a, r.list.n, sizeof(*r.list.a), latest_first);
    for (size_t i = 0; i < n; i++)
        fill(table_add(t), &r.list.a[i]);
    vec_release(&r.list);
    vec_release(&r.parts);
}
