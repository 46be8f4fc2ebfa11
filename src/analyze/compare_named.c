/* SPDX-License-Identifier: Apache-2.0 */
/* What ran on accelerators and what a framework's profiler tells of its operators, by name. */
#include "analyze/compare_job.h"

#include "base/map.h"
#include "model/gpu.h"

#include <stdlib.h>
#include <string.h>

static enum comparison_level level_of(const struct gpu_work *w, int *none)
{
    *none = !gpu_on_device(w) && w->op != GPU_OPERATOR;
    return gpu_on_device(w) ? COMPARISON_KERNELS : COMPARISON_OPERATORS;
}

uint32_t compare_operator_name(struct compare *c, const char *name)
{
    size_t n = strlen(name), digits = n;

    while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits < n && digits > 1 && name[digits - 1] == '#')
        n = digits - 1;
    return strtab_addn(&c->strings, name, n);
}

static uint32_t name_of(struct compare *c, const struct store *store, const struct gpu_work *w)
{
    const char *name = strtab_get(&store->strings, w->name);

    if (!*name)
        return strtab_add(&c->strings, gpu_op_name(w->op));
    return w->op == GPU_OPERATOR ? compare_operator_name(c, name) : strtab_add(&c->strings, name);
}

/* Of a session, while its work is taken. */
struct taker {
    struct compare *c;
    struct compare_run *run;
    const struct store *store;
    uint32_t *at; /* work id -> place in its level's list + 1 */
    struct map names[COMPARE_NAMED_LEVELS];
    struct {
        size_t events;
        uint64_t from, to;
    } seen[COMPARE_NAMED_LEVELS];
};

/* The level of an event's work; -1: it is of none. */
static int level_of_event(const struct taker *t, const struct event *ev)
{
    const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&t->store->gpus, ev->attr) : NULL;
    int none = 1, level = w ? (int)level_of(w, &none) - COMPARISON_KERNELS : -1;

    return none ? -1 : level;
}

static void take_event(struct taker *t, const struct event *ev, int level)
{
    struct compare_named *k;
    uint64_t end = ev->ts + ev->dur;

    if (!t->at[ev->attr]) {
        uint32_t id = name_of(t->c, t->store, gpu_works_get(&t->store->gpus, ev->attr));
        uint64_t *known = map_put(&t->names[level], id);

        if (!*known) {
            *vec_push(&t->run->named[level].list) = (struct compare_named){.name = id};
            *known = t->run->named[level].list.n;
        }
        t->at[ev->attr] = (uint32_t)*known;
    }
    k = &t->run->named[level].list.a[t->at[ev->attr] - 1];
    k->ns += ev->dur;
    k->times++;
    if (!t->seen[level].events++)
        t->seen[level].from = ev->ts;
    t->seen[level].from = ev->ts < t->seen[level].from ? ev->ts : t->seen[level].from;
    t->seen[level].to = end > t->seen[level].to ? end : t->seen[level].to;
}

/* Once more, now that names and times are known. */
static void take_slices(struct taker *t, const struct session *s)
{
    struct compare_steps steps;

    compare_find_steps(&steps, s);
    for (int l = 0; l < COMPARE_NAMED_LEVELS; l++)
        t->run->named[l].slices = compare_slices_new(&steps, t->run->named[l].list.n, t->seen[l].events,
                                                     t->seen[l].from, t->seen[l].to);
    for (size_t i = 0; i < t->store->events.n; i++) {
        const struct event *ev = &t->store->events.a[i];
        int level = level_of_event(t, ev);

        if (level >= 0)
            compare_slices_add(t->run->named[level].slices, &steps, t->at[ev->attr] - 1, ev->ts, ev->dur);
    }
    compare_steps_release(&steps);
}

static void take_askers(struct taker *t, const struct session *s)
{
    uint32_t *kernel_of = mem_calloc(s->store.gpus.list.n + 1, sizeof(*kernel_of));

    for (uint32_t id = 1; id <= s->store.gpus.list.n; id++)
        if (t->at[id] && gpu_on_device(gpu_works_get(&s->store.gpus, id)))
            kernel_of[id] = t->run->named[0].list.a[t->at[id] - 1].name;
    compare_take_asked(t->c, t->run, s, kernel_of);
    free(kernel_of);
}

void compare_take_named(struct compare *c, struct compare_run *run, const struct session *s)
{
    struct taker t = {.c = c, .run = run, .store = &s->store};

    t.at = mem_calloc(s->store.gpus.list.n + 1, sizeof(*t.at));
    for (size_t i = 0; i < s->store.events.n; i++) {
        int level = level_of_event(&t, &s->store.events.a[i]);

        if (level >= 0)
            take_event(&t, &s->store.events.a[i], level);
    }
    if (c->o.single && (t.seen[0].events || t.seen[1].events))
        take_slices(&t, s);
    if (t.seen[0].events)
        take_askers(&t, s);
    for (int l = 0; l < COMPARE_NAMED_LEVELS; l++)
        map_release(&t.names[l]);
    free(t.at);
}

