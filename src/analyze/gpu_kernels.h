/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of what ran on devices, by name. */
#ifndef WPROF_ANALYZE_GPU_KERNELS_H
#define WPROF_ANALYZE_GPU_KERNELS_H

#include "analyze/gpu_trace.h"
#include "model/table.h"

/*
 * A device's kernels and whole graphs (UINT32_MAX: of all), the most time first, at most `limit` (0: all).
 * Columns: name, count, total_ns, share (of all in the table), self_ns (while nothing else ran on the
 * device), mean_ns, max_ns, sm_util (the occupancy that the trace tells, by time; null: it tells none).
 */
void gpu_kernels_table(struct table *t, const struct gpu_trace *x, uint32_t device, size_t limit);

/* Copies and sets by their ends. Columns: what ("copy pageable -> device", "set device", "copy device ->
 * another device"), count, bytes (this and what is made of it null: not told), ns, bytes_per_s (null: of no
 * length), mean_bytes, small (of less than 1 KiB), rate ("12.3 GB/s": of 10^9 bytes). */
void gpu_copies_table(struct table *t, const struct gpu_trace *x, uint32_t device);

/* Nodes of graphs. Columns: graph, node, name, count, total_ns, where (the function that asked for it). */
void gpu_nodes_table(struct table *t, const struct gpu_trace *x, size_t limit);

#endif
