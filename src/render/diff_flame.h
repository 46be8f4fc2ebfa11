/* SPDX-License-Identifier: Apache-2.0 */
/* The differential flame graph: widths of one side, colours of what changed, the root on top. */
#ifndef WPROF_RENDER_DIFF_FLAME_H
#define WPROF_RENDER_DIFF_FLAME_H

#include "base/buf.h"
#include "model/comparison.h"

#define DIFF_FLAME_WIDTH  1200.0
#define DIFF_FLAME_MARGIN 12.0

/* Style rules of the boxes, without the element around them. */
void diff_flame_style(struct buf *out);

/* One graph as SVG elements from `top` on, with a heading that says which side its widths are of; gives the
 * height. */
double diff_flame_panel(const struct comparison *c, int side, double top, struct buf *out);

/* What the colours mean: SVG elements in two lines, the base line of the first at y. */
void diff_flame_legend(double y, struct buf *out);

#endif
