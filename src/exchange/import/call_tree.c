/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/call_tree.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A function while circles are looked for, depth first. */
struct node {
    uint32_t seen, low; /* Tarjan's numbers, from 1 on; 0: not seen yet */
    uint32_t circle;    /* number of the circle that it is in, from 1 on */
    uint32_t at;        /* its next call to be followed, index + 1 */
    uint32_t place;     /* in the order, from 1 on; 0: it has none yet */
    double reached;     /* the dearest call of it by those that have a place; -1: none */
};

/* Functions that call each other, each one the others in the end, or one alone. */
struct circle {
    uint32_t at, n;             /* in `members` */
    uint32_t first;             /* the dearest, where nobody else begins it */
    double inclusive, incoming; /* as a whole: its own costs with calls of others; calls by others */
};

struct candidate {
    double cost;
    uint32_t function;
};

struct search {
    const struct call_graph *g;
    struct node *nodes;
    uint32_t *path, *stack, *members; /* functions: on the way, Tarjan's, of all circles */
    size_t depth, nstack, nmembers, placed;
    uint32_t seen;
    VEC(struct circle) circles;      /* those that call others behind those that they call */
    VEC(struct candidate) reachable; /* a heap, the dearest first: the next to have a place */
};

/* ---- circles: Tarjan's strongly connected components, without recursion ---- */

static void enter(struct search *x, uint32_t function)
{
    struct node *v = &x->nodes[function];

    v->seen = v->low = ++x->seen;
    v->at = x->g->functions.a[function].first;
    x->path[x->depth++] = function;
    x->stack[x->nstack++] = function;
}

static void leave(struct search *x)
{
    uint32_t function = x->path[--x->depth], other;
    struct node *v = &x->nodes[function];
    struct circle *c;

    if (x->depth && v->low < x->nodes[x->path[x->depth - 1]].low)
        x->nodes[x->path[x->depth - 1]].low = v->low;
    if (v->low != v->seen)
        return;
    c = vec_push(&x->circles);
    *c = (struct circle){.at = (uint32_t)x->nmembers, .first = function};
    do {
        other = x->stack[--x->nstack];
        x->nodes[other].circle = (uint32_t)x->circles.n;
        x->members[x->nmembers++] = other;
        c->n++;
    } while (other != function);
}

static void follow(struct search *x, const struct call_edge *e)
{
    struct node *v = &x->nodes[e->caller], *w = &x->nodes[e->callee];

    v->at = e->next;
    if (!w->seen)
        enter(x, e->callee);
    else if (!w->circle && w->seen < v->low)
        v->low = w->seen;
}

static void find_circles(struct search *x)
{
    for (size_t i = 0; i < x->g->functions.n; i++) {
        if (x->nodes[i].seen)
            continue;
        enter(x, (uint32_t)i);
        while (x->depth) {
            const struct node *v = &x->nodes[x->path[x->depth - 1]];

            if (v->at)
                follow(x, &x->g->edges.a[v->at - 1]);
            else
                leave(x);
        }
    }
}

static double dearness(const struct call_graph *g, uint32_t function)
{
    double cost = (double)g->functions.a[function].self;

    for (uint32_t at = g->functions.a[function].first; at; at = g->edges.a[at - 1].next)
        cost += (double)g->edges.a[at - 1].cost;
    return cost;
}

/* A circle as a whole costs what is spent in it and below: calls inside of it are counted once for each level
 * of recursion, and don't say. */
static void add_up_circles(struct search *x)
{
    const struct call_graph *g = x->g;

    for (size_t i = 0; i < g->functions.n; i++) {
        struct circle *c = &x->circles.a[x->nodes[i].circle - 1];

        c->inclusive += (double)g->functions.a[i].self;
        if (c->n > 1 && dearness(g, (uint32_t)i) > dearness(g, c->first))
            c->first = (uint32_t)i;
    }
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct call_edge *e = &g->edges.a[i];
        uint32_t from = x->nodes[e->caller].circle, to = x->nodes[e->callee].circle;

        if (from == to)
            continue;
        x->circles.a[from - 1].inclusive += (double)e->cost;
        x->circles.a[to - 1].incoming += (double)e->cost;
    }
}

static double begun(const struct circle *c)
{
    return c->inclusive > c->incoming ? c->inclusive - c->incoming : 0;
}

/* ---- the order ---- */

static void swap(struct candidate *a, struct candidate *b)
{
    struct candidate t = *a;

    *a = *b;
    *b = t;
}

static void push(struct search *x, uint32_t function, double cost)
{
    struct candidate *a;
    size_t at = x->reachable.n;

    *vec_push(&x->reachable) = (struct candidate){cost, function};
    a = x->reachable.a;
    for (; at && a[(at - 1) / 2].cost < a[at].cost; at = (at - 1) / 2)
        swap(&a[(at - 1) / 2], &a[at]);
}

