/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a whole run: how long it took, what it used, what its steps took. */
#include "analyze/compare_job.h"

#include "analyze/gpu_figures.h"
#include "analyze/metrics_sums.h"
#include "analyze/stats.h"
#include "analyze/stats_tests.h"
#include "analyze/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_PARTS = 8, BLOCK_PARTS = 4 };

/* ---- of one run ---- */

static void add_measure(struct compare *c, struct compare_run *run, const char *name,
                        enum comparison_unit unit, int total, double value)
{
    *vec_push(&run->measures) = (struct compare_measure){
        .name = strtab_add(&c->strings, name), .unit = unit, .total = total, .value = value};
}

static void take_times(struct compare *c, struct compare_run *run, const struct session *s)
{
    static const struct {
        enum event_kind kind;
        const char *name;
    } spans[] = {{EVENT_OFFCPU, "off-CPU"}, {EVENT_RUNQ, "run queue"}, {EVENT_GIL, "waiting for the GIL"}};
    uint64_t cpu = 0, sum;

    if (s->meta.duration_s > 0)
        add_measure(c, run, "wall", COMPARISON_NS, 1, s->meta.duration_s * 1e9);
    for (size_t i = 0; i < s->store.tasks.list.n; i++)
        cpu += s->store.tasks.list.a[i].cpu_ns;
    if (cpu)
        add_measure(c, run, "CPU", COMPARISON_NS, 1, (double)cpu);
    for (size_t k = 0; k < ARRAY_SIZE(spans); k++) {
        sum = 0;
        for (size_t i = 0; i < s->store.events.n; i++)
            sum += s->store.events.a[i].kind == spans[k].kind ? s->store.events.a[i].dur : 0;
        if (sum)
            add_measure(c, run, spans[k].name, COMPARISON_NS, 0, (double)sum);
    }
}

/* Of all devices; what runs on one at a time counts once. */
static void take_devices(struct compare *c, struct compare_run *run, const struct session *s)
{
    struct gpu_figures all = {0};
    struct gpu_trace t;

    gpu_trace_init(&t, s);
    for (size_t i = 0; i < t.devices.n; i++) {
        struct gpu_figures f;

        gpu_figures(&f, &t, t.devices.a[i].first, t.devices.a[i].n);
        all.busy += f.busy;
        all.idle += f.idle;
        all.exposed += f.exposed;
        for (int k = 0; k < GPU_CLASSES; k++)
            all.of[k] += f.of[k];
    }
    if (t.devices.n) {
        add_measure(c, run, "GPU busy", COMPARISON_NS, 0, (double)all.busy);
        add_measure(c, run, "GPU idle", COMPARISON_NS, 0, (double)all.idle);
        add_measure(c, run, "GPU computing", COMPARISON_NS, 0, (double)all.of[GPU_COMPUTE]);
        add_measure(c, run, "GPU communicating", COMPARISON_NS, 0, (double)all.of[GPU_COMMUNICATE]);
        add_measure(c, run, "GPU communicating alone", COMPARISON_NS, 0, (double)all.exposed);
        add_measure(c, run, "GPU copying", COMPARISON_NS, 0, (double)all.of[GPU_MOVE]);
    }
    gpu_trace_release(&t);
}

static int by_size(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return a < b ? -1 : a > b;
}

/* Mean, median and 95th percentile of the units of a kind; the mean with its parts. */
static void take_kind(struct compare *c, struct compare_run *run, const struct units *u, uint32_t kind)
{
    const char *name = strtab_get(&u->strings, kind);
    size_t first = run->parts.n, n;
    double *sorted;
    char *text;

    for (size_t i = 0; i < u->list.n; i++)
        if (u->list.a[i].kind == kind && !u->list.a[i].open)
            *vec_push(&run->parts) = (double)(u->list.a[i].end - u->list.a[i].start);
    n = run->parts.n - first;
    if (!n)
        return;
    sorted = mem_dup(run->parts.a + first, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_size);
    text = mem_printf("%s, mean", name);
    add_measure(c, run, text, COMPARISON_NS, kind == units_main_kind(u), stats_mean(sorted, n));
    run->measures.a[run->measures.n - 1].first = first;
    run->measures.a[run->measures.n - 1].n = n;
    free(text);
    text = mem_printf("%s, median", name);
    add_measure(c, run, text, COMPARISON_NS, 0,
                n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2);
    free(text);
    text = mem_printf("%s, p95", name);
    add_measure(c, run, text, COMPARISON_NS, 0, sorted[(size_t)ceil(0.95 * (double)n) - 1]);
    free(text);
    free(sorted);
}

static void take_units(struct compare *c, struct compare_run *run, const struct session *s)
{
    struct units u = {0};

    units_collect(&u, s);
    for (size_t i = 0; i < u.list.n; i++) {
        size_t k = 0;

        while (u.list.a[k].kind != u.list.a[i].kind)
            k++;
        if (k == i) /* the first of its kind */
            take_kind(c, run, &u, u.list.a[i].kind);
    }
    units_release(&u);
}

/* Of the recorded processes together: counters added up, of gauges the most that one had. What the machine
 * did besides is not the program's. */