struct named_rows {
    struct compare_rows rows;
    VEC(uint32_t) names; /* of each row */
    VEC(uint64_t) times; /* row * sides + side */
    struct map by_name;
    uint32_t *in[COMPARISON_SIDES]; /* of one run a side: row -> place in its list + 1 */
};

static void find_names(struct compare *c, struct named_rows *x, int level)
{
    for (size_t r = 0; r < c->runs.n; r++)
        for (size_t i = 0; i < c->runs.a[r].named[level].list.n; i++) {
            const struct compare_named *k = &c->runs.a[r].named[level].list.a[i];
            uint64_t *row = map_put(&x->by_name, k->name);

            if (!*row) {
                *vec_push(&x->names) = k->name;
                *vec_push(&x->times) = 0;
                *vec_push(&x->times) = 0;
                *row = x->names.n;
            }
            x->times.a[2 * (*row - 1) + (size_t)c->runs.a[r].side] += k->times;
        }
}

static void fill_counts(struct compare *c, struct named_rows *x, int level)
{
    struct compare_rows *rows = &x->rows;

    rows->n = x->names.n;
    rows->counts = mem_calloc(rows->n * rows->runs + 1, sizeof(*rows->counts));
    for (size_t r = 0; r < rows->runs; r++) {
        const struct compare_run *run = &c->runs.a[r];
        struct compare_divisor *w = &rows->whole[r];

        *w = (struct compare_divisor){.scale = 1};
        for (size_t i = 0; i < run->named[level].list.n; i++) {
            const struct compare_named *k = &run->named[level].list.a[i];

            rows->counts[(*map_get(&x->by_name, k->name) - 1) * rows->runs + r] = k->ns;
            w->sum += k->ns;
        }
        w->per = rows->unit == COMPARISON_SHARE ? (double)w->sum : run->per;
        c->out->level[rows->level].weight[run->side] += w->sum;
    }
}

/* For one run a side. */
static void add_slices(struct compare *c, struct named_rows *x, int level)
{
    for (size_t r = 0; r < COMPARISON_SIDES; r++) {
        const struct compare_run *run = &c->runs.a[r];

        x->in[r] = mem_calloc(x->rows.n + 1, sizeof(*x->in[r]));
        for (size_t i = 0; i < run->named[level].list.n; i++)
            x->in[r][*map_get(&x->by_name, run->named[level].list.a[i].name) - 1] = (uint32_t)i + 1;
        x->rows.name[r] = x->in[r];
        x->rows.slices[r] = run->named[level].slices;
    }
}

static void add_rows(struct compare *c, struct named_rows *x)
{
    size_t n = x->rows.n;
    struct compare_tested t = {.values = mem_calloc(n + 1, sizeof(*t.values)),
                               .share = mem_calloc(2 * n + 2, sizeof(*t.share)),
                               .tested = mem_calloc(n + 1, 1)};
    uint32_t *instead = x->rows.level == COMPARISON_KERNELS
                            ? compare_find_instead(c, &x->rows, x->names.a, x->times.a)
                            : NULL;

    for (size_t i = 0; i < n; i++)
        t.tested[i] = (uint8_t)compare_wanted(c, strtab_get(&c->strings, x->names.a[i]));
    compare_test(c, &x->rows, &t);
    for (size_t i = 0; i < n; i++) {
        struct comparison_row row = {.kind = "", .times = {x->times.a[2 * i], x->times.a[2 * i + 1]}};

        if (!t.tested[i])
            continue;
        row.name = mem_strdup(strtab_get(&c->strings, x->names.a[i]));
        row.module = mem_strdup("");
        if (instead && instead[i])
            row.within = mem_strdup(strtab_get(&c->strings, instead[i]));
        compare_add_row(c, &x->rows, &t, i, &row);
    }
    free(instead);
    free(t.values);
    free(t.share);
    free(t.tested);
    compare_sort_rows(c->out, x->rows.level);
}

void compare_make_named(struct compare *c)
{
    for (int l = 0; l < COMPARE_NAMED_LEVELS; l++) {
        struct named_rows x = {0};
        enum comparison_level level = (enum comparison_level)(COMPARISON_KERNELS + l);

        compare_rows_init(c, &x.rows, level);
        x.rows.samples = 0;
        memset(c->out->level[level].weight, 0, sizeof(c->out->level[level].weight));
        find_names(c, &x, l);
        fill_counts(c, &x, l);
        if (c->freedom <= 0)
            add_slices(c, &x, l);
        add_rows(c, &x);
        compare_rows_release(&x.rows);
        vec_release(&x.names);
        vec_release(&x.times);
        map_release(&x.by_name);
        free(x.in[0]);
        free(x.in[1]);
    }
}
