/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the new side alone whose time was there before, under another name: taken out of the function
 * that calls them, or renamed. What their callers do for themselves, and in functions that only one side has,
 * tells: where that did not grow, nothing did. What both sides have below them is told for itself.
 */
#include "analyze/compare_job.h"

#include <stdlib.h>

struct within {
    const struct compare *c;
    struct compare_callers callers;
    uint32_t *row_of; /* key -> row + 1, of those that are asked for */
};

static int is_common(const struct compare *c, uint32_t key)
{
    const struct compare_key *k = key ? &c->keys.a[key - 1] : NULL;

    return k && (k->twin || k->on == (1u << COMPARISON_BASE | 1u << COMPARISON_NEW));
}

/* Who asks for a kernel is who calls the runtime's API, which asks for all of them. */
static int is_caller(const struct compare *c, uint32_t key)
{
    return is_common(c, key) && !compare_is_call(strtab_get(&c->strings, c->keys.a[key - 1].name));
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

        up[i] = is_caller(x->c, own) ? own : up[p->nodes.a[i].parent];
        x->callers.inner[run->side][up[i]] += (double)p->metrics.a[0].self[i] * scale;
    }
    free(up);
    free(key);
}

/* Who calls the rows, of what both sides have. */
static void find_callers(struct within *x, const struct compare_run *run)
{
    const struct profile *p = &run->p;
    uint32_t *key = keys_of(x->c, run), *up = mem_calloc(p->nodes.n + 1, sizeof(*up));
    uint64_t *total = totals(p);

    for (size_t i = 1; i < p->nodes.n; i++) {
        uint32_t own = key[p->nodes.a[i].frame], above = up[p->nodes.a[i].parent], row = x->row_of[own];

        up[i] = is_caller(x->c, own) ? own : above;
        if (row && total[i])
            compare_callers_add(&x->callers, row - 1, above, total[i]);
    }
    free(total);
    free(up);
    free(key);
}

static int is_asked(const struct compare *c, const struct compare_tested *t, size_t row, uint32_t key)
{
    return c->keys.a[key - 1].on == 1u << COMPARISON_NEW && !c->keys.a[key - 1].twin && t->tested[row];
}

uint32_t *compare_find_within(const struct compare *c, const struct compare_rows *rows,
                              const struct compare_tested *t, const uint32_t *names)
{
    struct within x = {.c = c, .row_of = mem_calloc(c->keys.n + 1, sizeof(*x.row_of))};
    size_t asked = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (is_asked(c, t, i, names[i])) {
            x.row_of[names[i]] = (uint32_t)i + 1;
            asked++;
        }
    compare_callers_init(&x.callers, c->keys.n, rows->n);
    for (size_t r = 0; asked && r < c->runs.n; r++) {
        add_inner(&x, &c->runs.a[r]);
        if (c->runs.a[r].side == COMPARISON_NEW)
            find_callers(&x, &c->runs.a[r]);
    }
    free(x.row_of);
    return compare_callers_find(&x.callers, compare_callers_limit(c, rows->whole));
}
