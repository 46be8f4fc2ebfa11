/* SPDX-License-Identifier: Apache-2.0 */
/* A graph's nodes and edges in an order that does not depend on how they were found. */
#include "model/graph_ops.h"

#include <stdlib.h>
#include <string.h>

static int node_cmp(const void *a, const void *b, void *ids)
{
    const struct graph_node *x = *(const struct graph_node *const *)a;
    const struct graph_node *y = *(const struct graph_node *const *)b;
    char *const *id = ids;
    int c;

    /* strverscmp: pid=9 before pid=10 */
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    c = strverscmp(id[x->index], id[y->index]);
    return c ? c : strcmp(x->instance, y->instance);
}

int graph_order_swapped(const struct graph_order *o, const struct graph_edge *e)
{
    return !graph_relation(e->kind)->directed && o->ranks.a[e->a->index] > o->ranks.a[e->b->index];
}

static uint64_t ends(const struct graph_order *o, const struct graph_edge *e)
{
    uint64_t a = o->ranks.a[e->a->index], b = o->ranks.a[e->b->index];

    return graph_order_swapped(o, e) ? b << 32 | a : a << 32 | b;
}

static int edge_cmp(const void *a, const void *b, void *order)
{
    const struct graph_edge *x = *(const struct graph_edge *const *)a;
    const struct graph_edge *y = *(const struct graph_edge *const *)b;
    uint64_t ex = ends(order, x), ey = ends(order, y);

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return ex < ey ? -1 : ex > ey;
}

void graph_order_init(struct graph_order *o, const struct graph *g)
{
    *o = (struct graph_order){0};
    vec_reserve(&o->ranks, g->nodes.n);
    for (size_t i = 0; i < g->nodes.n; i++) {
        struct buf id = {0};

        graph_node_id(g->nodes.a[i], &id);
        *vec_push(&o->ids) = buf_detach(&id);
        *vec_push(&o->nodes) = g->nodes.a[i];
    }
    if (o->nodes.n)
        qsort_r(o->nodes.a, o->nodes.n, sizeof(*o->nodes.a), node_cmp, o->ids.a);
    for (size_t i = 0; i < o->nodes.n; i++)
        o->ranks.a[o->nodes.a[i]->index] = (uint32_t)i;
    o->ranks.n = o->nodes.n;
    for (size_t i = 0; i < g->edges.n; i++)
        *vec_push(&o->edges) = g->edges.a[i];
    if (o->edges.n)
        qsort_r(o->edges.a, o->edges.n, sizeof(*o->edges.a), edge_cmp, o);
}

void graph_order_release(struct graph_order *o)
{
    for (size_t i = 0; i < o->ids.n; i++)
        free(o->ids.a[i]);
    vec_release(&o->ids);
    vec_release(&o->ranks);
    vec_release(&o->nodes);
    vec_release(&o->edges);
}
