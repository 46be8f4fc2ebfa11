/* SPDX-License-Identifier: Apache-2.0 */
/* A format that a topology is written in: one line FORMAT(name) in picture_formats.def, one ops struct. */
#ifndef WPROF_RENDER_PICTURE_FORMAT_H
#define WPROF_RENDER_PICTURE_FORMAT_H

#include "render/picture.h"

struct picture_format {
    const char *name;   /* "svg" */
    const char *suffix; /* ".svg" */
    int is_text;        /* for a terminal */
    int has_places;     /* --layout means something */
    int flat;           /* has no boxes: what is in what is edges, whatever the layout */
    int whole;          /* of the graph itself: nothing is folded */
    const char *by;     /* libgvc writes it, by that name; NULL: write() does */
    /* Appends the whole product. Places are set where has_places is. */
    void (*write)(const struct picture *p, const struct graph *g, struct buf *out);
};

extern const struct picture_format *const picture_formats[];
extern const size_t npicture_formats;
const struct picture_format *picture_format_find(const char *name); /* NULL: none */

struct picture_wanted {
    const char *format, *layout, *title; /* layout NULL: "default" */
    size_t max_nodes;
};

/* Appends the product; what is to be said of it (what was folded ...) goes to `notes`, a line each. -1 with
 * `e`. */
int picture_produce(const struct graph *g, const struct picture_wanted *w, struct buf *out, struct buf *notes,
                    struct err *e);

#endif
