/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/gpu_calls.h"

#include "analyze/gpu_place.h"
#include "analyze/thread_spans.h"
#include "base/hash.h"
#include "base/map.h"

#include <math.h>
#include <string.h>

static const struct table_column call_columns[] = {
    {"name", "call", TABLE_TEXT},         {"op", "of", TABLE_TEXT, 2},   {"count", "count", TABLE_COUNT},
    {"total_ns", "time", TABLE_NS},       {"mean_ns", "mean", TABLE_NS}, {"max_ns", "longest", TABLE_NS, 1},
    {"failed", "failed", TABLE_COUNT, 3},
};

static const struct table_column stall_columns[] = {
    {"thread", "thread", TABLE_TEXT, 2}, {"tid", "tid", TABLE_ID, 3},      {"name", "waited in", TABLE_TEXT},
    {"where", "where", TABLE_TEXT},      {"count", "times", TABLE_COUNT},  {"ns", "time", TABLE_NS},
    {"max_ns", "longest", TABLE_NS, 1},  {"share", "of all", TABLE_SHARE},
};

struct row {
    uint32_t name, op, task, where;
    uint64_t count, ns, max, failed;
    const char *counted; /* its name, where nothing but its number is known; NULL */
};

struct rows {
    VEC(struct row) list;
    struct map of; /* hash of the key -> index + 1 */
};

/* 64 bits of hash stand for the key: among thousands of rows no two are the same. */
static struct row *row_of(struct rows *x, struct row key)
{
    uint64_t *at =
        map_put(&x->of, hash_mix((uint64_t)key.name << 32 | key.op, (uint64_t)key.task << 32 | key.where));

    if (!*at) {
        *vec_push(&x->list) = key;
        *at = x->list.n;
    }
    return &x->list.a[*at - 1];
}

static void add(struct row *r, uint64_t ns, int failed)
{
    r->count++;
    r->ns += ns;
    r->max = ns > r->max ? ns : r->max;
    r->failed += failed != 0;
}

static int longest_first(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->counted && a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

static size_t order(struct rows *x, size_t limit, struct table *t)
{
    if (x->list.n)
        qsort(x->list.a, x->list.n, sizeof(*x->list.a), longest_first);
    return table_limit(t, x->list.n, limit);
}

static char *text(const struct store *s, uint32_t id)
{
    return id ? mem_strdup(strtab_get(&s->strings, id)) : NULL;
}

#define COUNTED "gpu.calls." /* and a call's name: of what ran already, all that were made */

/* Events of these are but those with a stack, and have no length. */
static void add_counted(struct rows *rows, const struct store *s)
{
    for (size_t i = 0; i < s->counters.n; i++) {
        const char *name = strtab_get(&s->strings, s->counters.a[i].name);
        struct row key = {0};

        if (strncmp(name, COUNTED, strlen(COUNTED)) != 0)
            continue;
        key.counted = name + strlen(COUNTED);
        key.op = strncmp(key.counted, "cuda", 4) ? GPU_DRIVER : GPU_RUNTIME;
        key.count = s->counters.a[i].value;
        *vec_push(&rows->list) = key;
    }
}

int gpu_calls_are_counted(const struct store *s)
{
    for (size_t i = 0; i < s->counters.n; i++)
        if (!strncmp(strtab_get(&s->strings, s->counters.a[i].name), COUNTED, strlen(COUNTED)))
            return 1;
    return 0;
}

void gpu_calls_table(struct table *t, const struct gpu_trace *x, size_t limit)
{
    int counted = gpu_calls_are_counted(x->s);
    struct rows rows = {0};
    size_t n;

    table_init(t, call_columns, ARRAY_SIZE(call_columns));
    add_counted(&rows, x->s);
    for (size_t i = 0; !counted && i < x->s->events.n; i++) {
        const struct event *ev = &x->s->events.a[i];
        const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_work_of(x, ev) : NULL;

        if (w && (w->op == GPU_RUNTIME || w->op == GPU_DRIVER || w->op == GPU_SYNC || w->op == GPU_OVERHEAD))
            add(row_of(&rows, (struct row){.name = w->name, .op = w->op}), ev->dur, w->result);
    }
    n = order(&rows, limit, t);
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows.list.a[i];
        union table_cell *c = table_add(t);

        c[0].text = mem_strdup(r->counted ? r->counted
                               : r->name  ? strtab_get(&x->s->strings, r->name)
                                          : "[unnamed]");
        c[1].text = mem_strdup(gpu_op_name(r->op));
        c[2].count = r->count;
        c[3].count = r->counted ? TABLE_NONE : r->ns;
        c[4].count = r->counted ? TABLE_NONE : r->ns / r->count;
        c[5].count = r->counted ? TABLE_NONE : r->max;
        c[6].count = r->counted ? TABLE_NONE : r->failed;
    }
    vec_release(&rows.list);
    map_release(&rows.of);
}

/* ---- standing still ---- */

/* The calls that return when a device is done: cudaStreamSynchronize, cuCtxSynchronize, hipDeviceSynchronize.
 * "Stream Wait Event" is a wait of the device's. */
static int is_stall(const struct store *s, const struct gpu_work *w)
{
    const char *name = strtab_get(&s->strings, w->name);

    if (w->op == GPU_SYNC)
        return !strstr(name, "Wait Event");
    return (w->op == GPU_RUNTIME || w->op == GPU_DRIVER) && strstr(name, "Synchronize");
}

static void add_stalls(struct rows *rows, const struct gpu_trace *x, const struct thread_span *a, size_t n)
{
    uint64_t done = 0;

    for (size_t i = 0; i < n; i++) {
        const struct event *ev = &x->s->events.a[a[i].event];
        uint32_t name = gpu_work_of(x, ev)->name;
        uint64_t from = a[i].start;

        if (!i || a[i].task != a[i - 1].task)
            done = 0;
        if (from < done)
            from = done;
        if (a[i].end <= from)
            continue;
        done = a[i].end;
        add(row_of(rows,
                   (struct row){.name = name,
                                .task = ev->task,
                                .where = gpu_place_of(x->s, gpu_place_outside(x->s, ev->stack, name)).where}),
            done - from, 0);
    }
}

void gpu_stalls_table(struct table *t, const struct gpu_trace *x, size_t limit)
{
    thread_spans list = {0};
    struct rows rows = {0};
    size_t n;

    table_init(t, stall_columns, ARRAY_SIZE(stall_columns));
    for (size_t i = 0; i < x->s->events.n; i++) {
        const struct event *ev = &x->s->events.a[i];
        const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_work_of(x, ev) : NULL;

        if (w && is_stall(x->s, w))
            thread_spans_add(&list, ev, i);
    }
    thread_spans_sort(&list);
    add_stalls(&rows, x, list.a, list.n);
    n = order(&rows, limit, t);
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows.list.a[i];
        const struct task *k =
            r->task <= x->s->tasks.list.n && r->task ? &x->s->tasks.list.a[r->task - 1] : NULL;
        union table_cell *c = table_add(t);

        c[0].text = k ? origins_task_name(x->s, k, "") : NULL;
        c[1].count = !k ? 0 : k->ns_tid ? k->ns_tid : k->tid;
        c[2].text = text(x->s, r->name);
        c[3].text = text(x->s, r->where);
        c[4].count = r->count;
        c[5].count = r->ns;
        c[6].count = r->max;
        c[7].share = x->end > x->start ? (double)r->ns / (double)(x->end - x->start) : NAN;
    }
    vec_release(&list);
    vec_release(&rows.list);
    map_release(&rows.of);
}
