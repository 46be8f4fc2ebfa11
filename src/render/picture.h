/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topology made ready for drawing: boxes in boxes (host, container, process), nodes in them, edges between.
 * Where the graph has more than a picture can show, groups are folded into one node ("bash x12"), and `notes`
 * tell what was. picture_layout() gives everything its place; the renderers write it down.
 */
#ifndef WPROF_RENDER_PICTURE_H
#define WPROF_RENDER_PICTURE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "model/graph.h"
#include "model/graph_ops.h"

#define PICTURE_NONE UINT32_MAX

/* Lengths are points (1/72 inch), the origin is the upper left corner. */
struct picture_area {
    double x, y, w, h; /* of nodes: x, y is the middle; of boxes: the corner */
};

struct picture_box {
    char *label; /* "" for a process: it has a node of its own inside */
    enum graph_kind kind;
    const struct graph_node *of; /* what it is the inside of; NULL: a machine that is no node */
    uint32_t parent;             /* a box before this one; PICTURE_NONE: none */
    struct picture_area at;
};

struct picture_node {
    const struct graph_node *of; /* the first of those it stands for */
    char *id;                    /* its id */
    char *label;                 /* lines, a newline between */
    uint32_t count;              /* how many it stands for */
    uint32_t box;                /* PICTURE_NONE: in none */
    uint64_t first_ns, last_ns;
    struct picture_area at; /* w and h are set from the start */
};

enum { PICTURE_EDGE_OF = 8 };

struct picture_edge {
    const struct graph_edge *of[PICTURE_EDGE_OF]; /* the first of those it stands for */
    enum graph_relation kind;
    uint32_t a, b; /* nodes */
    int both;      /* goes both ways, or has no direction */
    uint32_t count;
    uint64_t bytes_ab, bytes_ba, messages_ab, messages_ba;
    uint64_t first_ns, last_ns;
    double weight; /* NAN: none */
    uint64_t waited_a_ns,
        waited_b_ns; /* how long its a, its b waited for the other end, where that is known */
    char *label;     /* bytes; "" where none are known */
};

struct picture {
    char *title;
    VEC(struct picture_box) boxes;
    VEC(struct picture_node) nodes;
    VEC(struct picture_edge) edges;
    VEC(char *) notes;         /* what was folded, left out, laid out otherwise */
    size_t of_nodes, of_edges; /* of the graph */
    uint32_t *shown_by; /* of the graph's node of that index: the node that stands for it; PICTURE_NONE: a box
                           does */
    double width, height;
    int placed, with_boxes; /* whether `at` of nodes, of boxes is set */
};

struct picture_opts {
    const char *title;
    int flat;         /* no boxes are drawn: what is in what becomes edges */
    int equals;       /* fold what crowd_fold_equals() does in any case */
    size_t max_nodes; /* folds until at most so many are left, as far as that goes; 0: does not fold */
};

/* The most edges for each node: of more than that, which would be a tangle, half as many are left. */
enum { PICTURE_EDGES_A_NODE = 3 };

/* The graph must outlive it. */
void picture_init(struct picture *p, const struct graph *g, const struct picture_opts *opts);
void picture_release(struct picture *p);
void picture_note(struct picture *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- places ---- */

enum picture_layout { PICTURE_NESTED, PICTURE_CONSTRAINT, PICTURE_FORCE }; /* only the first has boxes */

/* "default", "constraint", "gephi"; -1: none of them */
int picture_layout_find(const char *name);

/* Hardware left, processes by rank and pid below each other, channels right: no overlaps, and no libgvc. */
void picture_columns(struct picture *p);

/*
 * Places everything, and with `format` (svg, png, pdf, dot) appends the picture in it to `out`. Whatever
 * takes too long, or dies in libgvc, is done again in a cheaper way, and a note says so. -1 with `e`: without
 * libgvc, or it does not have that format here.
 */
int picture_draw(struct picture *p, enum picture_layout how, const char *format, struct buf *out,
                 struct err *e);

/* ---- parts that renderers share ---- */

const char *picture_color(const struct picture_node *n);
/* What an edge tells in a tooltip: "tcp: 12 KiB, 3 messages ->; ..." Appended. */
void picture_edge_text(const struct picture_edge *e, struct buf *out);
/* Whether the picture has nodes of that kind, edges of that relation. */
int picture_has_kind(const struct picture *p, enum graph_kind k);
int picture_has_relation(const struct picture *p, enum graph_relation r);

#endif
