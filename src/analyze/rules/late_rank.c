/* SPDX-License-Identifier: Apache-2.0 */
/* Row 19: a rank that the others wait for, told by collectives of GPUs or by how its steps go. */
#include "analyze/gpu_ranks.h"
#include "analyze/ranks.h"
#include "analyze/rules/check.h"

#include <math.h>
#include <stdlib.h>

/* Of fewer nobody can tell who is late. */
enum { LEAST_COLLECTIVES = 3, LEAST_STEPS = 3 };

/* Of the run, for each of the others: less is not worth a word. */
#define LEAST_SHARE 0.01

/* Whether whoever came last in such a share of them is the one to blame. */
static int is_late(struct rule_run *r, double last)
{
    return last > 1 - rule_threshold(r, "score") / 2;
}

static const char advice[] =
    "Look at that rank's own findings: its loader, its CPU, its clocks, more work than the others.";

/* ---- collectives of GPUs ---- */

static const union table_cell *cell(const struct table *t, size_t row, const char *key)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (!strcmp(t->columns[i].key, key))
            return &t->cells.a[row * t->ncolumns + i];
    return NULL;
}

static uint64_t waited_of(const struct table *t, size_t row)
{
    uint64_t ns = cell(t, row, "waited_ns")->count;

    return ns != TABLE_NONE ? ns : 0;
}

/* What the rank's kernels of collectives took longer than the shortest, of each as much of its time. */
static void claim_kernels(struct finding *x, const struct rule_data *d, const struct gpu_device *dev,
                          uint32_t lane, double part)
{
    for (uint32_t i = dev->first; i < dev->first + dev->n; i++) {
        const struct event *ev = gpu_event(d->gpu, &d->gpu->ran.a[i]);

        if (gpu_class_of(d->gpu, ev) != GPU_COMMUNICATE)
            continue;
        finding_claim(x, ev->ts, ev->ts + ev->dur, (uint64_t)((double)ev->dur * part));
        x->claims.a[x->claims.n - 1].lane = lane;
    }
}

static void claim_collectives(struct finding *x, const struct rule_data *d, const struct table *t,
                              size_t late)
{
    for (size_t i = 0; i < d->gpu->devices.n; i++) {
        const struct gpu_device *dev = &d->gpu->devices.a[i];

        for (size_t k = 0; k < table_rows(t); k++) {
            uint64_t comm = cell(t, k, "comm_ns")->count;

            if (k == late || cell(t, k, "rank")->count + 1 != dev->rank || !comm || comm == TABLE_NONE)
                continue;
            claim_kernels(x, d, dev, (uint32_t)i + 1, fmin((double)waited_of(t, k) / (double)comm, 1));
            x->lanes++;
        }
    }
}

static void collective_found(struct rule_run *r, const struct rule_data *d, const struct table *t, size_t i,
                             uint64_t waited)
{
    struct words w = {0};
    struct finding *x = rule_found(r);

    x->weight = RULE_WEIGHT_CAUSE;
    x->device = mem_printf("rank %llu", (unsigned long long)cell(t, i, "rank")->count);
    x->title = mem_printf("The others wait for %s", x->device);
    x->evidence = mem_printf("It came last in %s of the collectives that all ranks are seen in; the others' "
                             "kernels took %s longer than its own, those of each %s.",
                             words_share(&w, cell(t, i, "last_share")->share), words_ns(&w, waited),
                             words_ns(&w, waited / (table_rows(t) - 1)));
    x->advice = mem_strdup(advice);
    x->why = mem_strdup("told by whose kernel of each collective is the shortest: clocks need not agree");
    claim_collectives(x, d, t, i);
}

/* 0: too few collectives tell. */
static int check_collectives(struct rule_run *r, const struct rule_data *d)
{
    struct table t;
    int told = 0;

    gpu_ranks_table(&t, d->gpu, 0);
    for (size_t i = 0; i < table_rows(&t) && table_rows(&t) > 1; i++) {
        uint64_t waited = 0;

        if (cell(&t, i, "collectives")->count < LEAST_COLLECTIVES)
            continue;
        told = 1;
        for (size_t k = 0; k < table_rows(&t); k++)
            waited += k != i ? waited_of(&t, k) : 0;
        if (is_late(r, cell(&t, i, "last_share")->share) &&
            (double)waited / (double)(table_rows(&t) - 1) >= LEAST_SHARE * (double)d->wall_ns)
            collective_found(r, d, &t, i, waited);
    }
    table_release(&t);
    return told;
}

/* ---- steps of ranks ---- */

