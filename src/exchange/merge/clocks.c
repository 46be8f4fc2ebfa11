/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/merge/clocks.h"

#include "model/origins.h"

#include <stdlib.h>
#include <string.h>

/* No bound. Sums of a few of them don't overflow. */
#define NO_BOUND (INT64_MAX / 8)

/* ns that are allowed for a message to be received before the call that sent it has returned, which is when
 * it was seen: some 10 us between network namespaces of one machine. */
#define SEND_NS 50000

void clocks_release(struct clocks *c)
{
    strtab_release(&c->names);
    vec_release(&c->visits);
    vec_release(&c->messages);
    map_release(&c->counts);
}

void clocks_barrier(struct clocks *c, const char *name, uint32_t domain, uint32_t who, uint64_t enter,
                    uint64_t leave)
{
    uint32_t id = strtab_add(&c->names, name);
    uint64_t *n = map_put(&c->counts, (uint64_t)id << 32 | who);

    *vec_push(&c->visits) = (struct clocks_visit){id, (uint32_t)(*n)++, domain, who, enter, leave};
}

void clocks_message(struct clocks *c, const char *name, uint32_t domain, int received, uint64_t ns)
{
    *vec_push(&c->messages) = (struct clocks_visit){.name = strtab_add(&c->names, name),
                                                    .domain = domain,
                                                    .enter = received ? 0 : ns,
                                                    .leave = received ? ns : 0};
}

/* ---- bounds ---- */

struct solver {
    size_t n;
    int64_t *most;       /* of offset[a] - offset[b], at a * n + b */
    uint64_t *bounds;    /* how many, of each domain */
    VEC(int64_t) * left; /* of each domain: domain 0's leaving less its own */
};

static void bound(struct solver *x, uint32_t a, uint32_t b, int64_t most)
{
    int64_t *at = &x->most[a * x->n + b];

    if (a == b)
        return;
    *at = most < *at ? most : *at;
    x->bounds[a]++;
    x->bounds[b]++;
}

static int by_name(const void *pa, const void *pb)
{
    const struct clocks_visit *a = pa, *b = pb;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->nth != b->nth)
        return a->nth < b->nth ? -1 : 1;
    return a->domain < b->domain ? -1 : a->domain > b->domain;
}

/* As many as there are of one name, and of one visit. */
static size_t group(const struct clocks_visit *v, size_t n, int nth)
{
    size_t end = 1;

    while (end < n && v[end].name == v[0].name && (!nth || v[end].nth == v[0].nth))
        end++;
    return end;
}

/* A message that has arrived was sent before. */
static void take_messages(struct solver *x, const struct clocks *c)
{
    struct clocks_visit *v = mem_alloc((c->messages.n + 1) * sizeof(*v));
    size_t n = c->messages.n;

    if (n)
        memcpy(v, c->messages.a, n * sizeof(*v));
    if (n)
        qsort(v, n, sizeof(*v), by_name);
    for (size_t i = 0, end; i < n; i = end) {
        end = i + group(v + i, n - i, 0);
        for (size_t s = i; s < end; s++)
            for (size_t r = i; r < end && v[s].enter; r++)
                if (v[r].leave)
                    bound(x, v[s].domain, v[r].domain, (int64_t)(v[r].leave - v[s].enter) + SEND_NS);
    }
    free(v);
}

/* Whether everybody who has some of this name has equally many: the n-th of each is one barrier then. */
static int are_equally_many(const struct clocks *c, const struct clocks_visit *v, size_t n)
{
    uint64_t *first = map_get(&c->counts, (uint64_t)v[0].name << 32 | v[0].who);

    for (size_t i = 1; i < n; i++)
        if (*map_get(&c->counts, (uint64_t)v[i].name << 32 | v[i].who) != *first)
            return 0;
    return 1;
}

/* The last to enter and the first to leave, of each domain that was in a barrier. */
struct passage {
    uint32_t domain;
    uint64_t enter, leave, last;
};

static size_t passages(const struct clocks_visit *v, size_t n, struct passage *out)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        struct passage *p = k ? &out[k - 1] : NULL;

        if (!p || p->domain != v[i].domain) {
            out[k++] = (struct passage){v[i].domain, v[i].enter, v[i].leave, v[i].leave};
            continue;
        }
        p->enter = v[i].enter > p->enter ? v[i].enter : p->enter;
        p->leave = v[i].leave < p->leave ? v[i].leave : p->leave;
        p->last = v[i].leave > p->last ? v[i].leave : p->last;
    }
    return k;
}

static uint64_t middle(const struct passage *p)
{
    return p->leave + (p->last - p->leave) / 2;
}

static void take_barrier(struct solver *x, const struct passage *p, size_t n)
{
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            bound(x, p[a].domain, p[b].domain, (int64_t)(p[b].leave - p[a].enter));
    for (size_t a = 1; a < n && !p[0].domain; a++)
        *vec_push(&x->left[p[a].domain]) = (int64_t)(middle(&p[0]) - middle(&p[a]));
}

static void take_barriers(struct solver *x, const struct clocks *c)
{
    struct clocks_visit *v = mem_alloc((c->visits.n + 1) * sizeof(*v));
    struct passage *p = mem_alloc((x->n + 1) * sizeof(*p));
    size_t n = c->visits.n;

    if (n)
        memcpy(v, c->visits.a, n * sizeof(*v));
    if (n)
        qsort(v, n, sizeof(*v), by_name);
    for (size_t i = 0, end; i < n; i = end) {
        end = i + group(v + i, n - i, 0);
        for (size_t k = i, stop; are_equally_many(c, v + i, end - i) && k < end; k = stop) {
            stop = k + group(v + k, end - k, 1);
            take_barrier(x, p, passages(v + k, stop - k, p));
        }
    }
    free(p);
    free(v);
}

