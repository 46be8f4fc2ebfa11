/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/unit_slow.h"

#include "analyze/steps.h"
#include "analyze/unit_gpu.h"

#include <math.h>
#include <stdlib.h>

#define SLOW 1.5 /* times the median, as in steps.h */

enum {
    LEAST = 8, /* units: of fewer there is nothing typical */
    /* From so many on those beyond the quantile are at least two. */
    FOR_P95 = 40,
    FOR_P99 = 1000,
};

/* ---- figures ---- */

static int by_value(const void *pa, const void *pb)
{
    uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

    return a < b ? -1 : a > b;
}

struct lengths {
    VEC(uint64_t) list; /* sorted */
};

static uint64_t length(const struct unit *x)
{
    return x->end - x->start;
}

static uint64_t rank(const struct lengths *l, double quantile)
{
    size_t at = (size_t)ceil(quantile * (double)l->list.n);

    return l->list.n ? l->list.a[at ? at - 1 : 0] : 0;
}

static void lengths_init(struct lengths *l, const struct units *u, const struct units_choice *choice)
{
    *l = (struct lengths){0};
    for (size_t i = 0; i < choice->chosen.n; i++)
        if (!u->list.a[choice->chosen.a[i]].open)
            *vec_push(&l->list) = length(&u->list.a[choice->chosen.a[i]]);
    if (l->list.n)
        qsort(l->list.a, l->list.n, sizeof(*l->list.a), by_value);
}

static void figures(struct unit_figures *f, const struct lengths *l, const struct units *u,
                    const struct units_choice *choice)
{
    *f = (struct unit_figures){.n = l->list.n, .open = choice->chosen.n - l->list.n};
    f->median = steps_median(u, choice);
    for (size_t i = 0; i < l->list.n; i++) {
        f->sum += l->list.a[i];
        f->slow += (double)l->list.a[i] >= SLOW * (double)f->median;
    }
    f->mean = f->n ? f->sum / f->n : 0;
    f->p95 = rank(l, 0.95);
    f->p99 = rank(l, 0.99);
    f->max = rank(l, 1);
}

void unit_figures(struct unit_figures *f, const struct units *u, const struct units_choice *choice)
{
    struct lengths l;

    lengths_init(&l, u, choice);
    figures(f, &l, u, choice);
    vec_release(&l.list);
}

/* ---- the two sides ---- */

static void add_piece(void *arg, const struct unit_piece *p)
{
    struct unit_side *side = arg;
    uint64_t ns = p->to - p->from;

    side->ns += ns;
    side->cause[p->cause] += ns;
    side->queued += p->queued ? ns : 0;
    *map_put(&side->stacks, (uint64_t)p->cause << 32 | p->stack) += ns;
    if (p->task)
        *map_put(&side->tasks, (uint64_t)p->cause << 32 | p->task) += ns;
}

static void choose(struct unit_slow *x, const struct lengths *l, const struct units *u,
                   const struct units_choice *choice)
{
    size_t n = l->list.n;
    uint64_t least = (uint64_t)ceil(SLOW * (double)x->figures.median), tail;

    x->quantile = n >= FOR_P99 ? 0.99 : n >= FOR_P95 ? 0.95 : 0.9;
    x->from = rank(l, 0.25);
    x->to = rank(l, 0.75);
    tail = rank(l, x->quantile);
    tail = tail > least ? tail : least;
    for (size_t i = 0; i < choice->chosen.n; i++) {
        const struct unit *unit = &u->list.a[choice->chosen.a[i]];

        if (unit->open)
            continue;
        if (length(unit) >= tail) {
            *vec_push(&x->side[COMPARISON_NEW].units) = choice->chosen.a[i];
            x->slow = !x->slow || length(unit) < x->slow ? length(unit) : x->slow;
        } else if (length(unit) >= x->from && length(unit) <= x->to) {
            *vec_push(&x->side[COMPARISON_BASE].units) = choice->chosen.a[i];
        }
    }
}

static void look(struct unit_slow *x, const struct session *s, const struct units *u)
{
    struct unit_time time;
    struct unit_gpu gpu;

    unit_time_init(&time, s, u);
    unit_gpu_init(&gpu, s);
    x->gpu = gpu.devices.n > 0;
    for (int side = COMPARISON_SIDES; side-- > 0;) /* the slow ones first, should there be too much for all */
        for (size_t i = 0; i < x->side[side].units.n; i++) {
            size_t unit = x->side[side].units.a[i];

            unit_time_walk(&time, unit, add_piece, &x->side[side]);
            x->side[side].gpu_idle += unit_gpu_idle(&gpu, &u->list.a[unit]);
        }
    unit_gpu_release(&gpu);
    unit_time_release(&time);
}

