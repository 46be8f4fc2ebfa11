/* SPDX-License-Identifier: Apache-2.0 */
/* Colours and names of the frame kinds: the one table that the SVG, the page's style sheet and its scripts
 * share. */
#ifndef WPROF_RENDER_PALETTE_H
#define WPROF_RENDER_PALETTE_H

#include "base/buf.h"
#include "model/frames.h"

#define PALETTE_KINDS  FRAME_KINDS
#define PALETTE_SHADES 3 /* neighbours differ, and a function keeps its shade */

struct palette_kind {
    const char *id;    /* "kernel": in CSS classes and variables */
    const char *label; /* "kernel": in legends */
    const char *light[PALETTE_SHADES], *dark[PALETTE_SHADES];
};

/* kind is an enum frame_kind; one beyond the table is shown as a marker. */
const struct palette_kind *palette_kind(unsigned kind);

/* Which shade a function has: 0..PALETTE_SHADES-1, by its name alone. */
unsigned palette_shade(const char *func);

/* Declarations "--kernel-0:#abc;..." for one theme, to stand inside a rule. */
void palette_css(struct buf *out, int dark);

#endif
