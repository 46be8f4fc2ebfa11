/* SPDX-License-Identifier: Apache-2.0 */
/* Whether anything grew by more than it may. */
#include "analyze/compare_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "12.3 %" of how much; "12.3 points" where shares are compared. */
static void say_growth(const struct compare *c, const struct comparison_row *r, struct buf *out)
{
    int timed = c->o.by >= COMPARISON_KERNELS || !strcmp(c->out->unit, "ns");

    if (c->out->level[c->o.by].unit == COMPARISON_SHARE)
        buf_addf(out, "%s: %+.2f percentage points of all %s", r->name, 100 * r->cost,
                 timed ? "time" : "samples");
    else
        buf_addf(out, "%s: %+.2f %% of the base side's whole", r->name, 100 * r->cost);
}

static int grows_most(const struct comparison_row *a, const struct comparison_row *b)
{
    return !b || a->cost > b->cost;
}

/* Several runs a side are taken for the same work; one on each side where both were recorded to the end. */
static int same_work(const struct compare *c)
{
    for (size_t i = 0; c->freedom <= 0 && i < c->runs.n; i++)
        if (!c->runs.a[i].whole)
            return 0;
    return 1;
}

/* Where others take less, the share of what takes as long as before grows, or of what takes a little longer:
 * runs of the same work tell by their samples' time, of the base side's whole. */
static int takes_longer(const struct compare *c, const struct comparison_row *r)
{
    const struct comparison *out = c->out;
    double base = r->weight[COMPARISON_BASE] / (double)c->n[COMPARISON_BASE],
           new = r->weight[COMPARISON_NEW] / (double)c->n[COMPARISON_NEW];
    double whole = (double)out->level[c->o.by].weight[COMPARISON_BASE] / (double)c->n[COMPARISON_BASE];

    if (!same_work(c) || c->o.by >= COMPARISON_KERNELS || !c->same_clock ||
        out->level[c->o.by].unit != COMPARISON_SHARE)
        return 1;
    return new - base > whole * c->o.fail_above;
}

struct worst {
    const struct comparison_row *row, *any; /* of those that fail; of all */
    const struct comparison_figure *figure;
    double figure_growth;
    size_t fail, figures_fail; /* rows, figures */
    size_t shares;             /* rows whose share alone grew */
};

static void look_at_rows(const struct compare *c, struct worst *w)
{
    const struct comparison *out = c->out;

    for (size_t i = 0; i < out->level[c->o.by].rows.n; i++) {
        const struct comparison_row *r = &out->level[c->o.by].rows.a[i];
        int fails = r->value.significant && r->cost > c->o.fail_above;

        if (r->within) /* its caller had that time before */
            continue;
        if (fails && !takes_longer(c, r)) {
            w->shares++;
            continue;
        }
        w->fail += (size_t)fails;
        if (fails && grows_most(r, w->row))
            w->row = r;
        if (grows_most(r, w->any))
            w->any = r;
    }
    if (!w->any && out->level[c->o.by].rows.n)
        w->any = &out->level[c->o.by].rows.a[0];
}

static void look_at_figures(const struct compare *c, struct worst *w)
{
    for (size_t i = 0; i < c->out->figures.n; i++) {
        const struct comparison_figure *f = &c->out->figures.a[i];
        double growth = f->value.base > 0 ? f->value.change / f->value.base : 0;

        if (!f->total || !f->value.significant || growth <= c->o.fail_above)
            continue;
        w->figures_fail++;
        if (!w->figure || growth > w->figure_growth) {
            w->figure = f;
            w->figure_growth = growth;
        }
    }
}

static const struct comparison_figure *figure_of(const struct comparison *out, const char *name)
{
    for (size_t i = 0; i < out->figures.n; i++)
        if (!strcmp(out->figures.a[i].name, name))
            return &out->figures.a[i];
    return NULL;
}

