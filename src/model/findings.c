/* SPDX-License-Identifier: Apache-2.0 */
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

const char *finding_severity_name(enum finding_severity s)
{
    static const char *const names[] = {"info", "low", "medium", "high"};

    return s < ARRAY_SIZE(names) ? names[s] : "info";
}

const char *finding_certainty_name(enum finding_certainty c)
{
    static const char *const names[] = {"guess", "likely", "measured"};

    return c < ARRAY_SIZE(names) ? names[c] : "guess";
}

const char *check_state_name(unsigned state)
{
    static const char *const names[] = {"clean", "found", "not checked", "left out"};

    return state < ARRAY_SIZE(names) ? names[state] : "not checked";
}

static void release(struct finding *x)
{
    char *const texts[] = {x->id,   x->title, x->evidence, x->advice, x->why,
                           x->line, x->stack, x->process,  x->device};

    for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
        free(texts[k]);
    vec_release(&x->claims);
}

void findings_release(struct findings *f)
{
    for (size_t i = 0; i < f->list.n; i++)
        release(&f->list.a[i]);
    for (size_t i = 0; i < f->checks.n; i++)
        free(f->checks.a[i].detail);
    vec_release(&f->list);
    vec_release(&f->checks);
}

struct finding *findings_add(struct findings *f, const char *id)
{
    struct finding *x = vec_push(&f->list);

    *x = (struct finding){.id = mem_strdup(id), .share = NAN};
    return x;
}

void finding_claim(struct finding *x, uint64_t start, uint64_t end, uint64_t ns)
{
    x->timed = 1;
    if (end > start && ns)
        *vec_push(&x->claims) = (struct finding_claim){start, end, ns < end - start ? ns : end - start};
}

/* ---- who claims what ---- */

static int by_start(const void *pa, const void *pb)
{
    const struct finding_claim *a = pa, *b = pb;

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

/* What the finding gets of the time that is left; that is taken from then on. */
static uint64_t claim_all(struct finding *x, ranges *taken, int keep)
{
    ranges mine = {0};
    uint64_t got = 0, from = 0;
    size_t at = 0;

    for (size_t i = 0; i < x->claims.n; i++)
        got += take(&x->claims.a[i], taken, &at, &from, &mine);
    if (keep)
        merge(taken, &mine);
    vec_release(&mine);
    return got;
}

/* Claims outside of the wall time are cut. */
static void prepare(struct finding *x, const struct findings *f)
{
    const ranges nobody = {0};
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
    x->total_ns = claim_all(x, (ranges *)&nobody, 0);
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

/* How much of a's time b claims. */
static uint64_t common(const struct finding *a, const struct finding *b)
{
    uint64_t sum = 0;
    size_t k = 0;

    for (size_t i = 0; i < a->claims.n; i++) {
        const struct finding_claim *x = &a->claims.a[i];

        while (k < b->claims.n && b->claims.a[k].end <= x->start)
            k++;
        for (size_t j = k; j < b->claims.n && b->claims.a[j].start < x->end; j++) {
            uint64_t start = b->claims.a[j].start > x->start ? b->claims.a[j].start : x->start;
            uint64_t end = b->claims.a[j].end < x->end ? b->claims.a[j].end : x->end;

            sum += end > start ? end - start : 0;
        }
    }
    return sum;
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
            release(x);
        } else {
            f->list.a[n++] = *x;
        }
    }
    f->list.n = n;
}

void findings_settle(struct findings *f)
{
    ranges taken = {0};

    for (size_t i = 0; i < f->list.n; i++)
        prepare(&f->list.a[i], f);
    if (f->list.n)
        qsort(f->list.a, f->list.n, sizeof(*f->list.a), by_weight);
    f->told_ns = 0;
    for (size_t i = 0; i < f->list.n; i++) {
        struct finding *x = &f->list.a[i];

        x->cost_ns = claim_all(x, &taken, 1);
        if (x->timed && f->wall_ns)
            x->share = (double)x->cost_ns / (double)f->wall_ns;
        if (!x->severity)
            x->severity = (uint8_t)severity_of(x, f->wall_ns);
        f->told_ns += x->cost_ns;
    }
    drop(f);
    if (f->list.n)
        qsort(f->list.a, f->list.n, sizeof(*f->list.a), by_cost);
    place_within(f);
    vec_release(&taken);
}

size_t findings_count(const struct findings *f, unsigned state)
{
    size_t n = 0;

    for (size_t i = 0; i < f->checks.n; i++)
        n += f->checks.a[i].state == state;
    return n;
}

/* ---- JSON ---- */

static void where_json(const struct finding *x, struct json_writer *w)
{
    json_object(w, "where");
    json_str(w, "process", x->process);
    json_str(w, "line", x->line);
    json_str(w, "stack", x->stack);
    json_str(w, "device", x->device);
    if (x->to) {
        json_u64(w, "from_ns", x->from);
        json_u64(w, "to_ns", x->to);
    }
    json_end_object(w);
}

static void finding_json(const struct findings *f, const struct finding *x, struct json_writer *w)
{
    json_object(w, NULL);
    json_str(w, "id", x->id);
    json_str(w, "severity", finding_severity_name(x->severity));
    json_str(w, "title", x->title);
    if (x->timed) {
        json_u64(w, "cost_ns", x->cost_ns);
        json_u64(w, "total_ns", x->total_ns);
    } else {
        json_null(w, "cost_ns");
        json_null(w, "total_ns");
    }
    json_f64(w, "share", x->share);
    json_str(w, "evidence", x->evidence);
    where_json(x, w);
    json_str(w, "advice", x->advice);
    json_str(w, "certainty", finding_certainty_name(x->certainty));
    json_str(w, "certainty_why", x->why);
    json_str(w, "within", x->within ? f->list.a[x->within - 1].id : NULL);
    json_end_object(w);
}

void findings_json(const struct findings *f, struct json_writer *w)
{
    json_u64(w, "wall_ns", f->wall_ns);
    json_u64(w, "findings_ns", f->told_ns);
    json_array(w, "findings");
    for (size_t i = 0; i < f->list.n; i++)
        finding_json(f, &f->list.a[i], w);
    json_end_array(w);
    json_array(w, "checks");
    for (size_t i = 0; i < f->checks.n; i++) {
        const struct check *c = &f->checks.a[i];

        json_object(w, NULL);
        json_str(w, "id", c->id);
        json_str(w, "title", c->title);
        json_str(w, "state", check_state_name(c->state));
        json_str(w, "detail", c->detail);
        json_end_object(w);
    }
    json_end_array(w);
}