/* The tightest bounds, over any way: Floyd and Warshall's shortest paths. */
static void tighten(struct solver *x)
{
    for (size_t k = 0; k < x->n; k++)
        for (size_t a = 0; a < x->n; a++)
            for (size_t b = 0; b < x->n; b++) {
                int64_t way = x->most[a * x->n + k] >= NO_BOUND || x->most[k * x->n + b] >= NO_BOUND
                                  ? NO_BOUND
                                  : x->most[a * x->n + k] + x->most[k * x->n + b];

                if (a != b && way < x->most[a * x->n + b] && way > -NO_BOUND)
                    x->most[a * x->n + b] = way;
            }
}

/* ---- offsets ---- */

static int by_value(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

    return a < b ? -1 : a > b;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)(a - b) : (uint64_t)(b - a);
}

/* The median of when it left less when domain 0 did; the error is the largest distance from it. */
static int estimate(struct solver *x, size_t d, struct clocks_offset *out)
{
    size_t n = x->left[d].n;
    int64_t *a = x->left[d].a;

    if (!n)
        return 0;
    qsort(a, n, sizeof(*a), by_value);
    out->ns = a[n / 2];
    out->error = distance(a[0], out->ns) > distance(a[n - 1], out->ns) ? distance(a[0], out->ns)
                                                                       : distance(a[n - 1], out->ns);
    out->estimates = n;
    return 1;
}

/* An estimate lies within the bounds; where it does, the bounds still limit its error. */
static void limit(struct clocks_offset *o, int64_t low, int64_t high)
{
    uint64_t most;

    o->ns = o->ns < low ? low : o->ns > high ? high : o->ns;
    most = distance(low, o->ns) > distance(high, o->ns) ? distance(low, o->ns) : distance(high, o->ns);
    o->error = most < o->error ? most : o->error;
}

static void offset_of(struct solver *x, size_t d, uint32_t clock, struct clocks_offset *out)
{
    int64_t high = x->most[d * x->n], low = x->most[d] >= NO_BOUND ? -NO_BOUND : -x->most[d];
    struct clocks_offset from_bounds = {.clock = clock, .bounds = x->bounds[d]}, from_left = from_bounds;
    int enclosed = high < NO_BOUND && low > -NO_BOUND;

    if (enclosed) {
        from_bounds.contradict = low > high;
        from_bounds.ns = low + (high - low) / 2;
        from_bounds.error = distance(low, high) / 2 + 1;
    }
    if (!estimate(x, d, &from_left)) {
        if (enclosed)
            *out = from_bounds;
        return;
    }
    if (enclosed && !from_bounds.contradict)
        limit(&from_left, low, high);
    *out = enclosed && from_bounds.error <= from_left.error ? from_bounds : from_left;
    out->estimates = from_left.estimates;
}

static void solver_init(struct solver *x, size_t n)
{
    *x = (struct solver){.n = n,
                         .most = mem_alloc(n * n * sizeof(*x->most)),
                         .bounds = mem_calloc(n, sizeof(*x->bounds)),
                         .left = mem_calloc(n, sizeof(*x->left))};
    for (size_t i = 0; i < n * n; i++)
        x->most[i] = NO_BOUND;
}

static void solver_release(struct solver *x)
{
    for (size_t i = 0; i < x->n; i++)
        vec_release(&x->left[i]);
    free(x->left);
    free(x->bounds);
    free(x->most);
}

static void solve_by(const struct clocks *c, uint32_t clock, size_t n, struct clocks_offset *out)
{
    struct solver x;

    solver_init(&x, n);
    if (clock == ORIGIN_CLOCK_SOCKETS)
        take_messages(&x, c);
    else
        take_barriers(&x, c);
    tighten(&x);
    for (size_t d = 1; d < n; d++) {
        struct clocks_offset o = {.clock = ORIGIN_CLOCK_NONE};

        offset_of(&x, d, clock, &o);
        if (o.clock == clock && (out[d].error == ORIGIN_ERROR_UNKNOWN || o.error < out[d].error))
            out[d] = o;
    }
    solver_release(&x);
}

void clocks_solve(const struct clocks *c, enum clocks_how how, size_t n, const int64_t *wall,
                  const int *dated, struct clocks_offset *out)
{
    for (size_t d = 0; d < n; d++)
        out[d] = (struct clocks_offset){.clock = !d                     ? ORIGIN_CLOCK_ITSELF
                                                 : dated[d] && dated[0] ? ORIGIN_CLOCK_WALL
                                                                        : ORIGIN_CLOCK_NONE,
                                        .ns = d ? wall[d] : 0,
                                        .error = d ? ORIGIN_ERROR_UNKNOWN : 0};
    if (how == CLOCKS_BEST || how == CLOCKS_BARRIERS)
        solve_by(c, ORIGIN_CLOCK_BARRIERS, n, out);
    if (how == CLOCKS_BEST || how == CLOCKS_SOCKETS)
        solve_by(c, ORIGIN_CLOCK_SOCKETS, n, out);
}
