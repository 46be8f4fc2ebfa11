/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the new side alone whose time was there before, under another name: taken out of the function
 * that calls them, or renamed. What their callers do for themselves, and in functions that only one side has,
 * tells: where that did not grow, nothing did. What both sides have below them is told for itself.
 */
#include "analyze/compare_job.h"

#include <stdlib.h>

/* Without a gate: more than that is growth. */
#define USUAL_LIMIT 0.05

struct within {
    const struct compare *c;
    double *inner[COMPARISON_SIDES]; /* by key: its own time, and that of what only this side has below it */
    uint32_t *row_of;                /* key -> row + 1, of those that are asked for */
    double *growth;                  /* by row: of the callers' inner time, where it grew */
    uint8_t *alone;                  /* by row: nobody who calls it is on both sides */
    uint64_t *most;                  /* by row: of its weight that in the caller who has most of it */
};

static int is_common(const struct compare *c, uint32_t key)
{
    const struct compare_key *k = key ? &c->keys.a[key - 1] : NULL;

    return k && (k->twin || k->on == (1u << COMPARISON_BASE | 1u << COMPARISON_NEW));
}

static uint64_t *totals(const struct profile *p)
{
    uint64_t *total = mem_calloc(p->nodes.n + 1, sizeof(*total));

    for (size_t i = p->nodes.n; i-- > 1;) {
        total[i] += p->metrics.a[0].self[i];
        total[p->nodes.a[i].parent] += total[i];
    }
    return total;
}

static uint32_t *keys_of(const struct compare *c, const struct compare_run *run)
{
    uint32_t *key = mem_calloc(run->p.frames.n + 1, sizeof(*key));

    for (uint32_t i = 1; i < run->p.frames.n; i++)
        key[i] = compare_key_of(c, run, i);
    return key;
}

static void add_inner(struct within *x, const struct compare_run *run)
{
    const struct profile *p = &run->p;
    uint32_t *key = keys_of(x->c, run), *up = mem_calloc(p->nodes.n + 1, sizeof(*up));
    double scale = run->per > 0 ? run->scale / run->per / (double)x->c->n[run->side] : 0;

    for (size_t i = 1; i < p->nodes.n; i++) {
        uint32_t own = key[p->nodes.a[i].frame];

        up[i] = is_common(x->c, own) ? own : up[p->nodes.a[i].parent];
        x->inner[run->side][up[i]] += (double)p->metrics.a[0].self[i] * scale;
    }
    free(up);
    free(key);
}

/* Who calls the rows, of what both sides have. pairs: {row, caller} -> weight. */
static void find_callers(struct within *x, const struct compare_run *run, struct map *pairs)
{
    const struct profile *p = &run->p;
    uint32_t *key = keys_of(x->c, run), *up = mem_calloc(p->nodes.n + 1, sizeof(*up));
    uint64_t *total = totals(p);

    for (size_t i = 1; i < p->nodes.n; i++) {
        uint32_t own = key[p->nodes.a[i].frame], above = up[p->nodes.a[i].parent], row = x->row_of[own];

        up[i] = is_common(x->c, own) ? own : above;
        if (!row || !total[i])
            continue;
        if (above)
            *map_put(pairs, (uint64_t)row << 32 | above) += total[i];
        else
            x->alone[row - 1] = 1;
    }
    free(total);
    free(up);
    free(key);
}

static void take_growth(struct within *x, struct map *pairs, uint32_t *within)
{
    struct map_slot *s;

    for (size_t i = 0; (s = map_next(pairs, &i));) {
        uint32_t row = (uint32_t)(s->key >> 32) - 1, caller = (uint32_t)s->key;
        double growth = x->inner[COMPARISON_NEW][caller] - x->inner[COMPARISON_BASE][caller];

        x->growth[row] += growth > 0 ? growth : 0;
        if (s->val > x->most[row] || (s->val == x->most[row] && caller < within[row])) {
            x->most[row] = s->val;
            within[row] = caller;
        }
    }
}

static double base_whole(const struct compare *c)
{
    double whole = 0;

    for (size_t r = 0; r < c->runs.n; r++)
        if (c->runs.a[r].side == COMPARISON_BASE && c->runs.a[r].per > 0)
            whole += (double)c->runs.a[r].sum * c->runs.a[r].scale / c->runs.a[r].per /
                     (double)c->n[COMPARISON_BASE];
    return whole;
}

static int is_asked(const struct compare *c, const struct compare_tested *t, size_t row, uint32_t key)
{
    return c->keys.a[key - 1].on == 1u << COMPARISON_NEW && !c->keys.a[key - 1].twin && t->tested[row];
}

uint32_t *compare_find_within(const struct compare *c, const struct compare_rows *rows,
                              const struct compare_tested *t, const uint32_t *names)
{
    double limit = (c->o.fail_above > 0 ? c->o.fail_above : USUAL_LIMIT) * base_whole(c);
    struct within x = {.c = c, .row_of = mem_calloc(c->keys.n + 1, sizeof(*x.row_of))};
    uint32_t *within = mem_calloc(rows->n + 1, sizeof(*within));
    struct map pairs = {0};
    size_t asked = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (is_asked(c, t, i, names[i])) {
            x.row_of[names[i]] = (uint32_t)i + 1;
            asked++;
        }
    if (!asked) {
        free(x.row_of);
        return within;
    }
    for (int side = 0; side < COMPARISON_SIDES; side++)
        x.inner[side] = mem_calloc(c->keys.n + 1, sizeof(*x.inner[side]));
    x.growth = mem_calloc(rows->n + 1, sizeof(*x.growth));
    x.alone = mem_calloc(rows->n + 1, sizeof(*x.alone));
    x.most = mem_calloc(rows->n + 1, sizeof(*x.most));
    for (size_t r = 0; r < c->runs.n; r++) {
        add_inner(&x, &c->runs.a[r]);
        if (c->runs.a[r].side == COMPARISON_NEW)
            find_callers(&x, &c->runs.a[r], &pairs);
    }
    take_growth(&x, &pairs, within);
    for (size_t i = 0; i < rows->n; i++)
        if (x.alone[i] || x.growth[i] > limit)
            within[i] = 0;
    map_release(&pairs);
    for (int side = 0; side < COMPARISON_SIDES; side++)
        free(x.inner[side]);
    free(x.growth);
    free(x.alone);
    free(x.most);
    free(x.row_of);
    return within;
}
