/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/call_graph.h"

#include "base/mem.h"
#include "exchange/import/call_tree.h"

enum {
    FINEST = 100000, /* what is less than this part of all is not followed further down */
    DEPTH_MAX = 512,
    VISITS_MAX = 1 << 20,
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

/* ---- the costs of stacks ---- */

struct spread {
    const struct call_graph *g;
    struct store *s;
    const struct event *like;
    struct call_stats *stats;
    struct call_tree tree;
    uint64_t *left;    /* by function: of its own cost, what no stack has yet */
    struct map events; /* stack -> index of its sample + 1 */
    double finest;
    uint64_t visits;
};

static void sample(struct spread *w, uint32_t function, uint32_t stack, uint64_t value)
{
    uint64_t *at;

    value = value < w->left[function] ? value : w->left[function];
    if (!value)
        return;
    w->left[function] -= value;
    at = map_put(&w->events, stack);
    if (!*at) {
        *vec_push(&w->s->events) = *w->like;
        *at = w->s->events.n;
        w->s->events.a[*at - 1].stack = stack;
        w->s->events.a[*at - 1].value = 0;
    }
    w->s->events.a[*at - 1].value += value;
}

/* Rounded down; what doubles lack of a whole number is forgiven. */
static uint64_t whole(double x)
{
    return x < 0x1p63 ? (uint64_t)(x + 1e-6) : UINT64_MAX;
}

/* `value` of the function's costs, with its calls, fall to this stack. */
static void visit(struct spread *w, uint32_t parent, uint32_t function, unsigned depth, double value)
{
    const struct call_flow *f = &w->tree.flows[function];
    uint32_t stack;

    if (value < w->finest || depth == DEPTH_MAX || ++w->visits > VISITS_MAX) {
        w->stats->cut += value;
        return;
    }
    stack = stacks_push(&w->s->stacks, parent, w->g->functions.a[function].frame);
    sample(w, function, stack, whole(value * ((double)w->g->functions.a[function].self / f->inclusive)));
    for (uint32_t at = w->g->functions.a[function].first; at; at = w->g->edges.a[at - 1].next)
        if (w->tree.paid[at - 1] > 0)
            visit(w, stack, w->g->edges.a[at - 1].callee, depth + 1,
                  value * (w->tree.paid[at - 1] / f->inclusive));
}

/* What was not followed, and what rounding left, goes where most of the function's costs are: down from who
 * paid most for it, who paid most for that one ... */
static void spread_rest(struct spread *w)
{
    size_t n = w->g->functions.n;
    uint32_t *stacks = mem_calloc(n + 1, sizeof(*stacks)), *depths = mem_calloc(n + 1, sizeof(*depths));

    for (size_t i = 0; i < n; i++) {
        uint32_t function = w->tree.order[i], up = w->tree.flows[function].payer,
                 under = up ? stacks[up - 1] : 0;

        depths[function] = up ? depths[up - 1] + 1 : 1;
        if (depths[function] > DEPTH_MAX) { /* beside its caller, not below */
            depths[function] = DEPTH_MAX;
            under = stacks_get(&w->s->stacks, under)->parent;
        }
        stacks[function] = stacks_push(&w->s->stacks, under, w->g->functions.a[function].frame);
        sample(w, function, stacks[function], w->left[function]);
    }
    free(stacks);
    free(depths);
}

/* -1: beyond 64 bits. */
static int add_up(const struct call_graph *g, uint64_t *own)
{
    int bad = 0;

    for (size_t i = 0; i < g->functions.n; i++)
        bad |= __builtin_add_overflow(*own, g->functions.a[i].self, own);
    return bad ? -1 : 0;
}

int call_graph_samples(const struct call_graph *g, struct store *s, const struct event *like,
                       struct call_stats *stats)
{
    struct spread w = {.g = g, .s = s, .like = like, .stats = stats};
    uint64_t own = 0;

    *stats = (struct call_stats){0};
    if (add_up(g, &own))
        return -1;
    call_tree_make(&w.tree, g);
    stats->recursed = w.tree.recursed;
    w.left = mem_calloc(g->functions.n + 1, sizeof(*w.left));
    for (size_t i = 0; i < g->functions.n; i++)
        w.left[i] = g->functions.a[i].self;
    w.finest = (double)own / FINEST;
    for (size_t i = 0; i < g->functions.n; i++)
        if (w.tree.flows[i].begun > 0)
            visit(&w, 0, (uint32_t)i, 0, w.tree.flows[i].begun);
    spread_rest(&w);
    call_tree_release(&w.tree);
    free(w.left);
    map_release(&w.events);
    return 0;
}
