/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of devices and of their streams. */
#ifndef WPROF_ANALYZE_GPU_BUSY_H
#define WPROF_ANALYZE_GPU_BUSY_H

#include "analyze/gpu_trace.h"
#include "model/table.h"

/*
 * A row for each device. Columns: id (null: not told), rank (null: there are none), device (both in words),
 * span_ns, busy_ns, idle_ns, unseen_ns, busy_share (of what was seen), compute_ns, comm_ns, overlap_ns,
 * exposed_ns, copy_ns, copy_overlap_ns, idle_host_ns, idle_kernel_ns, idle_other_ns, gaps, longest_gap_ns,
 * kernels, copies, sets, graphs, launched, latency_median_ns, latency_p95_ns, latency_max_ns, before_ns,
 * after_ns (of the recording): gpu_figures.h says what each is. idle: those titled are why nothing ran, else
 * with what it was busy. At most `limit` rows (0: all).
 */
void gpu_devices_table(struct table *t, const struct gpu_trace *x, int idle, size_t limit);

/* The same of a device's streams, of all devices' for UINT32_MAX. Columns: device, pid (null: not known),
 * context, stream, then those of the devices, queue_max, queue_mean. At most `limit` rows (0: all): of more
 * the busiest, the busiest first. */
void gpu_streams_table(struct table *t, const struct gpu_trace *x, uint32_t device, size_t limit);

#endif