/* Of wall time that grew while CPU time did not: how much of it was waiting for a CPU. */
static void say_queueing(const struct comparison *out, const struct comparison_figure *wall, struct buf *b)
{
    const struct comparison_figure *queue = figure_of(out, "run queue"), *cpu = figure_of(out, "CPU");

    if (strcmp(wall->name, "wall") != 0 || !queue || (cpu && cpu->value.significant) ||
        queue->value.change < wall->value.change / 2)
        return;
    buf_addf(b, ", while the run queue took %+.2f s: was the machine busier, or does it start more threads?",
             queue->value.change / 1e9);
}

/* Half of the widest interval of what was tested, by the base side's whole: a change of less may not show. */
static double blind_below(const struct compare *c)
{
    const struct comparison *out = c->out;
    double most = 0;

    for (size_t i = 0; i < out->level[c->o.by].rows.n; i++) {
        const struct comparison_row *r = &out->level[c->o.by].rows.a[i];

        if (!isnan(r->value.q) && r->value.change != 0)
            most = fmax(most, (r->value.high - r->value.low) / 2 * fabs(r->cost / r->value.change));
    }
    return most;
}

static void say_blind(const struct compare *c, struct buf *out)
{
    double below = blind_below(c);

    if (below > c->o.fail_above)
        buf_addf(out,
                 "; what is here shows no change below %.2g %s of all: more runs (record --repeat), longer "
                 "ones, or a higher --freq",
                 100 * below, c->out->level[c->o.by].unit == COMPARISON_SHARE ? "percentage points" : "%");
}

/* What one run a side is not judged by, though it grew within them. */
static void say_not_judged(const struct compare *c, struct buf *out)
{
    for (size_t i = 0; c->freedom <= 0 && i < c->out->figures.n; i++) {
        const struct comparison_figure *f = &c->out->figures.a[i];
        double growth = f->value.base > 0 ? f->value.change / f->value.base : 0;

        if (f->total && f->value.significant && growth > c->o.fail_above)
            buf_addf(out, "; not judged by one run a side: %s %+.1f %% (q %.2g)", f->name, 100 * growth,
                     f->value.q);
    }
}

static int grew(const struct compare *c, const struct comparison_figure *f)
{
    return f && f->total && f->value.significant && f->value.base > 0 &&
           f->value.change / f->value.base > c->o.fail_above;
}

/* Where CPU time grew and no row by as much: which of them it was, as far as they tell. */
static void say_which(const struct compare *c, struct buf *out)
{
    const struct comparison *x = c->out;
    const struct comparison_row *most = NULL;

    if (!grew(c, figure_of(x, "CPU")) || c->o.by >= COMPARISON_KERNELS || !strcmp(x->unit, "ns"))
        return;
    buf_addf(out, "; which %s: ", comparison_level_name(c->o.by));
    for (size_t i = 0; i < x->level[c->o.by].rows.n; i++) {
        const struct comparison_row *r = &x->level[c->o.by].rows.a[i];

        if (r->value.significant && r->cost > 0 && !r->within && grows_most(r, most))
            most = r;
    }
    if (most) {
        buf_addstr(out, "most did ");
        say_growth(c, most, out);
        buf_addf(out, " (q %.2g)", most->value.q);
    } else {
        buf_addf(out,
                 "not enough %s, %llu and %llu: more runs (record --repeat), longer ones, or a higher --freq",
                 x->unit, (unsigned long long)x->side[COMPARISON_BASE].weight,
                 (unsigned long long)x->side[COMPARISON_NEW].weight);
    }
}

static void say_failure(const struct compare *c, const struct worst *w, struct buf *out)
{
    if (w->figure)
        buf_addf(out, "%s: %+.1f %% (q %.2g)", w->figure->name, 100 * w->figure_growth, w->figure->value.q);
    if (w->figure)
        say_queueing(c->out, w->figure, out);
    if (w->row) {
        buf_addstr(out, w->figure ? "; " : "");
        say_growth(c, w->row, out);
        buf_addf(out, " (q %.2g)", w->row->value.q);
    }
    buf_addf(out, "; above %.3g %% and significant at %.3g", 100 * c->o.fail_above, c->o.alpha);
    if (w->fail + w->figures_fail > (size_t)(w->figure != NULL) + (w->row != NULL))
        buf_addf(out, "; %zu such in all", w->fail + w->figures_fail);
}

