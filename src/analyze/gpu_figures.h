/* SPDX-License-Identifier: Apache-2.0 */
/* How busy a device or a stream was, with what, and why it was idle. */
#ifndef WPROF_ANALYZE_GPU_FIGURES_H
#define WPROF_ANALYZE_GPU_FIGURES_H

#include "analyze/gpu_slots.h"

/*
 * Times in ns, unions each: what runs at a time counts once. The definitions are Holistic Trace Analysis':
 * the span is from the first start to the last end, idle what of it is seen (gpu_unseen.h) and not busy;
 * overlap is communication while something computes, exposed the rest of communication.
 */
struct gpu_figures {
    uint64_t from, to; /* the span, CLOCK_MONOTONIC */
    uint64_t span, busy, idle, unseen;
    uint64_t of[GPU_CLASSES];
    uint64_t overlap, exposed;
    uint64_t hidden; /* moving while something else runs */
    uint64_t idle_of[GPU_IDLE_CAUSES];
    uint64_t gaps, longest_gap;
    uint64_t kernels, copies, sets, graphs;
    uint64_t launched; /* by a call that was seen */
    /* From the end of the call to the start on the device; 0 where it started before. TABLE_NONE: no call was
     * seen. */
    uint64_t latency_median, latency_p95, latency_max;
};

void gpu_figures(struct gpu_figures *f, const struct gpu_trace *t, uint32_t first, uint32_t n);

/* How much was asked of a stream and had not started: Holistic Trace Analysis' queue length. The mean is over
 * the time from the first call to the last start. */
struct gpu_queue {
    uint64_t most;
    double mean;
};

void gpu_queue(struct gpu_queue *q, const struct gpu_trace *t, const struct gpu_stream *x);

#endif