static uint32_t pop(struct search *x)
{
    struct candidate *a = x->reachable.a;
    uint32_t function = a[0].function;
    size_t n = --x->reachable.n;

    a[0] = a[n];
    for (size_t at = 0, to; (to = 2 * at + 1) < n; at = to) {
        to += to + 1 < n && a[to + 1].cost > a[to].cost;
        if (a[to].cost <= a[at].cost)
            break;
        swap(&a[to], &a[at]);
    }
    return function;
}

static void put(struct search *x, struct call_tree *t, uint32_t function)
{
    struct node *v = &x->nodes[function];

    t->order[x->placed++] = function;
    v->place = (uint32_t)x->placed;
    for (uint32_t at = x->g->functions.a[function].first; at; at = x->g->edges.a[at - 1].next) {
        const struct call_edge *e = &x->g->edges.a[at - 1];
        struct node *w = &x->nodes[e->callee];

        if (w->place || (double)e->cost <= w->reached)
            continue;
        w->reached = (double)e->cost;
        if (w->circle == v->circle)
            push(x, e->callee, w->reached);
    }
}

/* From where others call into it, the dearest call first, as a spanning tree is grown: so the calls that are
 * left out are those that go back up. */
static void put_circle(struct search *x, struct call_tree *t, const struct circle *c)
{
    size_t upto = x->placed + c->n;

    for (uint32_t i = 0; i < c->n; i++)
        if (x->nodes[x->members[c->at + i]].reached >= 0)
            push(x, x->members[c->at + i], x->nodes[x->members[c->at + i]].reached);
    if (begun(c) > 0 || !x->reachable.n)
        push(x, c->first, begun(c));
    while (x->placed < upto) {
        uint32_t function = pop(x);

        if (!x->nodes[function].place)
            put(x, t, function);
    }
    vec_clear(&x->reachable);
}

/* ---- what flows ---- */

static int is_back(const struct search *x, const struct call_edge *e)
{
    return x->nodes[e->caller].place >= x->nodes[e->callee].place;
}

/* The callers' shares of what a function costs in all: those that it calls have theirs already. */
static void pay(struct call_tree *t, const struct search *x, uint32_t function, const double *claims,
                double *most)
{
    struct call_flow *f = &t->flows[function];

    for (uint32_t at = x->g->functions.a[function].first; at; at = x->g->edges.a[at - 1].next) {
        const struct call_edge *e = &x->g->edges.a[at - 1];
        struct call_flow *callee = &t->flows[e->callee];

        if (is_back(x, e) || !e->cost)
            continue;
        t->paid[at - 1] = callee->inclusive * ((double)e->cost / claims[e->callee]);
        f->inclusive += t->paid[at - 1];
        if ((double)e->cost > most[e->callee]) {
            most[e->callee] = (double)e->cost;
            callee->payer = function + 1;
        }
    }
}

static void flow(struct call_tree *t, const struct search *x)
{
    const struct call_graph *g = x->g;
    size_t n = g->functions.n;
    double *claims = mem_calloc(n + 1, sizeof(*claims)), *most = mem_calloc(n + 1, sizeof(*most));

    for (size_t i = 0; i < x->circles.n; i++) {
        const struct circle *c = &x->circles.a[i];

        claims[c->first] = t->flows[c->first].begun = begun(c);
    }
    for (size_t i = 0; i < g->edges.n; i++)
        if (!is_back(x, &g->edges.a[i]))
            claims[g->edges.a[i].callee] += (double)g->edges.a[i].cost;
    for (size_t i = 0; i < n; i++)
        t->flows[i].inclusive = (double)g->functions.a[i].self;
    for (size_t i = n; i-- > 0;)
        pay(t, x, t->order[i], claims, most);
    for (size_t i = 0; i < n; i++) {
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
                       .path = mem_calloc(n, sizeof(*x.path)),
                       .stack = mem_calloc(n, sizeof(*x.stack)),
                       .members = mem_calloc(n, sizeof(*x.members))};

    *t = (struct call_tree){.order = mem_calloc(n, sizeof(*t->order)),
                            .flows = mem_calloc(n, sizeof(*t->flows)),
                            .paid = mem_calloc(edges, sizeof(*t->paid))};
    for (size_t i = 0; i < g->functions.n; i++)
        x.nodes[i].reached = -1;
    find_circles(&x);
    add_up_circles(&x);
    for (size_t i = x.circles.n; i-- > 0;)
        put_circle(&x, t, &x.circles.a[i]);
    flow(t, &x);
    for (size_t i = 0; i < g->edges.n; i++)
        if (is_back(&x, &g->edges.a[i]) &&
            __builtin_add_overflow(t->recursed, g->edges.a[i].cost, &t->recursed))
            t->recursed = UINT64_MAX;
    vec_release(&x.circles);
    vec_release(&x.reachable);
    free(x.nodes);
    free(x.path);
    free(x.stack);
    free(x.members);
}

void call_tree_release(struct call_tree *t)
{
    free(t->order);
    free(t->flows);
    free(t->paid);
}
