/* SPDX-License-Identifier: Apache-2.0 */
/* Who of the findings claims which time, and what each costs then. */
#include "model/findings.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HIGH_SHARE   0.2
#define MEDIUM_SHARE 0.05

struct range {
    uint64_t start, end;
};

/* Sorted, disjoint. */
typedef VEC(struct range) ranges;

/* What findings have so far: of the wall time, and of each lane. */
struct taken {
    ranges wall;
    ranges plain; /* by those without lanes: of every lane, too */
    VEC(ranges) lanes;
};

static int by_start(const void *pa, const void *pb)
{
    const struct finding_claim *a = pa, *b = pb;

    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static void add_range(ranges *r, uint64_t start, uint64_t end)
{
    if (r->n && start <= r->a[r->n - 1].end) {
        if (end > r->a[r->n - 1].end)
            r->a[r->n - 1].end = end;
    } else if (end > start) {
        *vec_push(r) = (struct range){start, end};
    }
}

/* Both sorted; `into` gets the union. */
static void merge(ranges *into, const ranges *more)
{
    ranges both = {0};
    size_t i = 0, k = 0;

    while (i < into->n || k < more->n) {
        int left = k == more->n || (i < into->n && into->a[i].start <= more->a[k].start);
        const struct range *next = left ? &into->a[i++] : &more->a[k++];

        add_range(&both, next->start, next->end);
    }
    vec_swap(into, &both);
    vec_release(&both);
}

/* Takes up to c->ns of what of the claim nobody has. `at`: where in `taken` to begin; it moves on. */
static uint64_t take(const struct finding_claim *c, const ranges *taken, size_t *at, uint64_t *from,
                     ranges *out)
{
    uint64_t start = c->start > *from ? c->start : *from, left = c->ns, got = 0;

    while (*at < taken->n && taken->a[*at].end <= c->start)
        ++*at;
    for (size_t i = *at; left && start < c->end; i++) {
        uint64_t stop = i < taken->n && taken->a[i].start < c->end ? taken->a[i].start : c->end;

        if (stop > start) {
            uint64_t ns = stop - start < left ? stop - start : left;

            add_range(out, start, start + ns);
            got += ns;
            left -= ns;
            *from = start + ns;
        }
        if (i >= taken->n || taken->a[i].start >= c->end)
            break;
        if (taken->a[i].end > start)
            start = taken->a[i].end;
    }
    return got;
}

static uint64_t take_all(const struct finding_claim *claims, size_t n, const ranges *taken, ranges *mine)
{
    uint64_t got = 0, from = 0;
    size_t at = 0;

    for (size_t i = 0; i < n; i++)
        got += take(&claims[i], taken, &at, &from, mine);
    return got;
}

static uint64_t claim_wall(struct taken *t, const struct finding_claim *claims, size_t n, int plain)
{
    ranges mine = {0};
    uint64_t got = take_all(claims, n, &t->wall, &mine);

    merge(&t->wall, &mine);
    for (size_t i = 0; plain && i < t->lanes.n; i++)
        merge(&t->lanes.a[i], &mine);
    if (plain)
        merge(&t->plain, &mine);
    vec_release(&mine);
    return got;
}

static ranges *lane_of(struct taken *t, uint32_t lane)
{
    while (t->lanes.n < lane)
        merge((ranges *)memset(vec_push(&t->lanes), 0, sizeof(ranges)), &t->plain);
    return &t->lanes.a[lane - 1];
}

/* How many of the claims from `i` on are of the same lane. */
static size_t of_lane(const struct finding *x, size_t i)
{
    size_t n = 0;

    while (i + n < x->claims.n && x->claims.a[i + n].lane == x->claims.a[i].lane)
        n++;
    return n;
}

typedef VEC(struct finding_claim) claims;

/* What it costs those who find time of their own taken by it: where in the wall time is not fixed. */
static void take_average(struct taken *t, claims *of)
{
    if (of->n)
        qsort(of->a, of->n, sizeof(*of->a), by_start);
    claim_wall(t, of->a, of->n, 0);
    vec_release(of);
}

/* What the finding gets of the time that is left, which is taken from then on; of lanes: on average. */
static uint64_t claim_all(struct finding *x, struct taken *t)
{
    claims average = {0};
    uint64_t got = 0;

    if (!x->lanes)
        return claim_wall(t, x->claims.a, x->claims.n, 1);
    for (size_t i = 0, n; i < x->claims.n; i += n) {
        ranges mine = {0}, *lane = lane_of(t, x->claims.a[i].lane);

        n = of_lane(x, i);
        got += take_all(&x->claims.a[i], n, lane, &mine);
        for (size_t k = 0; k < mine.n; k++) {
            struct range r = mine.a[k];

            *vec_push(&average) = (struct finding_claim){r.start, r.end, (r.end - r.start) / x->lanes, 0};
        }
        merge(lane, &mine);
        vec_release(&mine);
    }
    take_average(t, &average);
    return got / x->lanes;
}

static void taken_release(struct taken *t)
{
    for (size_t i = 0; i < t->lanes.n; i++)
        vec_release(&t->lanes.a[i]);
    vec_release(&t->lanes);
    vec_release(&t->wall);
    vec_release(&t->plain);
}

/* Claims outside of the wall time are cut. */
static void prepare(struct finding *x, const struct findings *f)
{
    struct taken nobody = {0};
    size_t n = 0;

    for (size_t i = 0; i < x->claims.n; i++) {
        struct finding_claim c = x->claims.a[i];

        if (c.start < f->start)
            c.start = f->start;
        if (c.end > f->start + f->wall_ns)
            c.end = f->start + f->wall_ns;
        if (c.end <= c.start)
            continue;
        if (c.ns > c.end - c.start)
            c.ns = c.end - c.start;
        x->claims.a[n++] = c;
    }
    x->claims.n = n;
    if (n)
        qsort(x->claims.a, n, sizeof(*x->claims.a), by_start);
    x->total_ns = claim_all(x, &nobody);
    taken_release(&nobody);
}

/* Who claims first. */
static int by_weight(const void *pa, const void *pb)
{
    const struct finding *a = pa, *b = pb;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->id, b->id);
}

