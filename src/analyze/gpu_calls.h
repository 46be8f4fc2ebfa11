/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of what the host asked of devices, and where it waited for them. */
#ifndef WPROF_ANALYZE_GPU_CALLS_H
#define WPROF_ANALYZE_GPU_CALLS_H

#include "analyze/gpu_trace.h"
#include "model/table.h"

/*
 * A row for each call of the runtime's and the driver's API and each kind of synchronization, the most time
 * first, at most `limit` (0: all). Columns: name, op ("runtime", "driver", "sync", "overhead"), count,
 * total_ns, mean_ns, max_ns, failed (these four null where calls were but counted).
 */
void gpu_calls_table(struct table *t, const struct gpu_trace *x, size_t limit);

/* 1: of a program that ran already: calls were counted, and nothing is known of what ran on devices. */
int gpu_calls_are_counted(const struct store *s);

/* Where threads stood still until a device was done: a row for each thread, function and call. Columns:
 * thread, tid, name, where (the innermost function of the program's), count, ns (a time that calls and what
 * they are made of share counts once), max_ns, share (of the recording). */
void gpu_stalls_table(struct table *t, const struct gpu_trace *x, size_t limit);

#endif
