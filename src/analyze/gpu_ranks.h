/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of a distributed run beside each other. */
#ifndef WPROF_ANALYZE_GPU_RANKS_H
#define WPROF_ANALYZE_GPU_RANKS_H

#include "analyze/gpu_trace.h"
#include "model/table.h"

/*
 * A row for each rank, by its number; none where there is one alone. A collective ends on all ranks at a
 * time (gpu_pairs.h): whose kernel is the shortest came last, the others waited for it, and clocks need not
 * agree for that. Columns: rank, devices, span_ns, busy_ns, busy_share, compute_ns, comm_ns, exposed_ns (each
 * the sum of its devices'), collectives (seen on all ranks), alone (its kernels that are of none of these),
 * last (in how many it came last), last_share, waited_ns (how much longer its kernels were than the
 * shortest). At most `limit` rows (0: all): of more those that came last most often.
 */
void gpu_ranks_table(struct table *t, const struct gpu_trace *x, size_t limit);

#endif