/* What a rank waited for others in a step beyond what the last one did. */
static void claim_waits(struct finding *x, const struct rank *k, const struct ranks_visit *v, uint32_t lane,
                        double part)
{
    for (size_t i = 0; i < k->waits.n; i++) {
        uint64_t from = k->waits.a[i].start > v->start ? k->waits.a[i].start : v->start;
        uint64_t to = k->waits.a[i].end < v->end ? k->waits.a[i].end : v->end;

        if (from >= to)
            continue;
        finding_claim(x, from, to, (uint64_t)((double)(to - from) * part));
        x->claims.a[x->claims.n - 1].lane = lane;
    }
}

static uint64_t waited_in(const struct ranks_visit *v)
{
    return v->end - v->start - v->own;
}

static void claim_step(struct finding *x, const struct ranks *k, const struct ranks_step *step)
{
    const struct ranks_visit *v = k->visits.a + step->first;
    uint64_t least = 0;

    for (size_t i = 0; i < step->n; i++)
        least = v[i].rank == step->last ? waited_in(&v[i]) : least;
    for (size_t i = 0; i < step->n; i++) {
        uint64_t waited = waited_in(&v[i]);

        if (v[i].rank != step->last && waited > least)
            claim_waits(x, &k->waits.list.a[v[i].rank], &v[i], v[i].rank + 1,
                        (double)(waited - least) / (double)waited);
    }
}

/* " Meanwhile it was on CPU in slow_transform for 61 %, ..." */
static void tell_did(struct buf *text, const struct ranks *k, uint32_t rank)
{
    struct words w = {0};
    uint64_t sum = 0;
    size_t told = 0;

    for (size_t i = 0; i < k->did.n; i++)
        sum += k->did.a[i].rank == rank && k->did.a[i].state != RANKS_GPU ? k->did.a[i].ns : 0;
    for (size_t i = 0; i < k->did.n && told < 2 && sum; i++) {
        if (k->did.a[i].rank != rank || k->did.a[i].ns < sum / 10)
            continue;
        buf_addstr(text, told++ ? ", " : " Meanwhile it was ");
        ranks_did_text(k, &k->did.a[i], text);
        buf_addf(text, " for %s", words_share(&w, (double)k->did.a[i].ns / (double)sum));
    }
    if (told)
        buf_addch(text, '.');
}

static void step_found(struct rule_run *r, const struct rule_data *d, const struct ranks *k, uint32_t rank)
{
    size_t others = k->waits.list.n - 1;
    struct finding *x = rule_found(r);
    struct buf name = {0}, text = {0};
    struct words w = {0};

    ranks_name(k, rank, &name);
    x->weight = RULE_WEIGHT_CAUSE;
    x->lanes = (uint32_t)others;
    x->title = mem_printf("The others wait for %s", buf_str(&name));
    x->device = buf_detach(&name);
    if (k->waits.list.a[rank].task) {
        lead_name(&d->s->store, k->waits.list.a[rank].task, &name);
        x->process = buf_detach(&name);
    }
    if (k->kind)
        buf_addf(&text, "It came last in %s of %s", words_count(&w, k->last[rank]),
                 words_plural(&w, k->steps.n, k->kind));
    else
        buf_addstr(&text, "It came last");
    buf_addf(&text, ": the others waited %s longer for others than it did, each %s.",
             words_ns(&w, k->others[rank]), words_ns(&w, k->others[rank] / others));
    tell_did(&text, k, rank);
    x->evidence = buf_detach(&text);
    x->advice =
        mem_strdup("Look at what that rank does meanwhile, and at its own findings; wprof show --ranks "
                   "has all ranks and steps.");
    x->certainty = k->kind && k->steps.n >= LEAST_STEPS ? FINDING_MEASURED : FINDING_LIKELY;
    if (x->certainty != FINDING_MEASURED)
        x->why = mem_strdup("no steps are marked: told by all of the time");
    for (size_t i = 0; i < k->steps.n; i++)
        if (k->steps.a[i].last == rank)
            claim_step(x, k, &k->steps.a[i]);
}

static void check_steps(struct rule_run *r, const struct rule_data *d)
{
    struct ranks k;

    ranks_init(&k, d->s);
    for (size_t i = 0; i < k.waits.list.n && k.waits.list.n > 1; i++)
        if (is_late(r, (double)k.last[i] / (double)k.steps.n) &&
            (double)k.others[i] / (double)(k.waits.list.n - 1) >= LEAST_SHARE * (double)d->wall_ns)
            step_found(r, d, &k, (uint32_t)i);
    ranks_release(&k);
}

void check_late_rank(struct rule_run *r, const struct rule_data *d)
{
    if (!check_collectives(r, d) && d->s->store.origins.list.n)
        check_steps(r, d);
}
