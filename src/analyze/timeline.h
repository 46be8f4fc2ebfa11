/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the timeline view from a session's events. */
#ifndef WPROF_ANALYZE_TIMELINE_H
#define WPROF_ANALYZE_TIMELINE_H

#include "analyze/cut.h"
#include "model/session.h"
#include "model/timeline.h"

/* How much to keep; 0: all. What is left out is counted in the timeline. */
struct timeline_opts {
    size_t max_spans;  /* then the shortest are merged with their neighbours until about this many stay */
    size_t max_ticks;  /* the same for samples ... */
    size_t max_points; /* ... and metrics */
    size_t max_nodes;  /* of stacks */
    size_t max_lanes;  /* of threads: those with the most events stay */
    int lines, inlines, kernel_suffix; /* as in fold.h */
    const struct cut *cut;             /* what cut_apply() left of the session; NULL: all of it */
};

/* Whether any event has a time, so that there is something to see: imported stacks have none. */
int timeline_has(const struct session *s);

/* `t` is initialised; release with timeline_release(). A session without times gives no lanes. */
void timeline_build(struct timeline *t, const struct session *s, const struct timeline_opts *o);

#endif
