/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of an accelerator, whose differences are known, one run a side: how often does a comparison of
 * kernels find what is not there, or miss what is? A step runs `kernels` kernels, the first of them most
 * often; their durations vary from call to call, each kernel's from step to step, all of a step together, and
 * some calls stall. Or the steps are drawn from those of a trace that somebody recorded. Shared by the unit
 * test and by the bench.
 */
#ifndef WPROF_TESTS_KERNELS_SIMULATION_H
#define WPROF_TESTS_KERNELS_SIMULATION_H

#include "compare_simulation.h"

#include "model/gpu.h"

struct kernels_simulation {
    unsigned steps, kernels;
    double calls,
        variation; /* from call to call; of a kernel from step to step: half of it; of a step: a third */
    double growth; /* of the first kernel on the new side */
    int unmarked;  /* nothing tells where steps begin */
    double alpha;
};

static inline void kernels_mark(struct session *s, unsigned step, uint64_t from, uint64_t to)
{
    char text[32];

    snprintf(text, sizeof(text), "step %u", step);
    *vec_push(&s->store.events) = (struct event){.ts = from,
                                                 .dur = to - from,
                                                 .value = 1,
                                                 .metric = strtab_add(&s->store.strings, text),
                                                 .kind = EVENT_MARKER};
}

static inline uint64_t kernels_call(struct session *s, const struct kernels_simulation *m,
                                    struct stats_random *r, unsigned kernel, uint64_t ts, double mean)
{
    char name[32];
    struct gpu_work w = {.op = GPU_KERNEL, .device = 1};
    double ns = mean * exp(m->variation * random_normal(r));

    if (random_unit(r) < 0.005)
        ns *= 4;
    snprintf(name, sizeof(name), "kernel%u", kernel);
    w.name = strtab_add(&s->store.strings, name);
    *vec_push(&s->store.events) = (struct event){
        .ts = ts, .dur = (uint64_t)ns, .kind = EVENT_GPU, .attr = gpu_works_add(&s->store.gpus, &w)};
    return ts + (uint64_t)ns + 2000;
}

static inline void kernels_run(struct session *s, const struct kernels_simulation *m, struct stats_random *r,
                               double growth)
{
    uint64_t ts = 1000000;

    *s = (struct session){0};
    s->meta.start_mono = ts;
    for (unsigned step = 0; step < m->steps; step++) {
        uint64_t from = ts;
        double all = exp(m->variation / 3 * random_normal(r));

        for (unsigned k = 0; k < m->kernels; k++) {
            double mean = 50000 * all * exp(m->variation / 2 * random_normal(r)) * (k ? 1 : 1 + growth);
            unsigned calls = (unsigned)(m->calls * 2 / (k + 2)) + 1;

            for (unsigned i = 0; i < calls; i++)
                ts = kernels_call(s, m, r, k, ts, mean);
        }
        if (!m->unmarked)
            kernels_mark(s, step, from, ts);
    }
    s->meta.duration_s = (double)(ts - s->meta.start_mono) / 1e9;
}

/* So many of its steps, each drawn anew: [first[i], first[i + 1]) are its events of step i. */
struct kernels_trace {
    const struct session *s;
    VEC(size_t) first;
    VEC(uint64_t) start;
};

static inline void kernels_draw(struct session *s, const struct kernels_trace *t, unsigned steps,
                                struct stats_random *r)
{
    uint64_t ts = 1000000;

    *s = (struct session){0};
    s->meta.start_mono = ts;
    for (unsigned step = 0; step < steps; step++) {
        size_t from = stats_random_below(r, t->start.n - 1);
        uint64_t length = t->start.a[from + 1] - t->start.a[from];

        for (size_t i = t->first.a[from]; i < t->first.a[from + 1]; i++) {
            struct event ev = t->s->store.events.a[i];
            struct gpu_work w;

            if (ev.kind != EVENT_GPU)
                continue;
            w = *gpu_works_get(&t->s->store.gpus, ev.attr);
            w.name = strtab_add(&s->store.strings, strtab_get(&t->s->store.strings, w.name));
            ev = (struct event){.ts = ts + ev.ts - t->start.a[from],
                                .dur = ev.dur,
                                .kind = EVENT_GPU,
                                .attr = gpu_works_add(&s->store.gpus, &w)};
            *vec_push(&s->store.events) = ev;
        }
        kernels_mark(s, step, ts, ts + length);
        ts += length;
    }
    s->meta.duration_s = (double)(ts - s->meta.start_mono) / 1e9;
}

static inline void kernels_count(struct simulation_rates *rates, const struct comparison *c)
{
    int any = 0;

    rates->trials++;
    rates->gates += c->verdict == COMPARISON_FAILS;
    for (int l = COMPARISON_KERNELS; l < COMPARISON_LEVELS; l++)
        for (size_t i = 0; i < c->level[l].rows.n; i++) {
            const struct comparison_row *row = &c->level[l].rows.a[i];

            any |= row->value.significant;
            rates->found += !strcmp(row->name, "kernel0") && row->value.significant && row->value.change > 0;
        }
    rates->any += (unsigned)any;
}

/* Of made-up traces, or where there is one, of what is drawn from it. */
static inline struct simulation_rates kernels_simulate(const struct kernels_simulation *m,
                                                       const struct kernels_trace *drawn, unsigned trials,
                                                       uint64_t seed)
{
    struct simulation_rates rates = {0};
    struct stats_random r = {seed};

    for (unsigned t = 0; t < trials; t++) {
        struct compare_opts o = {
            .by = COMPARISON_KERNELS, .alpha = m->alpha, .min_share = 0.01, .fail_above = 0.05, .single = 1};
        struct compare *c = compare_new(&o);
        struct comparison result = {0};

        for (int side = 0; side < COMPARISON_SIDES; side++) {
            struct session s;

            if (drawn)
                kernels_draw(&s, drawn, m->steps, &r);
            else
                kernels_run(&s, m, &r, side ? m->growth : 0);
            compare_add(c, side, &s, "simulated", NULL);
            session_release(&s);
        }
        compare_finish(c, &result, NULL);
        kernels_count(&rates, &result);
        comparison_release(&result);
        compare_free(c);
    }
    return rates;
}

#endif
