/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that was allocated for accelerators and given back: who asked for it, how much there was at a time.
 * What was there before the recording began is not known.
 */
#ifndef WPROF_ANALYZE_GPU_MEMORY_H
#define WPROF_ANALYZE_GPU_MEMORY_H

#include "base/buf.h"
#include "model/session.h"
#include "model/table.h"

/* One kind of memory of one device. */
struct gpu_memory_pool {
    uint16_t rank, device; /* as in struct gpu_work */
    uint8_t place;         /* enum gpu_place */
    uint64_t allocations, frees, bytes;
    uint64_t unknown_frees; /* of what was allocated before, or never told: nothing else counts them */
    uint64_t peak, peak_ts; /* the most bytes at a time, CLOCK_MONOTONIC */
    uint64_t held;          /* at the end */
};

/* From `ts` on. */
struct gpu_memory_step {
    uint64_t ts, used; /* bytes of the pool */
    uint64_t bytes;    /* that this one allocated, or gave back */
    uint32_t pool;     /* index */
    uint32_t stack;    /* where it was allocated, also of what is given back; 0: not known */
    uint32_t event;    /* of the store */
    uint32_t of;       /* what is given back: the step that allocated it + 1; 0: not known */
    int frees;
};

struct gpu_memory {
    const struct store *s;
    VEC(struct gpu_memory_pool) pools; /* by rank, device, place */
    VEC(struct gpu_memory_step) steps; /* in the order of time */
};

void gpu_memory_init(struct gpu_memory *m, const struct store *s);
void gpu_memory_release(struct gpu_memory *m);

/* A row for each pool. Columns: device, rank, id, memory, allocations, frees, bytes, peak_bytes, peak_ns
 * (since `start`), held_bytes, unknown_frees. */
void gpu_memory_table(struct table *t, const struct gpu_memory *m, uint64_t start);

/* A row for each pool and function that asked for memory, the most at the pool's peak first; at most `limit`
 * (0: all). Columns: device, memory, where, allocations, frees, bytes, peak_bytes (at the pool's peak),
 * peak_share (of it), held_bytes (at the end). */
void gpu_memory_askers(struct table *t, const struct gpu_memory *m, size_t limit);

#endif
