/* SPDX-License-Identifier: Apache-2.0 */
/* topology.json, and the same on one line (topology.ndjson). The format: wprof-topology(5), and
 * templates/topology.schema.json. */
#ifndef WPROF_MODEL_GRAPH_JSON_H
#define WPROF_MODEL_GRAPH_JSON_H

#include "model/graph.h"

/* Sorted: equal graphs give equal text. indent 0: one line. No newline at the end. */
void graph_json_write(const struct graph *g, int indent, struct buf *out);

/* Into an initialised graph, merged beside what it has. Unknown kinds become GRAPH_OTHER, GRAPH_EDGE_OTHER.
 * -1 with `e` where it is not a topology, or one of a newer version, or has an edge to a node that is not
 * there. */
int graph_json_read(struct graph *g, const char *text, size_t n, struct err *e);

/* Looks one after the other, each an object on a line (topology.ndjson), as one graph: later ones replace
 * what earlier ones say. A last line that is not whole was being written, and is left out. -1 with `e` where
 * another is none, or there is none. */
int graph_json_read_lines(struct graph *g, const char *text, size_t n, struct err *e);
int graph_json_is_lines(const char *text, size_t n); /* rather than one object */

struct json_value;
struct json_writer;
/* An object of them, sorted by name. */
void graph_attrs_json(struct json_writer *w, const char *key, const struct graph_attrs *attrs);
/* An attribute of any type that JSON has. */
void graph_attr_from_json(struct graph *g, struct graph_attrs *to, const char *name,
                          const struct json_value *v);

/* The JSON schema of it. */
const char *graph_json_schema(size_t *len);

/* ---- between a source in a process of its own and topo.c: not for files ---- */

void graph_pack(const struct graph *g, struct buf *out);
int graph_unpack(struct graph *g, const void *p, size_t n, struct err *e);

#endif
