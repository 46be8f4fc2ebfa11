/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways of edges between nodes that have their places: arcs from border to border, those between the same two
 * nodes side by side, around what lies in between; and where on them labels cover least. The page's edges go
 * the same ways (templates/topology-route.js).
 */
#ifndef WPROF_RENDER_PICTURE_ROUTE_H
#define WPROF_RENDER_PICTURE_ROUTE_H

#include "render/picture.h"

/* A quadratic curve: from, by, to. */
struct picture_arc {
    double x0, y0, x1, y1, x2, y2;
};

struct picture_point {
    double x, y;
};

struct picture_point picture_arc_point(const struct picture_arc *arc, double t); /* t: 0 to 1 */

/* at: of p's nodes, in points of any origin; arcs: of p's edges. Owned by the caller. */
struct picture_arc *picture_route(const struct picture *p, const struct picture_area *at);

/* What is where already. */
struct picture_labels {
    const struct picture_area *nodes;
    size_t nnodes;
    VEC(struct picture_area) taken; /* by labels; x, y is the middle */
};

/* Puts a label of that size on the arc, where it covers least; gives where along it the label's middle is, 0
 * to 1. */
double picture_labels_put(struct picture_labels *l, const struct picture_arc *arc, double w, double h);
void picture_labels_release(struct picture_labels *l);

#endif
