/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/call_tree.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A function while the graph is searched, depth first. */
struct node {
    uint32_t seen, low; /* Tarjan's numbers, from 1 on; 0: not seen yet */
    uint32_t circle;    /* number of the circle that it is in (strongly connected functions), from 1 on */
    uint32_t at, end;   /* the next of its edges in `by_cost`, and behind the last */
    uint8_t open;       /* it is on the way from the beginning to where the search is */
};

/* Of functions that call each other, or of one alone. */
struct circle {
    uint32_t first; /* the one that was found first */
    uint32_t n;
    double inclusive, incoming; /* as a whole: its own costs with calls of others; calls by others */
};

struct search {
    const struct call_graph *g;
    struct node *nodes;
    uint32_t *by_cost;              /* edges, by their caller, the dearest first */
    uint8_t *back;                  /* by edge: it closes a circle */
    uint32_t *path, *stack, *after; /* functions: on the way, Tarjan's, those that are done */
    size_t depth, nstack, nafter;
    uint32_t seen;
    VEC(struct circle) circles;
};

/* ---- the order of the search ---- */

static int by_caller(const void *pa, const void *pb, void *ctx)
{
    const struct call_graph *g = ctx;
    const struct call_edge *a = &g->edges.a[*(const uint32_t *)pa], *b = &g->edges.a[*(const uint32_t *)pb];

    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    if (a->cost != b->cost)
        return a->cost > b->cost ? -1 : 1;
    return (a->callee > b->callee) - (a->callee < b->callee);
}

static void sort_edges(struct search *x)
{
    size_t n = x->g->edges.n;

    for (size_t i = 0; i < n; i++)
        x->by_cost[i] = (uint32_t)i;
    if (n)
        qsort_r(x->by_cost, n, sizeof(*x->by_cost), by_caller, (void *)x->g);
    for (size_t i = 0; i < n; i++) {
        struct node *v = &x->nodes[x->g->edges.a[x->by_cost[i]].caller];

        if (!v->end)
            v->at = (uint32_t)i;
        v->end = (uint32_t)i + 1;
    }
}

struct start {
    uint32_t function;
    uint64_t called, cost; /* calls of it; with what it called, as far as 64 bits go */
};

static int by_start(const void *pa, const void *pb)
{
    const struct start *a = pa, *b = pb;

    if (!a->called != !b->called)
        return a->called ? 1 : -1;
    if (a->cost != b->cost)
        return a->cost > b->cost ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

/* Those that nobody calls come first, then the dearest. Owned by the caller. */
static struct start *starts(const struct call_graph *g)
{
    struct start *a = mem_calloc(g->functions.n + 1, sizeof(*a));

    for (size_t i = 0; i < g->functions.n; i++)
        a[i] = (struct start){(uint32_t)i, 0, g->functions.a[i].self};
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct call_edge *e = &g->edges.a[i];

        if (e->caller == e->callee)
            continue;
        a[e->callee].called++;
        if (__builtin_add_overflow(a[e->caller].cost, e->cost, &a[e->caller].cost))
            a[e->caller].cost = UINT64_MAX;
    }
    if (g->functions.n)
        qsort(a, g->functions.n, sizeof(*a), by_start);
    return a;
}

/* ---- the search: Tarjan's, without recursion ---- */

static void enter(struct search *x, uint32_t function)
{
    struct node *v = &x->nodes[function];

    v->seen = v->low = ++x->seen;
    v->open = 1;
    x->path[x->depth++] = function;
    x->stack[x->nstack++] = function;
}

static void leave(struct search *x)
{
    uint32_t function = x->path[--x->depth], other;
    struct node *v = &x->nodes[function];
    struct circle *c;

    v->open = 0;
    x->after[x->nafter++] = function;
    if (x->depth && v->low < x->nodes[x->path[x->depth - 1]].low)
        x->nodes[x->path[x->depth - 1]].low = v->low;
    if (v->low != v->seen)
        return;
    c = vec_push(&x->circles);
    *c = (struct circle){.first = function};
    do {
        other = x->stack[--x->nstack];
        x->nodes[other].circle = (uint32_t)x->circles.n;
        c->n++;
    } while (other != function);
}

static void follow(struct search *x, uint32_t edge)
{
    uint32_t to = x->g->edges.a[edge].callee;
    struct node *v = &x->nodes[x->path[x->depth - 1]], *w = &x->nodes[to];

    if (!w->seen) {
        enter(x, to);
        return;
    }
    x->back[edge] = w->open;
    if (!w->circle && w->seen < v->low)
        v->low = w->seen;
}

