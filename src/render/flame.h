/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a flame graph, shared by all pictures of one: which frames are kept, in what order, how wide.
 * Children stand in the order of their names. What is cut for being too small to see isn't lost: each parent
 * gets one box that holds the weight of its cut children, and the sums are kept.
 */
#ifndef WPROF_RENDER_FLAME_H
#define WPROF_RENDER_FLAME_H

#include "base/vec.h"
#include "model/profile.h"

#include <stdint.h>

struct flame_box {
    uint32_t node;         /* in profile.nodes; of a pruned box: the parent whose children were cut */
    uint32_t depth;        /* 0: the root */
    uint64_t start, total; /* in the metric's unit, from the left end */
    uint64_t self;         /* of a pruned box: all of it */
    uint8_t pruned;
};

struct flame {
    VEC(struct flame_box) boxes; /* preorder: a box stands before its children, siblings left to right */
    uint32_t depth;              /* of the deepest box */
    uint64_t sum;                /* the root's total */
    uint16_t last_row;           /* the deepest that min_row left; UINT16_MAX: it cut none */
    uint64_t pruned_nodes;       /* nodes with weight that have no box */
    uint64_t pruned_weight;      /* sum of the pruned boxes */
    uint64_t min_total;          /* nodes lighter than this were cut; 0: none */
};

struct flame_limits {
    uint64_t min_total; /* cut what is lighter, 0: nothing */
    uint64_t min_row;   /* and rows that together are lighter than this: thin towers, 0: none */
    size_t max_boxes; /* then the lightest, of equals the deepest, until about this many stay; 0: no limit */
};

/* What the widths are made of: one value per node. Borrowed. */
struct flame_weights {
    const uint64_t *self, *total;
};

/* `f` is zeroed by the caller and released by flame_release(). Frames without weight have no box; without
 * weights (NULL) or nodes there is the root's box alone, of width 0. */
void flame_layout(struct flame *f, const struct profile *p, const struct flame_weights *w,
                  const struct flame_limits *lim);

/* The weights of one metric; NULLs where the profile has no such metric. */
struct flame_weights flame_metric(const struct profile *p, size_t metric);
void flame_release(struct flame *f);

#endif
