/* SPDX-License-Identifier: Apache-2.0 */
/* What the makers of a picture's nodes and of its edges share. */
#ifndef WPROF_RENDER_PICTURE_BUILD_H
#define WPROF_RENDER_PICTURE_BUILD_H

#include "render/crowd.h"
#include "render/picture.h"

struct picture_build {
    struct picture *p;
    const struct graph *g;
    int flat, equals;
    struct graph_order order;
    struct crowd crowd;
    uint32_t *box_of;  /* of a graph's node: the box that is its inside; PICTURE_NONE */
    uint32_t *same;    /* of a graph's node that is shown: for how many of its kind it stands */
    uint32_t *common;  /* ... and how many bytes at the start of their names are the same */
    uint32_t *node_of; /* of a graph's node that is shown: the picture's */
};

/* The picture's edges, of a picture that has its nodes. Gives how many more there are than a picture bears.
 */
size_t picture_build_edges(struct picture_build *b);
/* Takes so many away, those that tell least, and notes it; then writes the labels. */
void picture_finish_edges(struct picture_build *b, size_t too_many);

#endif
