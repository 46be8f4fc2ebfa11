/* SPDX-License-Identifier: Apache-2.0 */
/* What ran on a stream or a device, over one clock, and when nothing did. */
#ifndef WPROF_ANALYZE_GPU_SLOTS_H
#define WPROF_ANALYZE_GPU_SLOTS_H

#include "analyze/gpu_ranges.h"
#include "analyze/gpu_trace.h"

struct gpu_slot {
    uint64_t start, end;
    uint32_t run; /* index into gpu_trace.ran */
};

/* ran[first .. first + n) by start, then end. Owned by the caller. */
struct gpu_slot *gpu_slots(const struct gpu_trace *t, uint32_t first, uint32_t n);

/* Why nothing ran, as Holistic Trace Analysis tells it (its idle time breakdown): host wait where what ran
 * next was asked for after the one before had ended, kernel wait where a gap is as short as it takes to start
 * the next one; it knows no other cause. */
enum gpu_idle { GPU_IDLE_HOST, GPU_IDLE_KERNEL, GPU_IDLE_OTHER, GPU_IDLE_CAUSES };

/* Its consecutive_kernel_delay: 30, and its times are microseconds. */
#define GPU_KERNEL_WAIT_NS 30000

struct gpu_gap {
    uint64_t start, end;
    uint32_t next; /* slot: what ran then */
    enum gpu_idle why;
};

/* The first gap that begins at slot *at or later, of what was seen of it: 1, and *at is where to go on.
 * *busy_to: to begin with 0. */
int gpu_gap_next(const struct gpu_trace *t, const struct gpu_slot *a, uint32_t n, uint32_t *at,
                 uint64_t *busy_to, struct gpu_gap *gap);

#endif
