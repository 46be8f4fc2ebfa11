/* SPDX-License-Identifier: Apache-2.0 */
/* What the session says of the agents: counters, notes, one phrase. */
#ifndef WPROF_COLLECT_GPU_TOLD_H
#define WPROF_COLLECT_GPU_TOLD_H

#include "collect/gpu_driver.h"
#include "collect/gpu_logs.h"
#include "model/collector.h"

void gpu_told_counters(const struct gpu_logs *g, struct store *s);
/* Into the session's notes and the log, at the end. `seen`: of processes without an agent. */
void gpu_told_notes(const struct gpu_logs *g, struct record_ctx *ctx, enum gpu_seen seen);
const char *gpu_told_figures(const struct gpu_logs *g, char *out, size_t n);
const char *gpu_told_detail(const struct gpu_logs *g, const struct record_ctx *ctx, enum gpu_seen seen,
                            char *out, size_t n);

#endif
