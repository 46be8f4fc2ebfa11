/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/rules/check.h"

#include "analyze/unit_periods.h"

#include "base/mem.h"
#include "model/quality.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct rule rules[] = {
#define RULE(row_, id_, needs_, thresholds_, title_, why_, check_)                                           \
    {.id = id_,                                                                                              \
     .title = title_,                                                                                        \
     .why = why_,                                                                                            \
     .thresholds = thresholds_,                                                                              \
     .row = row_,                                                                                            \
     .needs = needs_,                                                                                        \
     .check = check_},
#include "analyze/rules.def"
#undef RULE
};

const size_t nrules = ARRAY_SIZE(rules);

static const struct need {
    unsigned bit;
    const char *name, *help;
} needs[] = {
    {NEED_SAMPLES, "samples", "samples of the time on the CPU (the collector cpu)"},
    {NEED_OFFCPU, "waits", "waits off the CPU (the collector offcpu)"},
    {NEED_LEAD, "main thread", "one command, or one process, whose main thread's time is the run's"},
    {NEED_METRICS, "metrics", "figures once a second (the collector metrics)"},
    {NEED_MARKS, "marks", "marks of steps or requests: wprof-mark(1)"},
    {NEED_TOPOLOGY, "topology", "a topology (the collector topology)"},
    {NEED_GPU, "gpu", "what an accelerator did: kernels, copies, calls"},
    {NEED_NVML, "gpu metrics", "an accelerator's clocks, power, memory and link over time"},
    {NEED_RANKS, "ranks", "recordings of several ranks of one run together"},
    {NEED_LLC, "cache references",
     "reads of the last cache and its misses (the collector metrics, on CPUs that count them)"},
    {NEED_CUDA_FRAMES, "CUDA frames", "stacks that have CUDA: frames, as AIProf's folded text has"},
    {NEED_GIL, "GIL waits", "a Python program recorded with its waits"},
};

const struct rule *rule_find(const char *id)
{
    for (size_t i = 0; i < nrules; i++)
        if (!strcmp(rules[i].id, id))
            return &rules[i];
    return NULL;
}

const char *rule_need_name(unsigned bit)
{
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        if (needs[i].bit == bit)
            return needs[i].name;
    return NULL;
}

const char *rule_need_help(unsigned bit)
{
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        if (needs[i].bit == bit)
            return needs[i].help;
    return NULL;
}

/* ---- what checks call ---- */

double rule_threshold(const struct rule_run *r, const char *name)
{
    return rule_setting(r->set, r->rule, name);
}

struct finding *rule_found(struct rule_run *r)
{
    struct finding *x = findings_add(r->out, r->rule->id);

    r->found++;
    x->certainty = FINDING_MEASURED;
    x->weight = RULE_WEIGHT;
    return x;
}

static void set_detail(struct rule_run *r, const char *fmt, va_list ap)
{
    struct buf b = {0};

    buf_vaddf(&b, fmt, ap);
    free(r->detail);
    r->detail = buf_detach(&b);
}

void rule_not_checked(struct rule_run *r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_detail(r, fmt, ap);
    va_end(ap);
    r->not_checked = 1;
}

void rule_note(struct rule_run *r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set_detail(r, fmt, ap);
    va_end(ap);
}

/* ---- what there is ---- */

static unsigned events_give(const struct session *s)
{
    unsigned has = 0, samples = strcmp(quality_sample_unit(&s->store), "samples") ? 0 : NEED_SAMPLES;

    for (size_t i = 0; i < s->store.events.n; i++) {
        switch (s->store.events.a[i].kind) {
        case EVENT_SAMPLE:
            has |= samples;
            break;
        case EVENT_OFFCPU:
            has |= NEED_OFFCPU;
            break;
        case EVENT_METRIC:
            has |= NEED_METRICS;
            break;
        default:
            break;
        }
    }
    return has;
}

/* A collector that was on and saw nothing has looked, too; but where no sample was taken no function was
 * seen. */
static unsigned collectors_give(const struct meta *m)
{
    static const struct {
        const char *name;
        unsigned bits;
    } give[] = {{"offcpu", NEED_OFFCPU}, {"metrics", NEED_METRICS}};
    unsigned has = 0;

    if (m->end_mono <= m->start_mono) /* it ended before it began: --delay */
        return 0;
    for (size_t i = 0; i < m->collectors.n; i++)
        for (size_t k = 0; k < ARRAY_SIZE(give); k++)
            if (m->collectors.a[i].name && m->collectors.a[i].state &&
                !strcmp(m->collectors.a[i].name, give[k].name) && !strcmp(m->collectors.a[i].state, "on"))
                has |= give[k].bits;
    return has;
}

static unsigned metrics_give(const struct metrics_sums *x)
{
    unsigned has = 0;

    for (size_t i = 0; i < x->list.n; i++) {
        has |= metrics_get(x->list.a[i].id)->of & METRIC_GPU ? NEED_NVML : 0;
        has |= x->list.a[i].id == METRIC_ID_TREE_LLC_MISSES ? NEED_LLC : 0;
    }
    return has;
}

static int has_python(const struct meta *m)
{
    for (size_t i = 0; i < m->languages.n; i++)
        if (!strcmp(m->languages.a[i], "python"))
            return 1;
    return 0;
}

