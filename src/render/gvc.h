/* SPDX-License-Identifier: Apache-2.0 */
/* Places and pictures by Graphviz (libgvc). gvc_none.c stands for it where wprof is built without. */
#ifndef WPROF_RENDER_GVC_H
#define WPROF_RENDER_GVC_H

#include "render/picture.h"

struct gvc_job {
    const char *engine; /* "dot"; "sfdp"; "nop": places are taken from the picture */
    const char *format; /* svg, png, pdf, dot; NULL: only the places */
    int boxes;          /* nested; else nodes alone */
    int straight;       /* lines, which are cheap, and not curves around what is in between */
};

enum gvc_end {
    GVC_DONE,
    GVC_TOO_MUCH, /* took too long, or libgvc died of it: something cheaper may do */
    GVC_CANNOT,   /* not in this build or on this machine */
};

/* Sets the places of the picture, and appends it in the format to `out`. `e` says why, where that failed. */
enum gvc_end gvc_run(struct picture *p, const struct gvc_job *job, struct buf *out, struct err *e);

#endif
