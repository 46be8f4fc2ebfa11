/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/rules/gpu.h"

#include "analyze/gpu_blame.h"

#include <math.h>
#include <stdlib.h>

void gpu_views(struct rule_run *r, const struct rule_data *d, gpu_view_check check)
{
    for (size_t i = 0; i < d->gpu->devices.n; i++) {
        struct gpu_view v = {.t = d->gpu, .d = &d->gpu->devices.a[i]};

        v.slots = gpu_slots(v.t, v.d->first, v.d->n);
        gpu_figures(&v.f, v.t, v.d->first, v.d->n);
        check(r, d, &v);
        free(v.slots);
    }
}

struct finding *gpu_found(struct rule_run *r, const struct gpu_view *v)
{
    struct finding *x = rule_found(r);
    struct buf b = {0};

    gpu_device_label(v->d, &b);
    x->device = buf_detach(&b);
    return x;
}

uint64_t gpu_gaps(struct finding *x, const struct gpu_view *v, enum gpu_idle why, uint64_t least, size_t *n)
{
    uint64_t busy_to = 0, sum = 0;
    uint32_t at = 0;
    struct gpu_gap gap;

    while (gpu_gap_next(v->t, v->slots, v->d->n, &at, &busy_to, &gap)) {
        if ((why != GPU_IDLE_CAUSES && gap.why != why) || gap.end - gap.start < least)
            continue;
        if (x)
            finding_claim(x, gap.start, gap.end, gap.end - gap.start);
        sum += gap.end - gap.start;
        if (n)
            ++*n;
    }
    return sum;
}

static const union table_cell *cell(const struct table *t, const char *key)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (!strcmp(t->columns[i].key, key))
            return &t->cells.a[i];
    return NULL;
}

static void spell(struct buf *text, const struct table *t)
{
    const char *where = cell(t, "where")->text, *caller = cell(t, "caller")->text, *by = cell(t, "by")->text;
    const char *meanwhile = cell(t, "meanwhile")->text;
    struct words w = {0};

    buf_addf(text,
             " For %s of the devices' idle time (%s) the thread that asked for what ran next, %s, was %s",
             words_share(&w, cell(t, "share")->share), words_ns(&w, cell(t, "ns")->count),
             cell(t, "thread")->text ? cell(t, "thread")->text : "not known", cell(t, "state")->text);
    if (where)
        buf_addf(text, " in %s", where);
    if (caller)
        buf_addf(text, ", called by %s", caller);
    if (by)
        buf_addf(text, ", until %s", by);
    if (meanwhile)
        buf_addf(text, ", which was in %s", meanwhile);
    buf_addch(text, '.');
}

void gpu_blame(struct finding *x, const struct rule_data *d, struct buf *text)
{
    struct table t;

    gpu_blame_table(&t, d->gpu, 1);
    if (table_rows(&t)) {
        spell(text, &t);
        if (cell(&t, "where")->text)
            x->line = mem_strdup(cell(&t, "where")->text);
        if (cell(&t, "stack")->text)
            x->stack = mem_strdup(cell(&t, "stack")->text);
        if (cell(&t, "thread")->text)
            x->process =
                mem_printf("%s[%llu]", cell(&t, "thread")->text, (unsigned long long)cell(&t, "tid")->count);
    }
    table_release(&t);
}

size_t gpu_steps(const struct rule_data *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->units.list.n; i++)
        n += d->units.list.a[i].kind == d->step_kind;
    return n;
}

const struct gpu_work *gpu_work(const struct rule_data *d, const struct event *ev)
{
    return ev->kind == EVENT_GPU ? gpu_works_get(&d->s->store.gpus, ev->attr) : NULL;
}

const char *gpu_name(const struct rule_data *d, const struct gpu_work *w)
{
    return strtab_get(&d->s->store.strings, w->name);
}

void gpu_at(struct finding *x, const struct rule_data *d, const struct place_time *t)
{
    uint64_t self;
    uint32_t node = places_hot(&d->places, t, 0.5, NULL);

    finding_at(x, d, t, node ? node : places_top(&d->places, t, &self));
}
