/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host did while devices were idle. Of each gap of a device the thread is looked at that asked for
 * what ran next: what it did until it asked for it is why the device had nothing to do. Summed over the
 * session, the gaps of a device add up to its idle time, to the nanosecond.
 */
#ifndef WPROF_ANALYZE_GPU_BLAME_H
#define WPROF_ANALYZE_GPU_BLAME_H

#include "analyze/gpu_host.h"
#include "analyze/gpu_slots.h"
#include "model/table.h"

/*
 * The most time first, at most `limit` rows (0: all). Columns: share (of all idle time), ns, gaps (how many),
 * thread, tid, state, where (the innermost Python function that is not the standard library's, else the
 * innermost one; of calls their name), caller (the innermost of the program's own code, where that is another
 * one), by (who ended the wait, or held the GIL), by_where, meanwhile (where that one, or who woke it in
 * turn, was for most of the time), meanwhile_share, stack (all of it, folded).
 *
 * States: "on CPU" (shared out among the samples taken in gaps), "queued", "off CPU: futex", "GIL", "in a
 * call" (where only a trace tells: the innermost operator or call), "unseen"; then "asking" (in the call that
 * asked for what ran next), "starting" (from its end to the start on the device), "asked in time" (before the
 * gap began: the device, or other streams, made it wait), "unknown" (no call was seen).
 */
void gpu_blame_table(struct table *t, const struct gpu_trace *x, size_t limit);

/* The same where threads of several ranks that are each other's counterparts (processes' main threads, others
 * of one name) share the rows that differ in nothing else: thread is "python3 [8 ranks]", "main [8 ranks]"
 * where their names differ, tid 0. */
void gpu_blame_joined_table(struct table *t, const struct gpu_trace *x, size_t limit);

/* The same of one device's gaps of one cause (GPU_IDLE_CAUSES: of any); shares are of those. host: of the
 * trace's store. */
void gpu_blame_device_table(struct table *t, const struct gpu_trace *x, const struct gpu_host *host,
                            const struct gpu_device *d, enum gpu_idle why, size_t limit);

#endif
