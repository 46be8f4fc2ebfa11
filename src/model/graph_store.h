/* SPDX-License-Identifier: Apache-2.0 */
/* Where a graph's nodes, edges and groups lie: in libcgraph's graph (graph_cgraph.c), or without it in plain
 * memory (graph_cgraph_none.c). For graph.c alone. */
#ifndef WPROF_MODEL_GRAPH_STORE_H
#define WPROF_MODEL_GRAPH_STORE_H

#include "model/graph.h"

struct graph_store *graph_store_new(void);
void graph_store_free(struct graph_store *s);

/* Zeroed, with their handles; they live as long as the store. Names are unique among their kind; an edge's
 * ends and a group's parent are set by the caller. */
struct graph_node *graph_store_node(struct graph_store *s, const char *name);
struct graph_edge *graph_store_edge(struct graph_store *s, const struct graph_node *a,
                                    const struct graph_node *b);
struct graph_group *graph_store_group(struct graph_store *s, const struct graph_group *parent,
                                      const char *name);
void graph_store_put(const struct graph_group *group, const struct graph_node *n);

#endif
