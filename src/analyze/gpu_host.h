/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread did in a piece of time, as far as anything tells. */
#ifndef WPROF_ANALYZE_GPU_HOST_H
#define WPROF_ANALYZE_GPU_HOST_H

#include "analyze/wake_chain.h"
#include "base/vec.h"

enum gpu_host_state {
    GPU_HOST_RAN,     /* on a CPU, or, where switches were not recorded, its samples tell what it did */
    GPU_HOST_QUEUED,  /* runnable, waiting for a CPU */
    GPU_HOST_BLOCKED, /* off the CPU */
    GPU_HOST_GIL,     /* waiting for Python's GIL, whatever it did for that */
    GPU_HOST_CALLED,  /* in a framework's operator or a call of the GPU's API: a trace alone tells no more */
    GPU_HOST_UNSEEN,
    GPU_HOST_STATES,
};

/* A call while no call within it went on. */
struct gpu_host_piece {
    uint64_t start, end;
    uint32_t event;
};

struct gpu_host {
    const struct store *s;
    struct wake_lane spans, gil, samples;
    int states;                        /* switches were recorded */
    VEC(struct gpu_host_piece) pieces; /* where they were not: by task, by time, disjoint */
    uint32_t *first;                   /* task -> its pieces begin there; one more at the end */
};

/* s must not change meanwhile. */
void gpu_host_init(struct gpu_host *h, const struct store *s);
void gpu_host_release(struct gpu_host *h);

/* Pieces of time that cover [from, to), in order; ev: the span, the call, NULL where there is none. */
typedef void (*gpu_host_each)(void *arg, enum gpu_host_state state, const struct event *ev, uint64_t from,
                              uint64_t to);
void gpu_host_during(const struct gpu_host *h, uint32_t task, uint64_t from, uint64_t to, gpu_host_each each,
                     void *arg);

/* Where a thread was in a span: its stack; of one whose stack was not taken, but whose CPU was taken from it,
 * the nearest one before that is known: there it went on. 0: not known. */
uint32_t gpu_host_stack(const struct gpu_host *h, const struct event *span);

#endif
