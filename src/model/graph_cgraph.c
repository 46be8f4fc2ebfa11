/* SPDX-License-Identifier: Apache-2.0 */
/* A graph's parts are records bound to libcgraph's nodes, edges and subgraphs: one graph in memory. */
#include "model/graph_store.h"

#include <graphviz/cgraph.h>
#include <string.h>

static char record_name[] = "wprof";

struct node_record {
    Agrec_t header;
    struct graph_node node;
};

struct edge_record {
    Agrec_t header;
    struct graph_edge edge;
};

struct group_record {
    Agrec_t header;
    struct graph_group group;
};

struct graph_store {
    Agraph_t *g;
};

struct graph_store *graph_store_new(void)
{
    struct graph_store *s = mem_calloc(1, sizeof(*s));

    s->g = agopen(record_name, Agdirected, NULL);
    return s;
}

void graph_store_free(struct graph_store *s)
{
    if (!s)
        return;
    agclose(s->g);
    free(s);
}

struct graph_node *graph_store_node(struct graph_store *s, const char *name)
{
    Agnode_t *n = agnode(s->g, (char *)name, 1);
    struct node_record *r = agbindrec(n, record_name, sizeof(*r), 0);

    r->node.handle = n;
    return &r->node;
}

struct graph_edge *graph_store_edge(struct graph_store *s, const struct graph_node *a,
                                    const struct graph_node *b)
{
    Agedge_t *e = agedge(s->g, a->handle, b->handle, NULL, 1);
    struct edge_record *r = agbindrec(e, record_name, sizeof(*r), 0);

    r->edge.handle = e;
    return &r->edge;
}

struct graph_group *graph_store_group(struct graph_store *s, const struct graph_group *parent,
                                      const char *name)
{
    Agraph_t *g = agsubg(parent ? parent->handle : s->g, (char *)name, 1);
    struct group_record *r = agbindrec(g, record_name, sizeof(*r), 0);

    r->group.handle = g;
    return &r->group;
}

void graph_store_put(const struct graph_group *group, const struct graph_node *n)
{
    agsubnode(group->handle, n->handle, 1);
}
