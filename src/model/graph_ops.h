/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as sets of nodes and edges. Results are new graphs; the operands stay as they are. */
#ifndef WPROF_MODEL_GRAPH_OPS_H
#define WPROF_MODEL_GRAPH_OPS_H

#include "model/graph.h"

enum graph_merge {
    GRAPH_BESIDE, /* another's view of the same time: counts and weights of edges add up, what is set stays */
    GRAPH_LATER,  /* a later snapshot: its counts, weights and attributes replace, first and last widen */
};

/* Puts all of `from` into `into`. Where ns is not NULL, nodes of the namespace "local" get that one. */
void graph_merge(struct graph *into, const struct graph *from, enum graph_merge how, const char *ns);

/* One node that looks like n, which may be of no graph: its key fields must be set. An edge like e between
 * two nodes of `into`. */
struct graph_node *graph_merge_node(struct graph *into, const struct graph_node *n, enum graph_merge how,
                                    const char *ns);
void graph_merge_edge(struct graph *into, const struct graph_edge *e, struct graph_node *a,
                      struct graph_node *b, enum graph_merge how);

/* What it says of itself: host, time, coverage. */
void graph_copy_about(struct graph *out, const struct graph *g);

/* The same node, or edge, in another graph; NULL: it is not there. By identity, not by what it carries. */
struct graph_node *graph_node_in(const struct graph *g, const struct graph_node *n);
struct graph_edge *graph_edge_in(const struct graph *g, const struct graph_edge *e);

int graph_subset(const struct graph *a, const struct graph *b); /* a <= b */
int graph_equal(const struct graph *a, const struct graph *b);

/* Into an initialised, empty graph. */
void graph_union(struct graph *out, const struct graph *a, const struct graph *b);
/* Edges of a that are not in b, nodes of a that are not in b, and what those edges need as ends. */
void graph_difference(struct graph *out, const struct graph *a, const struct graph *b);

/* What `keep` wants, and the edges between two such; keep is asked for each node. */
typedef int graph_keep(void *arg, const struct graph_node *n);
void graph_filter(struct graph *out, const struct graph *g, graph_keep *keep, void *arg);

/* All nodes but those whose `nodes` is 0, and edges but those whose `edges` is 0; by index. */
void graph_chosen(struct graph *out, const struct graph *g, const uint8_t *nodes, const uint8_t *edges);

/* Nodes whose id or label fits the pattern (fnmatch; without * ? [ it is a part of it). Returns how many. */
size_t graph_match(struct graph *out, const struct graph *g, const char *pattern);

/* Nodes that at most `hops` edges, in any direction, part from one of the seeds. Nobody goes on from what
 * everything hangs on (hosts, NUMA nodes, other hardware), nor from the parent or container of something:
 * siblings are no neighbours. */
struct graph_nodes {
    VEC(const struct graph_node *) list;
};
void graph_around(struct graph *out, const struct graph *g, const struct graph_nodes *seeds, unsigned hops);

/* The node of that id; or the only one whose id, label, name or pid it is. NULL with `e`, which names near
 * ones. */
const struct graph_node *graph_named_node(const struct graph *g, const char *id, struct err *e);

/*
 * By kind, then id; edges by kind, then their ends: two runs compare. Which end of an edge without direction
 * is its a depends on what was found first: where it is `swapped`, b (and bytes_ba ...) is to be shown as a.
 */
struct graph_order {
    VEC(const struct graph_node *) nodes;
    VEC(const struct graph_edge *) edges;
    VEC(char *) ids;     /* of graph.nodes[i] at i */
    VEC(uint32_t) ranks; /* their places in `nodes` */
};
void graph_order_init(struct graph_order *o, const struct graph *g);
void graph_order_release(struct graph_order *o);
int graph_order_swapped(const struct graph_order *o, const struct graph_edge *e);
static inline const char *graph_order_id(const struct graph_order *o, const struct graph_node *n)
{
    return o->ids.a[n->index];
}

#endif
