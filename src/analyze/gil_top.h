/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread and the GIL. */
#ifndef WPROF_ANALYZE_GIL_TOP_H
#define WPROF_ANALYZE_GIL_TOP_H

#include "model/session.h"
#include "model/table.h"

/*
 * A row for each thread that waited for the GIL or was seen holding it, the longest wait first; at most
 * `limit` (0: all). Columns: thread, tid, waited (ns), waited_share (of the recording's time), times,
 * held_share (the same, as far as samples and stacks of what is off the CPU tell), others_ns (waits of others
 * that had to do with this one most), holder, holder_tid (who
 * had it for most of the waits' time), holder_share (for how much of it).
 */
void gil_top(struct table *t, const struct session *s, size_t limit);

#endif
