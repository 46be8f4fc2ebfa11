/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of a made-up program, whose differences are known: how often does a comparison find what is not
 * there, or miss what is? A run takes samples of `functions` functions, the shares of which fall as 1 / (rank
 * + 2); each function's time varies from run to run by `variation`, all of them together by `speed`, and
 * samples are independent. Shared by the unit test and by the bench.
 */
#ifndef WPROF_TESTS_COMPARE_SIMULATION_H
#define WPROF_TESTS_COMPARE_SIMULATION_H

#include "random.h"

#include "analyze/compare.h"
#include "model/frames.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct simulation {
    const char *per;          /* as compare_opts */
    unsigned functions, runs; /* runs a side */
    double first;             /* samples of the first function, on average */
    double variation, speed;  /* coefficients of variation between runs */
    double growth;            /* of the first function on the new side: 0.1 is 10 % */
    unsigned slices;          /* samples stand at so many times, in bursts as long as one; 0: at none */
    double uneven;            /* functions' own variation: by exp() of so many standard deviations */
    double even;              /* samples vary by so much of what independent ones would; 0: as these do */
    const char *only;         /* as compare_opts */
    double alpha;
};

/* What came of many comparisons. */
struct simulation_rates {
    unsigned trials, any, gates,
        found;        /* something was significant; the gate of 5 % failed; the first function was */
    unsigned covered; /* the interval of the first one held what was planted */
};

static inline double simulation_share(const struct simulation *m, unsigned i)
{
    return m->first * 2 / (i + 2);
}

static inline void simulation_sample(struct session *s, uint32_t stack, uint64_t ts, uint64_t value)
{
    *vec_push(&s->store.events) =
        (struct event){.ts = ts, .value = value, .stack = stack, .kind = EVENT_SAMPLE};
}

/* With times: a function's samples come in bursts, its time being spread over the slices unevenly. */
static inline void simulation_function(struct session *s, const struct simulation *m, struct stats_random *r,
                                       uint32_t stack, double mean)
{
    if (m->even > 0) {
        double n = mean + sqrt(m->even * mean) * random_normal(r);

        simulation_sample(s, stack, 0, (uint64_t)(n > 0 ? n + 0.5 : 0));
        return;
    }
    if (!m->slices) {
        simulation_sample(s, stack, 0, random_poisson(r, mean));
        return;
    }
    for (unsigned k = 0; k < m->slices; k++) {
        double part = mean / m->slices * (0.5 + random_unit(r));
        uint64_t n = random_poisson(r, part);

        for (uint64_t i = 0; i < n; i++)
            simulation_sample(s, stack, (uint64_t)((k + random_unit(r)) * 1e9), 1);
    }
}

static inline int simulation_by_time(const void *pa, const void *pb)
{
    const struct event *a = pa, *b = pb;

    return a->ts < b->ts ? -1 : a->ts > b->ts;
}

static inline void simulation_run(struct session *s, const struct simulation *m, struct stats_random *r,
                                  double growth)
{
    double speed = exp(m->speed * random_normal(r)), ns = 0;
    uint32_t root = 0;

    *s = (struct session){0};
    for (unsigned i = 0; i < m->functions; i++) {
        char name[32];
        struct frame f = {.kind = FRAME_NATIVE};
        double own = m->variation * exp(m->uneven * sin(i * 2.4)); /* the same in all runs */
        double mean = simulation_share(m, i) * speed * exp(own * random_normal(r));

        snprintf(name, sizeof(name), "f%u", i);
        f.func = strtab_add(&s->store.strings, name);
        mean *= i ? 1 : 1 + growth;
        ns += mean;
        simulation_function(s, m, r, stacks_push(&s->store.stacks, root, frames_add(&s->store.frames, &f)),
                            mean);
    }
    if (s->store.events.n)
        qsort(s->store.events.a, s->store.events.n, sizeof(*s->store.events.a), simulation_by_time);
    s->meta.duration_s = m->slices ? m->slices : ns / 99;
    s->meta.frequency = 99;
    s->meta.event = mem_strdup("cpu-clock");
}

/* What was planted, as the change of the first function's value: a share, or ns per what --per says. */
static inline double simulation_truth(const struct simulation *m)
{
    double all = 0, before, after;

    if (m->per)
        return m->first * m->growth * 1e9 / 99;
    for (unsigned i = 0; i < m->functions; i++)
        all += simulation_share(m, i);
    before = m->first / all;
    after = m->first * (1 + m->growth) / (all + m->first * m->growth);
    return after - before;
}

static inline void simulation_count(struct simulation_rates *rates, const struct simulation *m,
                                    const struct comparison *c)
{
    int any = 0;

    rates->trials++;
    rates->gates += c->verdict == COMPARISON_FAILS;
    for (size_t i = 0; i < c->level[0].rows.n; i++) {
        const struct comparison_row *row = &c->level[0].rows.a[i];

        any |= row->value.significant;
        if (strcmp(row->name, "f0"))
            continue;
        rates->found += row->value.significant && row->value.change > 0;
        rates->covered += row->value.low <= simulation_truth(m) && row->value.high >= simulation_truth(m);
    }
    rates->any += (unsigned)any;
}

static inline struct simulation_rates simulate(const struct simulation *m, unsigned trials, uint64_t seed)
{
    struct simulation_rates rates = {0};
    struct stats_random r = {seed};

    for (unsigned t = 0; t < trials; t++) {
        struct compare_opts o = {.per = m->per,
                                 .only = m->only,
                                 .alpha = m->alpha,
                                 .min_share = 0.01,
                                 .fail_above = 0.05,
                                 .self = 1,
                                 .single = m->runs == 1};
        struct compare *c = compare_new(&o);
        struct comparison result = {0};

        for (int side = 0; side < COMPARISON_SIDES; side++)
            for (unsigned i = 0; i < m->runs; i++) {
                struct session s;

                simulation_run(&s, m, &r, side ? m->growth : 0);
                compare_add(c, side, &s, "simulated", NULL);
                session_release(&s);
            }
        compare_finish(c, &result, NULL);
        simulation_count(&rates, m, &result);
        comparison_release(&result);
        compare_free(c);
    }
    return rates;
}

#endif
