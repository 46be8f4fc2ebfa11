/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_kernels.h"

#include "analyze/gpu_slots.h"
#include "analyze/waits_top.h"
#include "base/hash.h"
#include "base/map.h"

#include <math.h>
#include <string.h>

enum { SMALL = 1024 }; /* bytes: such a copy costs its start and no more */

static const struct table_column kernel_columns[] = {
    {"name", "kernel", TABLE_TEXT},     {"count", "count", TABLE_COUNT},
    {"total_ns", "time", TABLE_NS},     {"share", "of all", TABLE_SHARE},
    {"self_ns", "alone", TABLE_NS, 2},  {"mean_ns", "mean", TABLE_NS, 1},
    {"max_ns", "longest", TABLE_NS, 3}, {"sm_util", "occupancy", TABLE_REAL, 4},
};

static const struct table_column copy_columns[] = {
    {"what", "what", TABLE_TEXT},
    {"count", "count", TABLE_COUNT},
    {"bytes", "bytes", TABLE_BYTES},
    {"ns", "time", TABLE_NS},
    {"bytes_per_s", NULL, TABLE_REAL},
    {"mean_bytes", "mean", TABLE_BYTES, 1},
    {"small", "below 1 KiB", TABLE_COUNT, 2},
    {"rate", "rate", TABLE_FIGURE},
};

static const struct table_column node_columns[] = {
    {"graph", "graph", TABLE_ID},    {"node", "node", TABLE_ID},     {"name", "what", TABLE_TEXT},
    {"count", "count", TABLE_COUNT}, {"total_ns", "time", TABLE_NS}, {"where", "asked for in", TABLE_TEXT},
};

/* What has one key, summed. */
struct sum {
    uint64_t key, second; /* second: what else the row is told by, the same for all of the key */
    uint64_t count, ns, alone, max, bytes, small;
    uint64_t sized, sized_ns; /* of those whose bytes are told */
    double occupied, weighed; /* occupancy times ns; the ns of those that have one */
    uint32_t stack;
};

struct sums {
    VEC(struct sum) list;
    struct map of; /* key -> index + 1 */
};

static struct sum *sum_of(struct sums *x, uint64_t key, uint64_t second)
{
    uint64_t *at = map_put(&x->of, key);

    if (!*at) {
        *vec_push(&x->list) = (struct sum){.key = key, .second = second};
        *at = x->list.n;
    }
    return &x->list.a[*at - 1];
}

static void add(struct sum *m, const struct event *ev, const struct gpu_work *w)
{
    m->count++;
    m->ns += ev->dur;
    m->max = ev->dur > m->max ? ev->dur : m->max;
    m->bytes += w->bytes;
    m->small += w->bytes && w->bytes < SMALL;
    m->sized += w->bytes != 0;
    m->sized_ns += w->bytes ? ev->dur : 0;
    if (!m->stack)
        m->stack = ev->stack;
    if (w->occupancy) {
        m->occupied += (double)(w->occupancy - 1) / 1e3 * (double)ev->dur;
        m->weighed += (double)ev->dur;
    }
}