static int is_minor(const struct finding *x)
{
    return x->weight <= FINDING_ONLY_WHERE && x->severity < FINDING_HIGH;
}

static int by_cost(const void *pa, const void *pb)
{
    const struct finding *a = pa, *b = pb;

    if (is_minor(a) != is_minor(b))
        return is_minor(a) - is_minor(b);
    if (a->cost_ns != b->cost_ns)
        return a->cost_ns > b->cost_ns ? -1 : 1;
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;
    return by_weight(pa, pb);
}

static uint64_t common_claims(const struct finding_claim *a, size_t na, const struct finding_claim *b,
                              size_t nb)
{
    uint64_t sum = 0;
    size_t k = 0;

    for (size_t i = 0; i < na; i++) {
        while (k < nb && b[k].end <= a[i].start)
            k++;
        for (size_t j = k; j < nb && b[j].start < a[i].end; j++) {
            uint64_t start = b[j].start > a[i].start ? b[j].start : a[i].start;
            uint64_t end = b[j].end < a[i].end ? b[j].end : a[i].end;

            sum += end > start ? end - start : 0;
        }
    }
    return sum;
}

/* How much of a's time b claims; of lanes, on average. */
static uint64_t common(const struct finding *a, const struct finding *b)
{
    uint64_t sum = 0;

    for (size_t i = 0, n; i < a->claims.n; i += n) {
        n = of_lane(a, i);
        for (size_t k = 0, m; k < b->claims.n; k += m) {
            m = of_lane(b, k);
            if (!a->lanes || !b->lanes || a->claims.a[i].lane == b->claims.a[k].lane)
                sum += common_claims(&a->claims.a[i], n, &b->claims.a[k], m);
        }
    }
    return sum / (a->lanes ? a->lanes : b->lanes ? b->lanes : 1);
}

static enum finding_severity severity_of(const struct finding *x, uint64_t wall)
{
    double share = wall ? (double)x->total_ns / (double)wall : 0;

    if (!x->timed || !x->total_ns)
        return FINDING_INFO;
    return share >= HIGH_SHARE ? FINDING_HIGH : share >= MEDIUM_SHARE ? FINDING_MEDIUM : FINDING_LOW;
}

/* That of which others count most is part of the one that counts most of it. */
static void place_within(struct findings *f)
{
    for (size_t i = 0; i < f->list.n; i++) {
        struct finding *x = &f->list.a[i];
        uint64_t most = 0;

        for (size_t k = 0; k < f->list.n && x->cost_ns < x->total_ns / 2; k++) {
            uint64_t ns = k == i || f->list.a[k].cost_ns < x->cost_ns ? 0 : common(x, &f->list.a[k]);

            if (ns > most) {
                most = ns;
                x->within = k + 1;
                x->within_ns = ns < f->list.a[k].cost_ns ? ns : f->list.a[k].cost_ns;
            }
        }
    }
}

static void drop(struct findings *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->list.n; i++) {
        struct finding *x = &f->list.a[i];

        if (x->cost_ns < x->least_ns) {
            f->told_ns -= x->cost_ns;
            for (size_t k = 0; k < f->checks.n; k++)
                if (!strcmp(f->checks.a[k].id, x->id) && f->checks.a[k].state == CHECK_FOUND) {
                    f->checks.a[k].state = CHECK_CLEAN;
                    free(f->checks.a[k].detail);
                    f->checks.a[k].detail = mem_strdup("its time is counted in other findings");
                }
            finding_release(x);
        } else {
            f->list.a[n++] = *x;
        }
    }
    f->list.n = n;
}

void findings_settle(struct findings *f)
{
    struct taken taken = {0};

    for (size_t i = 0; i < f->list.n; i++)
        prepare(&f->list.a[i], f);
    if (f->list.n)
        qsort(f->list.a, f->list.n, sizeof(*f->list.a), by_weight);
    f->told_ns = 0;
    for (size_t i = 0; i < f->list.n; i++) {
        struct finding *x = &f->list.a[i];

        x->cost_ns = claim_all(x, &taken);
        if (x->timed && f->wall_ns)
            x->share = (double)x->cost_ns / (double)f->wall_ns;
        if (!x->severity)
            x->severity = (uint8_t)severity_of(x, f->wall_ns);
        f->told_ns += x->cost_ns;
    }
    drop(f);
    if (f->told_ns > f->wall_ns) /* of some devices and of others: averages of each */
        f->told_ns = f->wall_ns;
    if (f->list.n)
        qsort(f->list.a, f->list.n, sizeof(*f->list.a), by_cost);
    place_within(f);
    taken_release(&taken);
}
