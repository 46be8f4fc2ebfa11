/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a device's time was not seen: while another profiler had the records (GPU_TAKEN_MARK) it is neither
 * busy nor idle, from the end of the last that was seen before.
 */
#ifndef WPROF_ANALYZE_GPU_UNSEEN_H
#define WPROF_ANALYZE_GPU_UNSEEN_H

#include "analyze/gpu_trace.h"

void gpu_unseen_init(struct gpu_trace *t); /* fills `unseen` of its devices */

/* When a device that ran nothing in [from, to) was seen again: from, where it was all the time. */
uint64_t gpu_unseen_until(const struct gpu_device *d, uint64_t from, uint64_t to);

/* Records that were lost, for want of buffers or with impossible times: what they told of counts as idle. */
uint64_t gpu_unseen_lost(const struct store *s);

#endif