static void search(struct search *x)
{
    struct start *a = starts(x->g);

    sort_edges(x);
    for (size_t i = 0; i < x->g->functions.n; i++) {
        if (x->nodes[a[i].function].seen)
            continue;
        enter(x, a[i].function);
        while (x->depth) {
            struct node *v = &x->nodes[x->path[x->depth - 1]];

            if (v->at < v->end)
                follow(x, x->by_cost[v->at++]);
            else
                leave(x);
        }
    }
    free(a);
}

/* ---- who begins, and what flows ---- */

/* A circle as a whole costs what is spent in it and below: calls inside of it are counted once for each level
 * of recursion, and say nothing. */
static void add_up_circles(struct search *x)
{
    for (size_t i = 0; i < x->g->functions.n; i++)
        x->circles.a[x->nodes[i].circle - 1].inclusive += (double)x->g->functions.a[i].self;
    for (size_t i = 0; i < x->g->edges.n; i++) {
        const struct call_edge *e = &x->g->edges.a[i];
        uint32_t from = x->nodes[e->caller].circle, to = x->nodes[e->callee].circle;

        if (from == to)
            continue;
        x->circles.a[from - 1].inclusive += (double)e->cost;
        x->circles.a[to - 1].incoming += (double)e->cost;
    }
}

/* Each function's callers, as shares of who pays for it; what no caller paid for begins with the one of its
 * circle that was found first. Upwards, those that are called first. */
static void flow(struct call_tree *t, struct search *x)
{
    const struct call_graph *g = x->g;
    double *claims = mem_calloc(g->functions.n + 1, sizeof(*claims)),
           *most = mem_calloc(g->functions.n + 1, sizeof(*most));

    for (size_t i = 0; i < x->circles.n; i++) {
        const struct circle *c = &x->circles.a[i];

        claims[c->first] = t->flows[c->first].begun =
            c->inclusive > c->incoming ? c->inclusive - c->incoming : 0;
    }
    for (size_t i = 0; i < g->edges.n; i++)
        if (!x->back[i])
            claims[g->edges.a[i].callee] += (double)g->edges.a[i].cost;
    for (size_t i = 0; i < g->functions.n; i++)
        t->flows[i].inclusive = (double)g->functions.a[i].self;
    for (size_t i = 0; i < g->functions.n; i++) {
        uint32_t function = x->after[i];
        struct call_flow *f = &t->flows[function];

        /* those that it calls are done: their shares are in */
        for (uint32_t at = g->functions.a[function].first; at; at = g->edges.a[at - 1].next) {
            const struct call_edge *e = &g->edges.a[at - 1];
            struct call_flow *callee = &t->flows[e->callee];

            if (x->back[at - 1] || !e->cost)
                continue;
            t->paid[at - 1] = callee->inclusive * ((double)e->cost / claims[e->callee]);
            f->inclusive += t->paid[at - 1];
            if ((double)e->cost > most[e->callee]) {
                most[e->callee] = (double)e->cost;
                callee->payer = function + 1;
            }
        }
    }
    for (size_t i = 0; i < g->functions.n; i++) {
        struct call_flow *f = &t->flows[i];

        if (f->begun > most[i])
            f->payer = 0;
        f->begun = claims[i] > 0 ? f->inclusive * (f->begun / claims[i]) : f->inclusive;
    }
    free(claims);
    free(most);
}

void call_tree_make(struct call_tree *t, const struct call_graph *g)
{
    size_t n = g->functions.n + 1, edges = g->edges.n + 1;
    struct search x = {.g = g,
                       .nodes = mem_calloc(n, sizeof(*x.nodes)),
                       .by_cost = mem_calloc(edges, sizeof(*x.by_cost)),
                       .back = mem_calloc(edges, sizeof(*x.back)),
                       .path = mem_calloc(n, sizeof(*x.path)),
                       .stack = mem_calloc(n, sizeof(*x.stack)),
                       .after = mem_calloc(n, sizeof(*x.after))};

    *t = (struct call_tree){.order = mem_calloc(n, sizeof(*t->order)),
                            .flows = mem_calloc(n, sizeof(*t->flows)),
                            .paid = mem_calloc(edges, sizeof(*t->paid))};
    search(&x);
    add_up_circles(&x);
    flow(t, &x);
    for (size_t i = 0; i < g->functions.n; i++)
        t->order[i] = x.after[g->functions.n - 1 - i];
    for (size_t i = 0; i < g->edges.n; i++)
        if (x.back[i] && __builtin_add_overflow(t->recursed, g->edges.a[i].cost, &t->recursed))
            t->recursed = UINT64_MAX;
    vec_release(&x.circles);
    free(x.nodes);
    free(x.by_cost);
    free(x.back);
    free(x.path);
    free(x.stack);
    free(x.after);
}

void call_tree_release(struct call_tree *t)
{
    free(t->order);
    free(t->flows);
    free(t->paid);
}
