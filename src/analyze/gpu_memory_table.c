/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_memory.h"

#include "analyze/gpu_trace.h"
#include "analyze/waits_top.h"
#include "base/map.h"

#include <math.h>

static const struct table_column pool_columns[] = {
    {"device", "device", TABLE_TEXT},
    {"rank", NULL, TABLE_COUNT},
    {"id", NULL, TABLE_COUNT},
    {"memory", "memory", TABLE_TEXT},
    {"allocations", "allocated", TABLE_COUNT},
    {"frees", "freed", TABLE_COUNT},
    {"bytes", "in all", TABLE_BYTES},
    {"peak_bytes", "most at a time", TABLE_BYTES},
    {"peak_ns", "at", TABLE_NS},
    {"held_bytes", "at the end", TABLE_BYTES},
    {"unknown_frees", "freed from before", TABLE_COUNT},
};

static const struct table_column asker_columns[] = {
    {"device", "device", TABLE_TEXT},
    {"memory", "memory", TABLE_TEXT},
    {"where", "asked for in", TABLE_TEXT},
    {"allocations", "allocated", TABLE_COUNT},
    {"frees", "freed", TABLE_COUNT},
    {"bytes", "in all", TABLE_BYTES},
    {"peak_bytes", "at the most", TABLE_BYTES},
    {"peak_share", "of it", TABLE_SHARE},
    {"held_bytes", "at the end", TABLE_BYTES},
};

static char *label(const struct gpu_memory_pool *p)
{
    struct gpu_device d = {.rank = p->rank, .device = p->device};
    struct buf text = {0};

    gpu_device_label(&d, &text);
    return buf_detach(&text);
}

void gpu_memory_table(struct table *t, const struct gpu_memory *m, uint64_t start)
{
    table_init(t, pool_columns, ARRAY_SIZE(pool_columns));
    for (size_t i = 0; i < m->pools.n; i++) {
        const struct gpu_memory_pool *p = &m->pools.a[i];
        union table_cell *c = table_add(t);

        c[0].text = label(p);
        c[1].count = p->rank ? p->rank - 1u : TABLE_NONE;
        c[2].count = p->device ? p->device - 1u : TABLE_NONE;
        c[3].text = mem_strdup(gpu_place_name(p->place));
        c[4].count = p->allocations;
        c[5].count = p->frees;
        c[6].count = p->bytes;
        c[7].count = p->peak;
        c[8].count = p->peak_ts > start ? p->peak_ts - start : 0;
        c[9].count = p->held;
        c[10].count = p->unknown_frees;
    }
}

/* ---- who asked for it ---- */

struct asker {
    uint32_t pool, where; /* where: a string of the store */
    uint64_t allocations, frees, bytes, held, at_peak;
};

struct askers {
    VEC(struct asker) list;
    struct map of;       /* pool and where -> index + 1 */
    struct map by_stack; /* pool and stack -> the same */
};

static struct asker *asker_of(struct askers *x, const struct gpu_memory *m, const struct gpu_memory_step *s)
{
    uint64_t *known = map_put(&x->by_stack, (uint64_t)s->pool << 32 | s->stack), *same;
    uint32_t where;

    if (*known)
        return &x->list.a[*known - 1];
    where = waits_place(m->s, s->stack);
    same = map_put(&x->of, (uint64_t)s->pool << 32 | where);
    if (!*same) {
        *vec_push(&x->list) = (struct asker){.pool = s->pool, .where = where};
        *same = x->list.n;
    }
    *known = *same;
    return &x->list.a[*same - 1];
}

static void count(struct asker *a, const struct gpu_memory_step *s)
{
    if (s->frees) {
        a->frees++;
        a->held -= s->bytes < a->held ? s->bytes : a->held;
    } else {
        a->allocations++;
        a->bytes += s->bytes;
        a->held += s->bytes;
    }
}

/* The first moment at which a pool holds the most. */
static void take_peak(struct askers *x, uint32_t pool)
{
    for (size_t i = 0; i < x->list.n; i++)
        if (x->list.a[i].pool == pool)
            x->list.a[i].at_peak = x->list.a[i].held;
}

static int most_first(const void *pa, const void *pb)
{
    const struct asker *a = pa, *b = pb;

    if (a->at_peak != b->at_peak)
        return a->at_peak > b->at_peak ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->pool != b->pool ? (a->pool < b->pool ? -1 : 1) : (a->where > b->where) - (a->where < b->where);
}

static void put_asker(struct table *t, const struct gpu_memory *m, const struct asker *a)
{
    const struct gpu_memory_pool *p = &m->pools.a[a->pool];
    union table_cell *c = table_add(t);

    c[0].text = label(p);
    c[1].text = mem_strdup(gpu_place_name(p->place));
    c[2].text = a->where ? mem_strdup(strtab_get(&m->s->strings, a->where)) : NULL;
    c[3].count = a->allocations;
    c[4].count = a->frees;
    c[5].count = a->bytes;
    c[6].count = a->at_peak;
    c[7].share = p->peak ? (double)a->at_peak / (double)p->peak : NAN;
    c[8].count = a->held;
}

void gpu_memory_askers(struct table *t, const struct gpu_memory *m, size_t limit)
{
    uint8_t *done = mem_calloc(m->pools.n + 1, 1); /* the pool's peak was met */
    struct askers x = {0};
    size_t rows;

    table_init(t, asker_columns, ARRAY_SIZE(asker_columns));
    for (size_t i = 0; i < m->steps.n; i++) {
        const struct gpu_memory_step *s = &m->steps.a[i];

        count(asker_of(&x, m, s), s);
        if (!done[s->pool] && !s->frees && s->used == m->pools.a[s->pool].peak) {
            take_peak(&x, s->pool);
            done[s->pool] = 1;
        }
    }
    if (x.list.n)
        qsort(x.list.a, x.list.n, sizeof(*x.list.a), most_first);
    rows = table_limit(t, x.list.n, limit);
    for (size_t i = 0; i < rows; i++)
        put_asker(t, m, &x.list.a[i]);
    vec_release(&x.list);
    map_release(&x.of);
    map_release(&x.by_stack);
    free(done);
}
