/* SPDX-License-Identifier: Apache-2.0 */
#include "render/crowd_worth.h"

static uint64_t time_of(const struct graph_node *n)
{
    return (uint64_t)(graph_attr_int(&n->attrs, "cpu_ns", 0) + graph_attr_int(&n->attrs, "gpu_ns", 0));
}

static void add_edge(struct crowd_worth *w, const struct graph_edge *e)
{
    w->bytes += e->bytes_ab + e->bytes_ba;
    w->edges++;
}

struct crowd_worth *crowd_worths(const struct crowd *c)
{
    struct crowd_worth *all = mem_calloc(c->g->nodes.n + 1, sizeof(*all));

    for (size_t i = 0; i < c->g->nodes.n; i++) {
        const struct graph_node *n = c->g->nodes.a[i];

        all[c->rep[i]].does |=
            n->kind == GRAPH_PROCESS || graph_kind(n->kind)->class == GRAPH_CLASS_ACCELERATOR;
        all[c->rep[i]].time_ns += time_of(n);
    }
    for (size_t i = 0; i < c->g->edges.n; i++) {
        const struct graph_edge *e = c->g->edges.a[i];
        uint32_t a = c->rep[e->a->index], b = c->rep[e->b->index];

        if (a == b || crowd_is_nesting(c, e))
            continue;
        add_edge(&all[a], e);
        add_edge(&all[b], e);
    }
    return all;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int crowd_worth_cmp(const struct crowd_worth *a, const struct crowd_worth *b)
{
    int c = a->does - b->does;

    if (!c)
        c = compare(a->time_ns, b->time_ns);
    if (!c)
        c = compare(a->bytes, b->bytes);
    return c ? c : compare(a->edges, b->edges);
}
