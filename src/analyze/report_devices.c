/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report_devices.h"

#include "analyze/gpu_blame.h"
#include "analyze/gpu_figures.h"

#include <stdlib.h>
#include <string.h>

static void add_part(struct report_device *d, const char *key, const char *label, uint64_t ns, int idle)
{
    if (ns)
        *vec_push(&d->parts) = (struct report_part){key, label, ns, idle};
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What another profiler had: within the span, before and after it. */
static uint64_t taken(const struct gpu_trace *t, const struct gpu_device *of, const struct gpu_figures *f)
{
    struct gpu_range before = {t->start, f->from}, after = {f->to, t->end};
    uint64_t ns = f->unseen;

    if (before.start < before.end)
        ns += gpu_ranges_within(&of->unseen, before);
    if (after.start < after.end)
        ns += gpu_ranges_within(&of->unseen, after);
    return ns;
}

static void add_device(struct report *r, const struct gpu_trace *t, const struct gpu_device *of)
{
    struct report_device *d = vec_push(&r->devices);
    struct buf name = {0};
    struct gpu_figures f;

    gpu_figures(&f, t, of->first, of->n);
    gpu_device_label(of, &name);
    *d = (struct report_device){.name = buf_detach(&name), .ns = less(t->end, t->start), .busy_ns = f.busy};
    d->ns = d->ns > f.span ? d->ns : f.span; /* a clock may be a little off */
    d->unseen_ns = less(d->ns - f.span + f.unseen, taken(t, of, &f));
    add_part(d, "compute", "computing", f.of[GPU_COMPUTE], 0);
    add_part(d, "communicate", "communicating alone", f.exposed, 0);
    add_part(d, "copy", "copying alone", less(f.busy, f.of[GPU_COMPUTE] + f.exposed), 0);
    add_part(d, "idle_host", "idle: the host had not asked", f.idle_of[GPU_IDLE_HOST], 1);
    add_part(d, "idle_kernel", "idle: from one kernel to the next", f.idle_of[GPU_IDLE_KERNEL], 1);
    add_part(d, "idle_other", "idle: other causes", f.idle_of[GPU_IDLE_OTHER], 1);
    add_part(d, "taken", "not seen, as another profiler had the records", taken(t, of, &f), 1);
}

static const union table_cell *cell(const struct table *t, size_t row, const char *key)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (!strcmp(t->columns[i].key, key))
            return &t->cells.a[row * t->ncolumns + i];
    return NULL;
}

static int longer(const void *pa, const void *pb)
{
    const struct report_blame *a = pa, *b = pb;

    return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : strcmp(a->state, b->state);
}

/* Rows of one state together; the first of them has the most, and says where. */
static void add_blame(struct report *r, const struct table *t, size_t row)
{
    const char *state = cell(t, row, "state")->text, *where = cell(t, row, "where")->text;
    uint64_t ns = cell(t, row, "ns")->count;

    r->idle_ns += ns;
    for (size_t i = 0; i < r->blame.n; i++)
        if (!strcmp(r->blame.a[i].state, state)) {
            r->blame.a[i].ns += ns;
            return;
        }
    *vec_push(&r->blame) = (struct report_blame){mem_strdup(state), where ? mem_strdup(where) : NULL, ns};
}

void report_devices(struct report *r, const struct gpu_trace *t)
{
    struct table blame;

    for (size_t i = 0; i < t->devices.n; i++)
        add_device(r, t, &t->devices.a[i]);
    gpu_blame_table(&blame, t, 0);
    for (size_t i = 0; i < table_rows(&blame); i++)
        add_blame(r, &blame, i);
    table_release(&blame);
    if (r->blame.n)
        qsort(r->blame.a, r->blame.n, sizeof(*r->blame.a), longer);
}