static int by_growth(const void *pa, const void *pb, void *arg)
{
    unsigned a = *(const unsigned *)pa, b = *(const unsigned *)pb;
    double x = unit_slow_blame(arg, a), y = unit_slow_blame(arg, b);

    return x != y ? (x > y ? -1 : 1) : a < b ? -1 : a > b;
}

int unit_slow_init(struct unit_slow *x, const struct session *s, const struct units *u,
                   const struct units_choice *choice)
{
    struct lengths l;

    *x = (struct unit_slow){0};
    lengths_init(&l, u, choice);
    figures(&x->figures, &l, u, choice);
    if (l.list.n >= LEAST)
        choose(x, &l, u, choice);
    vec_release(&l.list);
    if (!x->slow || !x->side[COMPARISON_BASE].units.n) {
        x->slow = 0;
        return 0;
    }
    look(x, s, u);
    for (unsigned i = 0; i < UNIT_CAUSES; i++)
        if (x->side[COMPARISON_BASE].cause[i] || x->side[COMPARISON_NEW].cause[i])
            x->order[x->ncauses++] = i;
    qsort_r(x->order, x->ncauses, sizeof(*x->order), by_growth, x);
    return 1;
}

void unit_slow_release(struct unit_slow *x)
{
    for (int i = 0; i < COMPARISON_SIDES; i++) {
        vec_release(&x->side[i].units);
        map_release(&x->side[i].stacks);
        map_release(&x->side[i].tasks);
    }
    *x = (struct unit_slow){0};
}

/* ---- what they say ---- */

double unit_slow_each(const struct unit_slow *x, int side, uint64_t sum)
{
    return x->side[side].units.n ? (double)sum / (double)x->side[side].units.n : 0;
}

double unit_slow_more(const struct unit_slow *x, unsigned cause)
{
    return unit_slow_each(x, COMPARISON_NEW, x->side[COMPARISON_NEW].cause[cause]) -
           unit_slow_each(x, COMPARISON_BASE, x->side[COMPARISON_BASE].cause[cause]);
}

double unit_slow_all(const struct unit_slow *x)
{
    return unit_slow_each(x, COMPARISON_NEW, x->side[COMPARISON_NEW].ns) -
           unit_slow_each(x, COMPARISON_BASE, x->side[COMPARISON_BASE].ns);
}

/* So many times as much of the CPU, and at least that part of what they take more. */
#define COMPUTE_TIMES 2
#define COMPUTE_SHARE 0.05

int unit_slow_queue_follows(const struct unit_slow *x)
{
    double slow = unit_slow_each(x, COMPARISON_NEW, x->side[COMPARISON_NEW].cause[UNIT_RAN]);
    double typical = unit_slow_each(x, COMPARISON_BASE, x->side[COMPARISON_BASE].cause[UNIT_RAN]);

    return slow >= COMPUTE_TIMES * typical && slow - typical > COMPUTE_SHARE * unit_slow_all(x) &&
           unit_slow_more(x, UNIT_NO_CPU) > 0;
}

double unit_slow_blame(const struct unit_slow *x, unsigned cause)
{
    double more = unit_slow_more(x, cause);

    if ((cause != UNIT_RAN && cause != UNIT_NO_CPU) || !unit_slow_queue_follows(x))
        return more;
    return cause == UNIT_RAN ? more + unit_slow_more(x, UNIT_NO_CPU) : 0;
}

uint32_t unit_slow_place(const struct unit_slow *x, const struct places *p, unsigned cause, uint32_t *line)
{
    struct place_time t;
    const struct map_slot *slot;
    uint32_t node;
    uint64_t self;

    place_time_init(&t, p->s);
    for (size_t i = 0; (slot = map_next(&x->side[COMPARISON_NEW].stacks, &i));) {
        uint32_t stack = (uint32_t)slot->key;

        if (slot->key >> 32 != cause || !stack || stack > p->s->stacks.nodes.n)
            continue;
        t.of[stack] += slot->val;
        t.sum += slot->val;
    }
    node = places_hot(p, &t, 0.5, NULL);
    node = node ? node : places_top(p, &t, &self);
    *line = node ? places_line(p, &t, node) : 0;
    place_time_release(&t);
    return node;
}

uint32_t unit_slow_task(const struct unit_slow *x, unsigned cause)
{
    const struct map_slot *slot;
    uint64_t most = 0;
    uint32_t task = 0;

    for (size_t i = 0; (slot = map_next(&x->side[COMPARISON_NEW].tasks, &i));)
        if (slot->key >> 32 == cause &&
            (slot->val > most || (slot->val == most && (uint32_t)slot->key < task))) {
            most = slot->val;
            task = (uint32_t)slot->key;
        }
    return task;
}
