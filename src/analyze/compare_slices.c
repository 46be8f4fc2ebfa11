/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run's kernels and operators, cut by its steps or into slices of time: how much their time varies from
 * one to the next. Steps are preferred: what comes once in each of them falls into some slices and not into
 * others.
 */
#include "analyze/compare_job.h"

#include "analyze/unit_periods.h"
#include "analyze/units.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_SLICES = 50,
    LEAST_SLICES = 8,
    EVENTS_A_SLICE = 10,
    LEAST_STEPS = 5,
};

/* ---- steps ---- */

/* None where they overlap: the time of one is the time of another, too. */
static void take_starts(struct compare_steps *steps, const struct units *u, uint32_t kind)
{
    uint64_t end = 0;

    for (size_t i = 0; i < u->list.n; i++) {
        const struct unit *x = &u->list.a[i];

        if (x->kind != kind || x->open)
            continue;
        if (x->start < end) {
            vec_clear(&steps->starts);
            return;
        }
        end = x->end;
        *vec_push(&steps->starts) = x->start;
    }
}

void compare_find_steps(struct compare_steps *steps, const struct session *s)
{
    struct units u;
    uint32_t kind;

    *steps = (struct compare_steps){0};
    units_collect(&u, s);
    units_find_periods(&u, s);
    kind = units_main_kind(&u);
    if (kind)
        take_starts(steps, &u, kind);
    units_release(&u);
    if (steps->starts.n < LEAST_STEPS)
        vec_clear(&steps->starts);
}

void compare_steps_release(struct compare_steps *steps)
{
    vec_release(&steps->starts);
}

/* The last that began by then; what comes before the first belongs to it. */
static size_t step_of(const struct compare_steps *steps, uint64_t ts)
{
    size_t low = 0, high = steps->starts.n;

    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        *(steps->starts.a[mid] <= ts ? &low : &high) = mid;
    }
    return low;
}

/* ---- slices ---- */

struct compare_slices *compare_slices_new(const struct compare_steps *steps, size_t names, size_t events,
                                          uint64_t from, uint64_t to)
{
    struct compare_slices *x = mem_calloc(1, sizeof(*x));

    x->steps = steps->starts.n;
    x->from = from;
    x->ns = to > from ? to - from : 0;
    x->n = x->steps ? x->steps / ((x->steps + MOST_SLICES - 1) / MOST_SLICES) /* of as many steps each */
                    : events / EVENTS_A_SLICE;
    x->n = x->n < MOST_SLICES ? x->n : MOST_SLICES;
    if (!x->steps && (x->n < LEAST_SLICES || !x->ns))
        x->n = 0;
    x->value = mem_calloc(names * x->n + 1, sizeof(*x->value));
    x->weight = mem_calloc(x->n + 1, sizeof(*x->weight));
    return x;
}

void compare_slices_free(struct compare_slices *x)
{
    if (!x)
        return;
    free(x->value);
    free(x->weight);
    free(x);
}

void compare_slices_add(struct compare_slices *x, const struct compare_steps *steps, size_t name, uint64_t ts,
                        uint64_t ns)
{
    size_t at;

    if (!x->n)
        return;
    if (x->steps)
        at = step_of(steps, ts) * x->n / x->steps;
    else
        at = (size_t)((unsigned __int128)(ts - x->from) * x->n / x->ns);
    at = at < x->n ? at : x->n - 1;
    x->value[name * x->n + at] += (double)ns;
    x->weight[at] += (double)ns;
}

/* "6 steps", "50 slices of time" */
static void add_words(const struct compare_slices *x, struct buf *out)
{
    if (x->steps && x->n < x->steps)
        buf_addf(out, "%zu groups of its %zu steps", x->n, x->steps);
    else
        buf_addf(out, "%zu %s", x->n, x->steps ? "steps" : "slices of time");
}

char *compare_slices_words(const struct compare_slices *base, const struct compare_slices *new)
{
    struct buf out = {0};

    if (!base || !new || !base->n || !new->n) {
        buf_addstr(&out, "nothing: one run a side has too few of them to be cut into slices of time");
        return buf_detach(&out);
    }
    buf_addstr(&out, "one run a side, resampled in ");
    add_words(base, &out);
    buf_addstr(&out, " (base) and ");
    add_words(new, &out);
    buf_addstr(&out, " (new), so how runs differ from each other is not in it");
    return buf_detach(&out);
}
