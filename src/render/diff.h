/* SPDX-License-Identifier: Apache-2.0 */
/* Renderers of comparisons: one file, one line DIFF_RENDERER(name) in diff.def. */
#ifndef WPROF_RENDER_DIFF_H
#define WPROF_RENDER_DIFF_H

#include "base/buf.h"
#include "base/err.h"
#include "model/comparison.h"
#include "render/text.h"

struct diff_style {
    struct text_style text;
    enum comparison_level by;
    size_t top;                             /* rows of a table at most; 0: all */
    int two_column;                         /* folded: the difference alone */
    const struct profile_folded_sink *sink; /* for text of gigabytes, what is not in `out`; may be NULL */
};

struct diff_renderer {
    const char *name; /* "text" */
    const char *summary;
    int wants_tree; /* the comparison's tree is filled in */
    int tree_alone; /* and shows nothing else of it */
    int self_alone; /* and needs no totals of the tree, nor children in the order of nodes */
    /* Appends the whole product to `out`. 0, or -1 with `e`. */
    int (*render)(const struct comparison *c, const struct diff_style *style, struct buf *out, struct err *e);
};

#define DIFF_RENDERER(name) extern const struct diff_renderer diff_##name;
#include "render/diff.def"
#undef DIFF_RENDERER

extern const struct diff_renderer *const diff_renderers[];
extern const size_t ndiff_renderers;

const struct diff_renderer *diff_renderer_find(const char *name); /* NULL: none of that name */

#endif
