/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that draw a topology share. */
#ifndef WPROF_CMD_TOPOLOGY_H
#define WPROF_CMD_TOPOLOGY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "model/graph.h"

#define PICTURE_FORMATS_BUT_TEXT "svg|png|pdf|dot|drawio|gexf|mermaid"

/* Three options, of fields of these names: layout, gexf, max_nodes. */
#define OPT_PICTURE(type)                                                                                    \
    OPT_CHOICE(0, "layout", type, layout, "NAME", "default", "default|constraint|gephi",                     \
               "where a topology's nodes go: in boxes, in columns, by forces"),                              \
        OPT_CHOICE(0, "gexf", type, gexf, "VERSION", "1.3", "1.3|1.2", "of --format gexf"),                  \
        OPT_UINT(0, "max-nodes", type, max_nodes, "N", "100", NULL,                                          \
                 "fold a topology until at most N nodes are left; 0: never")

struct topology_opts {
    const char *format, *layout, *gexf;
    const char *title; /* NULL: by the graph */
    size_t max_nodes;
};

/* Appends the topology in that format; says what was folded. -1 with `e`. */
int topology_product(const struct graph *g, const struct topology_opts *o, struct buf *out, struct err *e);
const char *topology_suffix(const char *format);

#endif
