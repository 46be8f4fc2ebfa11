/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs of processes that run already: uprobes at the functions of libcuda and libcudart that launch, copy and
 * wait, in tier A. They tell how often and where, and nothing of what runs on the device.
 */
#ifndef WPROF_COLLECT_GPU_ATTACH_H
#define WPROF_COLLECT_GPU_ATTACH_H

#include "collect/metrics_series.h"
#include "collect/trace.h"
#include "model/collector.h"

struct gpu_attach_file {
    uint64_t dev, ino;
};

/* What the functions of a rate do. */
enum { GPU_ATTACH_LAUNCH, GPU_ATTACH_COPY, GPU_ATTACH_WAIT, GPU_ATTACH_KINDS };

struct gpu_attach_call {
    const char *name; /* NULL: this place is not used */
    uint64_t last;    /* calls at the last look */
    uint32_t work;    /* in the store, 0: not entered */
};

struct gpu_attach {
    struct record_ctx *ctx;
    struct trace *trace;
    VEC(struct gpu_attach_file) files;
    struct gpu_attach_call calls[WIRE_GPU_CALLS];
    size_t ncalls;
    struct metrics_out out;
    struct metrics_series rates[GPU_ATTACH_KINDS];
    uint64_t stacks;
    unsigned turns;
    struct err why; /* that some function can't be attached to; "" */
};

/* -1 with `e`: the kernel has refused the program. */
int gpu_attach_open(struct gpu_attach *a, struct record_ctx *ctx, struct err *e);
int gpu_attach_start(struct gpu_attach *a, struct err *e);
int gpu_attach_poll(struct gpu_attach *a, struct err *e); /* each second: libraries that came, figures */
int gpu_attach_stop(struct gpu_attach *a, struct err *e);
void gpu_attach_counters(struct gpu_attach *a);
uint64_t gpu_attach_total(const struct gpu_attach *a); /* calls */
void gpu_attach_ids(struct gpu_attach *a, struct store_visit *v);
void gpu_attach_close(struct gpu_attach *a);

#endif
