/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline as a still picture, for print and for those without a script. */
#ifndef WPROF_RENDER_TIMELINE_SVG_H
#define WPROF_RENDER_TIMELINE_SVG_H

#include "base/buf.h"
#include "model/timeline.h"

/* Appends an SVG element: the threads with the most time on a CPU or on the run queue, one lane each, in the
 * order of the timeline. Each slice of a lane has the colour of what most of it was. Nothing where no thread
 * has a lane. */
void timeline_svg(const struct timeline *t, struct buf *out);

#endif
