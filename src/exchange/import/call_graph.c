/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/call_graph.h"

#include "base/mem.h"

enum {
    FINEST = 100000, /* what is less than this part of all is not followed further down */
    STEPS_MAX = 512,
    VISITS_MAX = 1 << 20,
};

struct walk {
    const struct call_graph *g;
    struct store *s;
    const struct event *like;
    struct call_stats *stats;
    uint64_t *inclusive; /* by function: with its calls */
    uint64_t *incoming;  /* by function: what its callers paid for it */
    struct map events;   /* stack -> index of its sample + 1 */
    uint64_t finest, visits;
};

/* A function in the stack. */
struct level {
    const struct level *up;
    uint32_t function, stack;
};

void call_graph_release(struct call_graph *g)
{
    vec_release(&g->functions);
    vec_release(&g->edges);
    map_release(&g->by_frame);
    map_release(&g->by_pair);
}

uint32_t call_graph_function(struct call_graph *g, uint32_t frame)
{
    uint64_t *at = map_put(&g->by_frame, frame);

    if (!*at) {
        *vec_push(&g->functions) = (struct call_function){.frame = frame};
        *at = g->functions.n;
    }
    return (uint32_t)*at - 1;
}

/* What goes beyond stays as it was. */
static int add(uint64_t *to, uint64_t cost)
{
    uint64_t sum;

    if (__builtin_add_overflow(*to, cost, &sum))
        return -1;
    *to = sum;
    return 0;
}

int call_graph_self(struct call_graph *g, uint32_t function, uint64_t cost)
{
    return add(&g->functions.a[function].self, cost);
}

int call_graph_call(struct call_graph *g, uint32_t caller, uint32_t callee, uint64_t cost)
{
    uint64_t *at = map_put(&g->by_pair, (uint64_t)caller << 32 | callee);

    if (!*at) {
        *vec_push(&g->edges) = (struct call_edge){caller, callee, 0, g->functions.a[caller].first};
        *at = g->edges.n;
        g->functions.a[caller].first = (uint32_t)*at;
    }
    return add(&g->edges.a[*at - 1].cost, cost);
}

/* a * b / c, of which a part is at most a. */
static uint64_t share(uint64_t a, uint64_t b, uint64_t c)
{
    return c ? (uint64_t)((unsigned __int128)a * b / c) : 0;
}

static void sample(struct walk *w, uint32_t stack, uint64_t value)
{
    uint64_t *at;

    if (!value)
        return;
    at = map_put(&w->events, stack);
    if (!*at) {
        *vec_push(&w->s->events) = *w->like;
        *at = w->s->events.n;
        w->s->events.a[*at - 1].stack = stack;
        w->s->events.a[*at - 1].value = 0;
    }
    w->s->events.a[*at - 1].value += value;
}

/* A function that calls itself adds nothing to what it cost. */
static int counts(const struct call_edge *edge)
{
    return edge->caller != edge->callee;
}

static void visit(struct walk *w, const struct level *up, uint32_t function, unsigned steps, uint64_t value);

/* Among the function itself and its calls. All of it goes somewhere: what one lacks by rounding, the next one
 * has. */
static void share_out(struct walk *w, const struct level *l, unsigned steps, uint64_t value)
{
    const struct call_function *f = &w->g->functions.a[l->function];
    uint64_t whole = w->inclusive[l->function], upto = f->self, given = share(value, upto, whole);

    sample(w, l->stack, given);
    for (uint32_t at = f->first; at; at = w->g->edges.a[at - 1].next) {
        const struct call_edge *edge = &w->g->edges.a[at - 1];
        uint64_t to;

        if (!counts(edge))
            continue;
        upto += edge->cost;
        to = share(value, upto, whole);
        visit(w, l, edge->callee, steps + 1, to - given);
        given = to;
    }
}

/* A function that is in the stack already goes on where it stands there: so recursion is folded. */
static void visit(struct walk *w, const struct level *up, uint32_t function, unsigned steps, uint64_t value)
{
    const struct level *at = up;
    struct level new = {up, function, 0};

    if (!value)
        return;
    while (at && at->function != function)
        at = at->up;
    if (at) {
        w->stats->recursed += value;
    } else {
        new.stack = stacks_push(&w->s->stacks, up ? up->stack : 0, w->g->functions.a[function].frame);
        at = &new;
    }
    if (!w->inclusive[function] || value < w->finest || steps == STEPS_MAX || ++w->visits > VISITS_MAX) {
        w->stats->cut += value;
        sample(w, at->stack, value);
    } else {
        share_out(w, at, steps, value);
    }
}

/* -1: beyond 64 bits. */
static int add_up(struct walk *w, uint64_t *own)
{
    const struct call_graph *g = w->g;
    int bad = 0;

    for (size_t i = 0; i < g->functions.n; i++) {
        w->inclusive[i] = g->functions.a[i].self;
        bad |= __builtin_add_overflow(*own, g->functions.a[i].self, own);
    }
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct call_edge *edge = &g->edges.a[i];

        if (!counts(edge))
            continue;
        bad |= __builtin_add_overflow(w->inclusive[edge->caller], edge->cost, &w->inclusive[edge->caller]);
        bad |= __builtin_add_overflow(w->incoming[edge->callee], edge->cost, &w->incoming[edge->callee]);
    }
    return bad ? -1 : 0;
}

/* What no caller paid for. */
static uint64_t unpaid(const struct walk *w, size_t i)
{
    return w->inclusive[i] > w->incoming[i] ? w->inclusive[i] - w->incoming[i] : 0;
}

/* From the functions that begin it. Where calls cost more or less than they should, as if by rounding or by
 * functions that call each other, that is made good in proportion: `own` is what all is to be. */
static void walk_all(struct walk *w, uint64_t own)
{
    size_t n = w->g->functions.n;
    unsigned __int128 begun = 0, upto = 0, self = 0;
    uint64_t part, given = 0;

    for (size_t i = 0; i < n; i++)
        begun += unpaid(w, i);
    part = begun < own ? (uint64_t)begun : own;
    for (size_t i = 0; i < n; i++) {
        uint64_t to;

        upto += unpaid(w, i);
        to = begun ? (uint64_t)((long double)part * ((long double)upto / (long double)begun)) : 0;
        to = begun <= own ? (uint64_t)upto : upto == begun ? part : to;
        visit(w, NULL, (uint32_t)i, 0, to > given ? to - given : 0);
        given = to > given ? to : given;
    }
    given = 0;
    for (size_t i = 0; i < n && own > part; i++) {
        uint64_t to;

        self += w->g->functions.a[i].self;
        to = share(own - part, (uint64_t)self, own);
        sample(w, stacks_push(&w->s->stacks, 0, w->g->functions.a[i].frame), to - given);
        given = to;
    }
}

int call_graph_samples(const struct call_graph *g, struct store *s, const struct event *like,
                       struct call_stats *stats)
{
    struct walk w = {.g = g, .s = s, .like = like, .stats = stats};
    uint64_t own = 0;
    int rc;

    *stats = (struct call_stats){0};
    w.inclusive = mem_calloc(g->functions.n + 1, sizeof(*w.inclusive));
    w.incoming = mem_calloc(g->functions.n + 1, sizeof(*w.incoming));
    rc = add_up(&w, &own);
    w.finest = own / FINEST;
    if (!rc)
        walk_all(&w, own);
    free(w.inclusive);
    free(w.incoming);
    map_release(&w.events);
    return rc;
}
