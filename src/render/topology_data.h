/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topology inside the HTML page: JSON, read by templates/topology-data.js. What there are many of is an
 * array of arrays, to be short:
 *
 *     boxes  [label, kind, box around it, x, y, width, height]
 *     nodes  [label, id, kind, count, box, x, y, width, height, first, last, source, times, attributes,
 * members, left out] edges  [kind, a, b, goes both ways, count, bytes a to b, bytes b to a, messages a to b,
 * messages b to a, first, last, weight or null, ns that a waited for b, ns that b waited for a, label,
 * attributes]
 *
 * `unseen` has a line for each source that failed or was denied something. `kinds` and `relations` are those
 * in use; a kind is an index into them. Places are points, those of nodes their middles; without boxes around
 * the nodes, no box has a place. first and last are ns after `from_ms`, 0: not known. times has ns for each
 * of `times`, of all processes that the node stands for, 0 where none of them was recorded. attributes is
 * [index into names, value, ...]; members, of a node that stands for several, [label, pid or 0, ...] and how
 * many were left out.
 */
#ifndef WPROF_RENDER_TOPOLOGY_DATA_H
#define WPROF_RENDER_TOPOLOGY_DATA_H

#include "base/buf.h"
#include "model/graph.h"

struct topology_data_opts {
    const char *title;  /* NULL: none */
    const char *layout; /* "default" ...; NULL: that */
    size_t max_nodes;   /* see picture.h; 0, and more than a page holds: as many as it holds */
};

/* Appends the JSON: folded and laid out. */
void topology_data_encode(const struct graph *g, const struct topology_data_opts *o, struct buf *out);

/* Declarations "--node-process:#abc;...--edge-tcp:#def;..." for one theme, to stand inside a rule. */
void topology_data_css(struct buf *out, int dark);

#endif