static int has_cuda_frames(const struct store *s)
{
    for (size_t i = 0; i < s->frames.list.n; i++)
        if (!strncmp(strtab_get(&s->strings, s->frames.list.a[i].func), "CUDA:", 5))
            return 1;
    return 0;
}

/* Recordings that the session was made of. */
static size_t origins_count(const struct origins *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->list.n; i++)
        n += o->list.a[i].session != 0;
    return n;
}

void rule_data_init(struct rule_data *d, const struct session *s, const struct graph *topology)
{
    *d = (struct rule_data){.s = s, .topology = topology};
    d->start = s->meta.start_mono;
    d->wall_ns = s->meta.end_mono > d->start ? s->meta.end_mono - d->start : 0;
    d->period_ns = s->meta.frequency ? 1000000000 / s->meta.frequency : 0;
    lead_init(&d->lead, s);
    lead_running_init(&d->running, &d->lead, s);
    metrics_sums_init(&d->sums, s);
    units_collect(&d->units, s);
    places_init(&d->places, &s->store);
    d->chain = mem_alloc(sizeof(*d->chain));
    wake_chain_init(d->chain, &s->store);
    d->gpu = mem_alloc(sizeof(*d->gpu));
    gpu_trace_init(d->gpu, s);
    d->host = mem_calloc(1, sizeof(*d->host));
    d->figures = mem_calloc(d->gpu->devices.n + 1, sizeof(*d->figures));
    for (size_t i = 0; i < d->gpu->devices.n; i++)
        gpu_figures(&d->figures[i], d->gpu, d->gpu->devices.a[i].first, d->gpu->devices.a[i].n);
    units_add_periods(&d->units, d->gpu);
    d->step_kind = units_main_kind(&d->units);
    d->has = events_give(s) | collectors_give(&s->meta) | metrics_give(&d->sums) |
             (topology ? NEED_TOPOLOGY : 0) | (d->units.list.n ? NEED_MARKS : 0) |
             (d->lead.task && d->wall_ns ? NEED_LEAD : 0) |
             (d->gpu->ranks || origins_count(&s->store.origins) > 1 ? NEED_RANKS : 0) |
             (has_cuda_frames(&s->store) ? NEED_CUDA_FRAMES : 0) | (d->gpu->ran.n ? NEED_GPU : 0);
    if ((d->has & NEED_OFFCPU) && has_python(&s->meta))
        d->has |= NEED_GIL;
}

void rule_data_release(struct rule_data *d)
{
    lead_running_release(&d->running);
    lead_release(&d->lead);
    metrics_sums_release(&d->sums);
    units_release(&d->units);
    places_release(&d->places);
    wake_chain_release(d->chain);
    free(d->chain);
    if (d->host->s)
        gpu_host_release(d->host);
    free(d->host);
    free(d->figures);
    gpu_trace_release(d->gpu);
    free(d->gpu);
}

/* ---- all of them ---- */

static int is_chosen(const struct rule_settings *set, const char *id)
{
    for (size_t i = 0; i < set->only.n; i++)
        if (!strcmp(set->only.a[i], id))
            return 1;
    return !set->only.n;
}

/* "needs gpu: what an accelerator did ..., and marks: ..." */
static char *lacking(unsigned bits, const struct rule_data *d)
{
    struct buf b = {0};

    if (bits & NEED_SAMPLES && d->has & NEED_OFFCPU && d->s->meta.frequency)
        return mem_strdup("no sample was taken: it was hardly on a CPU");
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
        if (bits & needs[i].bit)
            buf_addf(&b, "%s%s: %s", b.len ? "; " : "needs ", needs[i].name, needs[i].help);
    return buf_detach(&b);
}

static void note_check(struct findings *f, const struct rule *rule, unsigned state, char *detail)
{
    *vec_push(&f->checks) = (struct check){rule->id, rule->title, detail, (uint8_t)state, rule->row};
}

static void run_one(struct findings *f, const struct rule *rule, const struct rule_data *d,
                    const struct rule_settings *set)
{
    struct rule_run r = {.rule = rule, .set = set, .out = f};
    unsigned lacks = rule->needs & ~d->has;

    if (!is_chosen(set, rule->id)) {
        note_check(f, rule, CHECK_LEFT_OUT, NULL);
        return;
    }
    if (lacks) {
        note_check(f, rule, CHECK_NOT_DONE, lacking(lacks, d));
        return;
    }
    rule->check(&r, d);
    note_check(f, rule, r.found ? CHECK_FOUND : r.not_checked ? CHECK_NOT_DONE : CHECK_CLEAN, r.detail);
}

void rules_run(struct findings *f, const struct session *s, const struct graph *topology,
               const struct rule_settings *set)
{
    struct rule_data d;

    rule_data_init(&d, s, topology);
    f->start = d.start;
    f->wall_ns = d.wall_ns;
    for (size_t i = 0; i < nrules; i++)
        run_one(f, &rules[i], &d, set);
    for (size_t i = 0; i < set->own.n; i++)
        if (is_chosen(set, set->own.a[i].name))
            rule_own_check(f, &set->own.a[i], &d);
    units_clip(f, &d);
    lead_tell(f, &d);
    findings_settle(f);
    rule_data_release(&d);
}
