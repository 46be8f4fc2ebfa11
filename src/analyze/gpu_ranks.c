/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_ranks.h"

#include "analyze/gpu_figures.h"

#include <math.h>

static const struct table_column columns[] = {
    {"rank", "rank", TABLE_ID},
    {"devices", "devices", TABLE_COUNT},
    {"span_ns", "span", TABLE_NS},
    {"busy_ns", "busy", TABLE_NS},
    {"busy_share", "of span", TABLE_SHARE},
    {"compute_ns", "computing", TABLE_NS},
    {"comm_ns", "communicating", TABLE_NS},
    {"exposed_ns", "exposed", TABLE_NS},
    {"collectives", "collectives", TABLE_COUNT},
    {"last", "came last", TABLE_COUNT},
    {"last_share", "of them", TABLE_SHARE},
    {"waited_ns", "waited", TABLE_NS},
};

struct rank {
    uint16_t rank;
    uint64_t devices, span, busy, compute, comm, exposed;
    uint64_t collectives, last, waited;
};

/* A kernel of a collective. */
struct part {
    uint32_t name, rank; /* rank: index */
    uint64_t ts, dur;
};

struct ranks {
    const struct gpu_trace *x;
    VEC(struct rank) list;
    VEC(struct part) parts;
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
            *vec_push(&r->parts) =
                (struct part){gpu_work_of(r->x, ev)->name, (uint32_t)r->list.n - 1, ev->ts, ev->dur};
    }
}

static int in_order(const void *pa, const void *pb)
{
    const struct part *a = pa, *b = pb;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->ts < b->ts ? -1 : a->ts > b->ts;
}

/* The parts of one name; n of each rank. */
static void compare(struct ranks *r, const struct part *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t last = 0;

        for (size_t k = 1; k < r->list.n; k++)
            last = a[k * n + i].dur < a[last * n + i].dur ? k : last;
        for (size_t k = 0; k < r->list.n; k++) {
            r->list.a[k].collectives++;
            r->list.a[k].waited += a[k * n + i].dur - a[last * n + i].dur;
        }
        r->list.a[last].last++;
    }
}

static int all_have(const struct ranks *r, const struct part *a, size_t n)
{
    if (n % r->list.n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (a[i].rank != i / (n / r->list.n))
            return 0;
    return 1;
}

static void compare_all(struct ranks *r)
{
    size_t n = r->parts.n;

    if (n)
        qsort(r->parts.a, n, sizeof(*r->parts.a), in_order);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && r->parts.a[end].name == r->parts.a[i].name;)
            end++;
        if (all_have(r, r->parts.a + i, end - i))
            compare(r, r->parts.a + i, (end - i) / r->list.n);
    }
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
    c[n++].count = k->last;
    c[n++].share = share(k->last, k->collectives);
    c[n].count = k->waited;
}

void gpu_ranks_table(struct table *t, const struct gpu_trace *x)
{
    struct ranks r = {.x = x};

    table_init(t, columns, ARRAY_SIZE(columns));
    if (!x->ranks)
        return;
    for (size_t d = 0; d < x->devices.n; d++)
        add_device(&r, &x->devices.a[d]);
    compare_all(&r);
    for (size_t i = 0; i < r.list.n; i++)
        fill(table_add(t), &r.list.a[i]);
    vec_release(&r.list);
    vec_release(&r.parts);
}
