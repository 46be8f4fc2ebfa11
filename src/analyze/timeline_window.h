/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a session that its timeline.json is made of. */
#ifndef WPROF_ANALYZE_TIMELINE_WINDOW_H
#define WPROF_ANALYZE_TIMELINE_WINDOW_H

#include "model/session.h"

struct timeline_window {
    struct session view; /* its events are its own, everything else is borrowed from the store and meta */
    size_t all;          /* events of GPUs and marks that there are; view has these, or fewer */
    uint64_t from, to;   /* what of the recording it has, ns since its start */
};

/* Takes events of GPUs and marks; of more than `most` (0: all) those in the middle of the recording. Gives
 * whether anything ran on a GPU; release in any case. */
int timeline_window_init(struct timeline_window *w, const struct store *s, const struct meta *m, size_t most);
void timeline_window_release(struct timeline_window *w);

#endif
