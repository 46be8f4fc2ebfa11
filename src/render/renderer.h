/* SPDX-License-Identifier: Apache-2.0 */
/* A renderer: one file, one line RENDERER(name) in renderers.def. It sees views, never a store. */
#ifndef WPROF_RENDER_RENDERER_H
#define WPROF_RENDER_RENDERER_H

#include "base/buf.h"
#include "base/err.h"
#include "model/graph.h"
#include "model/profile.h"
#include "model/quality.h"
#include "model/session.h"
#include "model/timeline.h"

struct render_input {
    const struct profile *profile;
    const struct meta *meta;         /* never NULL */
    const struct quality *quality;   /* never NULL */
    const char *view;                /* "cpu" ... */
    const char *title;               /* NULL: from meta */
    int task_ids;                    /* process and thread frames are "name (id)" */
    int apart;                       /* what has one name but several ids is to be shown apart */
    const struct timeline *timeline; /* NULL where there is none, or the renderer does not want it */
    const char *report;              /* of a page: HTML to stand above its panes; NULL: none */
    size_t max_bytes;                /* about how large it may become; 0: the renderer's own limit */
    double min_row; /* of a still flame graph: rows with less of the whole are cut; 0: its own */
    const struct graph *topology; /* the same */
    const char *layout;           /* of the topology: "default" ...; NULL: that */
    size_t max_nodes;             /* of the topology, see picture.h */
};

struct renderer_ops {
    const char *name;   /* "html" */
    const char *suffix; /* ".html" */
    const char *summary;
    int wants_task_ids; /* it can join processes of one name itself: give it the profile with their ids */
    int wants_timeline, wants_topology;
    int wants_metrics; /* it lets its reader choose: give it a profile with all metrics, the view's first */
    /* Appends the whole product to `out`. 0, or -1 with `e`. */
    int (*render)(const struct render_input *in, struct buf *out, struct err *e);
};

extern const struct renderer_ops *const renderers[];
extern const size_t nrenderers;
const struct renderer_ops *renderer_find(const char *name); /* NULL: none */

#endif