static int longest_first(const void *pa, const void *pb)
{
    const struct sum *a = pa, *b = pb;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

/* Sorts; gives how many rows there shall be. */
static size_t order(struct sums *x, size_t limit, struct table *t)
{
    if (x->list.n)
        qsort(x->list.a, x->list.n, sizeof(*x->list.a), longest_first);
    return table_limit(t, x->list.n, limit);
}

static void release(struct sums *x)
{
    vec_release(&x->list);
    map_release(&x->of);
}

static void range_of(const struct gpu_trace *x, uint32_t device, uint32_t *first, uint32_t *n)
{
    *first = device == UINT32_MAX ? 0 : x->devices.a[device].first;
    *n = device == UINT32_MAX ? (uint32_t)x->ran.n : x->devices.a[device].n;
}

/* ---- kernels ---- */

static int is_kernel(const struct gpu_work *w)
{
    return w->op == GPU_KERNEL || w->op == GPU_GRAPH;
}

static int by_end(const void *pa, const void *pb)
{
    const struct gpu_slot *a = pa, *b = pb;

    return a->end < b->end ? -1 : a->end > b->end;
}

/* Gives each name the time in which one of its kernels was all that ran. Of those that run at a time, `who`
 * is the exclusive or: where it is one, that one. */
static void add_alone(struct sums *sums, const struct gpu_trace *x, const struct gpu_device *d)
{
    struct gpu_slot *starts = gpu_slots(x, d->first, d->n), *ends = mem_dup(starts, d->n * sizeof(*ends));
    uint64_t last = 0;
    uint32_t running = 0, who = 0;

    qsort(ends, d->n, sizeof(*ends), by_end);
    for (uint32_t i = 0, k = 0; k < d->n;) {
        int begins = i < d->n && starts[i].start <= ends[k].end;
        uint64_t now = begins ? starts[i].start : ends[k].end;
        const struct gpu_work *w = running == 1 ? gpu_work_of(x, gpu_event(x, &x->ran.a[who])) : NULL;

        if (w && is_kernel(w))
            sum_of(sums, w->name, 0)->alone += now - last;
        who ^= begins ? starts[i++].run : ends[k++].run;
        running += begins ? 1 : UINT32_MAX;
        last = now;
    }
    free(starts);
    free(ends);
}

void gpu_kernels_table(struct table *t, const struct gpu_trace *x, uint32_t device, size_t limit)
{
    struct sums sums = {0};
    uint32_t first, n;
    uint64_t all = 0;
    size_t rows;

    table_init(t, kernel_columns, ARRAY_SIZE(kernel_columns));
    range_of(x, device, &first, &n);
    for (uint32_t i = first; i < first + n; i++) {
        const struct event *ev = gpu_event(x, &x->ran.a[i]);
        const struct gpu_work *w = gpu_work_of(x, ev);

        if (!is_kernel(w))
            continue;
        add(sum_of(&sums, w->name, 0), ev, w);
        all += ev->dur;
    }
    for (uint32_t d = 0; d < x->devices.n; d++)
        if (device == UINT32_MAX || device == d)
            add_alone(&sums, x, &x->devices.a[d]);
    rows = order(&sums, limit, t);
    for (size_t i = 0; i < rows; i++) {
        const struct sum *m = &sums.list.a[i];
        union table_cell *c = table_add(t);

        c[0].text = mem_strdup(m->key ? strtab_get(&x->s->strings, (uint32_t)m->key) : "[unnamed]");
        c[1].count = m->count;
        c[2].count = m->ns;
        c[3].share = all ? (double)m->ns / (double)all : NAN;
        c[4].count = m->alone;
        c[5].count = m->ns / m->count;
        c[6].count = m->max;
        c[7].share = m->weighed > 0 ? m->occupied / m->weighed : NAN;
    }
    release(&sums);
}

/* ---- copies ---- */

/* Between devices, over another path than on one of them. */
#define PEER (1ull << 32)

static uint64_t copy_key(const struct gpu_trace *x, const struct gpu_work *w)
{
    int peer = w->op == GPU_COPY && strstr(strtab_get(&x->s->strings, w->name), "PtoP");

    return (peer ? PEER : 0) | (uint64_t)w->op << 16 | (uint64_t)w->from << 8 | w->to;
}

static char *copy_label(uint64_t key)
{
    if ((key >> 16 & 0xff) == GPU_SET)
        return mem_printf("set %s", gpu_place_name(key & 0xff));
    return mem_printf("copy %s -> %s%s", gpu_place_name(key >> 8 & 0xff), key & PEER ? "another " : "",
                      gpu_place_name(key & 0xff));
}

void gpu_copies_table(struct table *t, const struct gpu_trace *x, uint32_t device)
{
    struct sums sums = {0};
    uint32_t first, n;

    table_init(t, copy_columns, ARRAY_SIZE(copy_columns));
    range_of(x, device, &first, &n);
    for (uint32_t i = first; i < first + n; i++) {
        const struct event *ev = gpu_event(x, &x->ran.a[i]);
        const struct gpu_work *w = gpu_work_of(x, ev);

        if (gpu_class_of(x, ev) == GPU_MOVE)
            add(sum_of(&sums, copy_key(x, w), 0), ev, w);
    }
    order(&sums, 0, t);
    for (size_t i = 0; i < sums.list.n; i++) {
        const struct sum *m = &sums.list.a[i];
        union table_cell *c = table_add(t);

        c[0].text = copy_label(m->key);
        c[1].count = m->count;
        c[2].count = m->sized ? m->bytes : TABLE_NONE;
        c[3].count = m->ns;
        c[4].share = m->sized_ns ? (double)m->bytes / (double)m->sized_ns * 1e9 : NAN;
        c[5].count = m->sized ? m->bytes / m->sized : TABLE_NONE;
        c[6].count = m->sized ? m->small : TABLE_NONE;
        c[7].text = m->sized_ns ? mem_printf("%.2f GB/s", (double)m->bytes / (double)m->sized_ns) : NULL;
    }
    release(&sums);
}

/* ---- graphs ---- */

void gpu_nodes_table(struct table *t, const struct gpu_trace *x, size_t limit)
{
    struct sums sums = {0};
    size_t rows;

    table_init(t, node_columns, ARRAY_SIZE(node_columns));
    for (size_t i = 0; i < x->ran.n; i++) {
        const struct event *ev = gpu_event(x, &x->ran.a[i]);
        const struct gpu_work *w = gpu_work_of(x, ev);

        if (w->graph || w->node)
            add(sum_of(&sums, (uint64_t)w->graph << 32 | w->node, w->name), ev, w);
    }
    rows = order(&sums, limit, t);
    for (size_t i = 0; i < rows; i++) {
        const struct sum *m = &sums.list.a[i];
        uint32_t where = waits_place(x->s, m->stack);
        union table_cell *c = table_add(t);

        c[0].count = m->key >> 32;
        c[1].count = m->key & UINT32_MAX;
        c[2].text = mem_strdup(strtab_get(&x->s->strings, (uint32_t)m->second));
        c[3].count = m->count;
        c[4].count = m->ns;
        c[5].text = where ? mem_strdup(strtab_get(&x->s->strings, where)) : NULL;
    }
    release(&sums);
}