static void take_metrics(struct compare *c, struct compare_run *run, const struct session *s)
{
    static const enum comparison_unit units[] = {
        [METRIC_NS] = COMPARISON_NS, [METRIC_BYTES] = COMPARISON_BYTES};
    struct metrics_sums x;

    metrics_sums_init(&x, s);
    for (unsigned id = METRIC_NONE + 1; id < METRIC_IDS; id++) {
        const struct metric *m = metrics_get((enum metric_id)id);
        double value = NAN;

        if (!(m->of & METRIC_PROCESS) || m->unit == METRIC_RATIO || m->unit == METRIC_HZ)
            continue;
        for (size_t i = 0; i < x.list.n; i++) {
            const struct metrics_sum *sum = &x.list.a[i];

            if (sum->id != id || !sum->task)
                continue;
            if (m->kind == METRIC_COUNTER)
                value = (isnan(value) ? 0 : value) + sum->total;
            else
                value = value > sum->most ? value : sum->most;
        }
        if (!isnan(value))
            add_measure(c, run, m->title, m->unit < ARRAY_SIZE(units) ? units[m->unit] : COMPARISON_COUNT, 0,
                        value);
    }
    metrics_sums_release(&x);
}

void compare_take_figures(struct compare *c, struct compare_run *run, const struct session *s)
{
    take_times(c, run, s);
    take_devices(c, run, s);
    take_units(c, run, s);
    take_metrics(c, run, s);
}

/* ---- of both sides ---- */

static const struct compare_measure *find(const struct compare_run *run, uint32_t name)
{
    for (size_t i = 0; i < run->measures.n; i++)
        if (run->measures.a[i].name == name)
            return &run->measures.a[i];
    return NULL;
}

/* Every run's value, base side first; 0 where a run has none. */
static int collect(const struct compare *c, uint32_t name, double *value)
{
    int any = 0;

    for (size_t r = 0; r < c->runs.n; r++) {
        const struct compare_measure *m = find(&c->runs.a[r], name);

        if (!m)
            return 0;
        value[r] = m->value;
        any |= m->value > 0;
    }
    return any; /* what nobody used is no figure */
}

static void test_runs(const struct compare *c, const double *value, size_t tests, struct comparison_figure *f)
{
    size_t na = c->n[COMPARISON_BASE], nb = c->n[COMPARISON_NEW];
    struct stats_difference d = stats_two_sided(value, na, value + na, nb, c->o.alpha);

    f->value.low = d.low;
    f->value.high = d.high;
    f->value.p = d.p;
    f->method = "t test";
    if (stats_can_permute(na, nb, tests, c->o.alpha)) {
        f->value.p = stats_permutation(value, na, value + na, nb);
        f->method = "permutation";
    }
}

/* The error of a mean over the parts of one run, neighbours together: sums of blocks of them. */
static double parts_error(const struct compare_run *run, const struct compare_measure *m)
{
    size_t n = m->n / BLOCK_PARTS;
    double *sum = mem_calloc(n + 1, sizeof(*sum)), error = 0;

    for (size_t i = 0; i < n * BLOCK_PARTS; i++)
        sum[i / BLOCK_PARTS] += run->parts.a[m->first + i] / BLOCK_PARTS;
    stats_block_errors(sum, NULL, 1, n, &error);
    free(sum);
    return error;
}

static void test_parts(const struct compare *c, uint32_t name, struct comparison_figure *f)
{
    const struct compare_measure *a = find(&c->runs.a[0], name), *b = find(&c->runs.a[1], name);
    struct stats_difference d;

    if (a->n < LEAST_PARTS * BLOCK_PARTS || b->n < LEAST_PARTS * BLOCK_PARTS)
        return;
    d = stats_difference(f->value.change, hypot(parts_error(&c->runs.a[0], a), parts_error(&c->runs.a[1], b)),
                         (double)(a->n + b->n) / BLOCK_PARTS - 2, c->o.alpha);
    f->value.low = d.low;
    f->value.high = d.high;
    f->value.p = d.p;
    f->method = "blocks of one run";
}

static void add_figure(struct compare *c, const struct compare_measure *m, const double *value, size_t tests)
{
    struct comparison_figure f = {.name = mem_strdup(strtab_get(&c->strings, m->name)),
                                  .unit = m->unit,
                                  .total = m->total,
                                  .method = "not tested: one run a side",
                                  .runs = mem_dup(value, c->runs.n * sizeof(*value))};
    size_t na = c->n[COMPARISON_BASE];

    f.value.base = stats_mean(value, na);
    f.value.new = stats_mean(value + na, c->n[COMPARISON_NEW]);
    f.value.change = f.value.new - f.value.base;
    f.value.low = f.value.high = f.value.p = f.value.q = NAN;
    if (c->freedom > 0)
        test_runs(c, value, tests, &f);
    else
        test_parts(c, m->name, &f);
    *vec_push(&c->out->figures) = f;
}

static void find_discoveries(struct comparison *out)
{
    double *p = mem_calloc(out->figures.n + 1, sizeof(*p));
    size_t n = 0;

    for (size_t i = 0; i < out->figures.n; i++)
        if (!isnan(out->figures.a[i].value.p))
            p[n++] = out->figures.a[i].value.p;
    stats_discoveries(p, NULL, p, n);
    n = 0;
    for (size_t i = 0; i < out->figures.n; i++) {
        struct comparison_value *v = &out->figures.a[i].value;

        if (isnan(v->p))
            continue;
        v->q = p[n++];
        v->significant = v->q <= out->alpha;
    }
    free(p);
}

void compare_make_figures(struct compare *c)
{
    const struct compare_run *first = &c->runs.a[0];
    double *value = mem_calloc(c->runs.n, sizeof(*value));
    size_t tests = 0;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < first->measures.n; i++) {
            const struct compare_measure *m = &first->measures.a[i];

            if (!compare_wanted(c, strtab_get(&c->strings, m->name)) || !collect(c, m->name, value))
                continue;
            if (pass)
                add_figure(c, m, value, tests);
            else
                tests++;
        }
    find_discoveries(c->out);
    free(value);
}
