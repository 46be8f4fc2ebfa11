/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/ranks.h"

#include "analyze/unit_periods.h"
#include "model/barrier.h"

#include <stdlib.h>
#include <string.h>

/* Shorter differences are nobody's coming last. */
#define LEAST_NS 20000
/* Of the others' time, for a straggler. */
#define LEAST_SHARE 0.01

/* ---- steps ---- */

/* Steps, else periods of the devices, else what the program is about; what is a barrier is none of these. */
static void choose(struct ranks *r)
{
    const struct meta *m = &r->s->meta;
    struct units *u = &r->units;
    uint32_t kind = strtab_find(&u->strings, "step");
    struct err e;

    kind = kind ? kind : strtab_find(&u->strings, UNIT_PERIOD);
    kind = kind ? kind : units_main_kind(u);
    if (!kind || barrier_is_mark(strtab_get(&u->strings, kind), m->barriers.a, m->barriers.n))
        return;
    if (!units_choose_kind(&r->choice, u, strtab_get(&u->strings, kind), &e))
        r->kind = strtab_get(&u->strings, kind);
}

/* The n-th of a name on each rank is one step. */
struct piece {
    uint32_t id, nth, rank, unit;
};

static int by_step(const void *pa, const void *pb)
{
    const struct piece *a = pa, *b = pb;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->nth != b->nth)
        return a->nth < b->nth ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void add_visit(struct ranks *r, uint32_t rank, uint64_t start, uint64_t end)
{
    uint64_t waited = rank_waited(&r->waits.list.a[rank], start, end), ns = end > start ? end - start : 0;

    *vec_push(&r->visits) = (struct ranks_visit){rank, start, end, ns > waited ? ns - waited : 0};
}

static void judge(struct ranks *r, struct ranks_step *x)
{
    const struct ranks_visit *v = r->visits.a + x->first;
    uint64_t sum = 0, last_waited;
    size_t last = 0;

    for (size_t i = 0; i < x->n; i++) {
        sum += v[i].own;
        last = v[i].own > v[last].own ? i : last;
    }
    x->own_mean = x->n ? sum / x->n : 0;
    x->own_most = x->n ? v[last].own : 0;
    x->last = UINT32_MAX;
    if (x->n < 2)
        return;
    last_waited = v[last].end - v[last].start - v[last].own;
    for (size_t i = 0; i < x->n; i++) {
        uint64_t waited = v[i].end - v[i].start - v[i].own;

        x->waited += waited > last_waited ? waited - last_waited : 0;
    }
    if (x->own_most - x->own_mean < LEAST_NS)
        return;
    x->last = v[last].rank;
    r->last[x->last]++;
    r->others[x->last] += x->waited;
}

static void add_steps(struct ranks *r, const struct piece *p, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        struct ranks_step *x = vec_push(&r->steps);

        *x = (struct ranks_step){.unit = p[i].unit, .first = (uint32_t)r->visits.n};
        for (end = i; end < n && p[end].id == p[i].id && p[end].nth == p[i].nth; end++) {
            const struct unit *u = &r->units.list.a[p[end].unit];

            add_visit(r, p[end].rank, u->start, u->end);
        }
        x->n = (uint32_t)(end - i);
        judge(r, x);
    }
}

/* Who ended in a step ended it: a program's last one has no other end. Else the recording cut it off. */
static int is_cut_off(const struct ranks *r, const struct unit *u)
{
    return u->open && (!u->task || !r->s->store.tasks.list.a[u->task - 1].last_ns);
}

static void find_steps(struct ranks *r)
{
    VEC(struct piece) all = {0};
    struct map seen = {0};

    for (size_t i = 0; i < r->choice.chosen.n; i++) {
        uint32_t unit = (uint32_t)r->choice.chosen.a[i];
        const struct unit *u = &r->units.list.a[unit];
        uint32_t rank = r->waits.rank_of[u->task];

        if (!rank || is_cut_off(r, u)) {
            r->open += rank != 0;
            continue;
        }
        *vec_push(&all) = (struct piece){u->id, (uint32_t)(*map_put(&seen, (uint64_t)u->id << 32 | rank))++,
                                         rank - 1, unit};
    }
    if (all.n)
        qsort(all.a, all.n, sizeof(*all.a), by_step);
    add_steps(r, all.a, all.n);
    vec_release(&all);
    map_release(&seen);
}

/* Where nothing tells steps apart, all of the time that all were there is one. */
static void take_whole(struct ranks *r)
{
    struct ranks_step *x = vec_push(&r->steps);

    *x = (struct ranks_step){.unit = UINT32_MAX};
    r->kind = NULL;
    for (size_t i = 0; i < r->waits.list.n; i++) {
        const struct origin *o = origins_get(&r->s->store.origins, r->waits.list.a[i].origin);

        add_visit(r, (uint32_t)i, o->start_ns, o->end_ns);
    }
    x->n = (uint32_t)r->visits.n;
    judge(r, x);
}

static int by_time(const void *pa, const void *pb, void *arg)
{
    const struct ranks *r = arg;
    const struct ranks_step *a = pa, *b = pb;
    uint64_t x = r->visits.a[a->first].start, y = r->visits.a[b->first].start;

    return x < y ? -1 : x > y;
}

void ranks_init(struct ranks *r, const struct session *s)
{
    *r = (struct ranks){.s = s};
    gpu_trace_init(&r->gpu, s);
    units_collect(&r->units, s);
    if (!r->units.list.n)
        units_add_periods(&r->units, &r->gpu);
    choose(r);
    rank_waits_init(&r->waits, s, &r->units, &r->choice);
    r->last = mem_calloc(r->waits.list.n + 1, sizeof(*r->last));
    r->others = mem_calloc(r->waits.list.n + 1, sizeof(*r->others));
    find_steps(r);
    if (!r->steps.n && r->waits.list.n)
        take_whole(r);
    if (r->steps.n)
        qsort_r(r->steps.a, r->steps.n, sizeof(*r->steps.a), by_time, r);
    ranks_find_did(r);
}

void ranks_release(struct ranks *r)
{
    rank_waits_release(&r->waits);
    units_choice_release(&r->choice);
    units_release(&r->units);
    gpu_trace_release(&r->gpu);
    vec_release(&r->steps);
    vec_release(&r->visits);
    vec_release(&r->did);
    free(r->last);
    free(r->others);
}

int ranks_is_straggler(const struct ranks *r, size_t rank)
{
    uint64_t all = 0;

    for (size_t i = 0; i < r->visits.n; i++)
        all += r->visits.a[i].rank != rank ? r->visits.a[i].end - r->visits.a[i].start : 0;
    return r->last[rank] && r->last[rank] * 2 >= r->steps.n &&
           (double)r->others[rank] > LEAST_SHARE * (double)all;
}

void ranks_name(const struct ranks *r, size_t rank, struct buf *out)
{
    const struct origin *o = origins_get(&r->s->store.origins, r->waits.list.a[rank].origin);

    if (o->rank)
        buf_addf(out, "rank %u%s", o->rank - 1, o->host ? " on " : "");
    if (o->host)
        buf_addstr(out, strtab_get(&r->s->store.strings, o->host));
}
