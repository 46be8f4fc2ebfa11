/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a graph a picture shows, which of them stand for others, and what is drawn within what. */
#ifndef WPROF_RENDER_CROWD_H
#define WPROF_RENDER_CROWD_H

#include "base/buf.h"
#include "model/graph_ops.h"

#define CROWD_NONE UINT32_MAX

enum crowd_step {
    CROWD_EQUAL,   /* of one name, with the same neighbours */
    CROWD_THREADS, /* into their process */
    CROWD_NAMES,   /* of one name in one place; digits in it don't count */
    CROWD_PLACES,  /* containers and the like in one place */
    CROWD_KINDS,   /* of one kind in one place */
    CROWD_ALL,     /* of one kind */
    CROWD_STEPS
};

/* Indices are those of graph.nodes. */
struct crowd {
    const struct graph *g;
    const struct graph_order *order;
    uint32_t *rep;    /* who stands for a node; itself, where it is shown */
    uint32_t *parent; /* the container, host or process it is in; CROWD_NONE: in none */
    size_t shown;
    size_t folded[CROWD_STEPS]; /* nodes that are no longer shown for that */
};

/* Folds, the least telling first, until at most max nodes are shown, as far as that goes; 0: not at all. */
void crowd_init(struct crowd *c, const struct graph *g, const struct graph_order *o, size_t max);
/* Then also what is no process, where more than two have one name and the same neighbours. */
void crowd_fold_equals(struct crowd *c);
void crowd_release(struct crowd *c);

/* Whether the edge says no more than that one of its ends is in the other. */
int crowd_is_nesting(const struct crowd *c, const struct graph_edge *e);

/* What a node is called among others of its kind: "bash", "127.0.0.1", "Pipe". Appended. */
void crowd_name(const struct graph_node *n, struct buf *out);

#endif