static int can_judge(const struct compare *c, const struct worst *w, struct buf *why)
{
    const struct comparison *out = c->out;

    for (int side = 0; side < COMPARISON_SIDES; side++)
        if (!out->level[c->o.by].weight[side]) {
            if (c->o.by < COMPARISON_KERNELS)
                buf_addf(why, "the %s side has no %s of %s", out->side[side].label, out->unit, out->metric);
            else
                buf_addf(why, "the %s side has no %s", out->side[side].label,
                         comparison_level_names(c->o.by));
            return 0;
        }
    if (!compare_sees_alike(c, why))
        return 0;
    if (!w->any) {
        buf_addf(why, "no %s has %.3g %% of the %s%s", comparison_level_name(c->o.by), 100 * c->o.min_share,
                 c->o.by < COMPARISON_KERNELS ? out->unit : "time",
                 c->o.only ? " and a name as --only wants it" : "");
        return 0;
    }
    if (!out->level[c->o.by].tested) {
        buf_addf(why, "the %s are not tested (%s)", comparison_level_names(c->o.by),
                 out->level[c->o.by].method ? out->level[c->o.by].method : "nothing tells how they vary");
        return 0;
    }
    if (c->freedom <= 0 && out->level[c->o.by].unit != COMPARISON_SHARE) {
        buf_addstr(why, "one run a side can be judged by shares alone (--per sample)");
        return 0;
    }
    return 1;
}

/* The gated figure that was tested and grew most; NULL: none was. */
static const struct comparison_figure *tested_figure(const struct comparison *out)
{
    const struct comparison_figure *most = NULL;

    for (size_t i = 0; i < out->figures.n; i++) {
        const struct comparison_figure *f = &out->figures.a[i];

        if (f->total && !isnan(f->value.q) && (!most || f->value.change > most->value.change))
            most = f;
    }
    return most;
}

/* Where --only asks for figures alone, there are no rows to judge. */
static int passes_by_figures(const struct compare *c, const struct worst *w, struct buf *out)
{
    const struct comparison_figure *f = c->o.only && !w->any ? tested_figure(c->out) : NULL;

    if (!f)
        return 0;
    buf_addf(out, "%s: %+.1f %% (q %.2g); not above %.3g %% and significant at %.3g", f->name,
             f->value.base > 0 ? 100 * f->value.change / f->value.base : 0, f->value.q, 100 * c->o.fail_above,
             c->o.alpha);
    return 1;
}

void compare_judge(struct compare *c)
{
    struct comparison *out = c->out;
    struct worst w = {0};
    struct buf because = {0}, why = {0};
    int can;

    if (!(c->o.fail_above > 0))
        return;
    look_at_rows(c, &w);
    if (c->freedom > 0 || c->o.only) /* of one run a side only those that were asked for */
        look_at_figures(c, &w);
    can = can_judge(c, &w, &why);
    if (!can) {
        w.row = NULL;
        w.fail = 0;
    }
    if (w.figure || w.fail) {
        out->verdict = COMPARISON_FAILS;
        say_failure(c, &w, &because);
        if (can && !w.row)
            say_which(c, &because);
    } else if (passes_by_figures(c, &w, &because)) {
        out->verdict = COMPARISON_PASSES;
    } else if (!can) {
        out->verdict = COMPARISON_NO_JUDGEMENT;
        buf_addstr(&because, buf_str(&why));
    } else {
        out->verdict = COMPARISON_PASSES;
        buf_addf(&because, "nothing grew by more than %.3g %% and significantly at %.3g; most did ",
                 100 * c->o.fail_above, c->o.alpha);
        say_growth(c, w.any, &because);
        if (isnan(w.any->value.q))
            buf_addstr(&because, " (not tested)");
        else
            buf_addf(&because, " (q %.2g)", w.any->value.q);
        if (w.shares)
            buf_addf(
                &because,
                "; the share of %zu grew, which take hardly any longer than before: the others take less",
                w.shares);
        say_not_judged(c, &because);
        say_blind(c, &because);
    }
    out->because = buf_detach(&because);
    buf_release(&why);
}
