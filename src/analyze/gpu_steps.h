/* SPDX-License-Identifier: Apache-2.0 */
/* What devices did in each step. */
#ifndef WPROF_ANALYZE_GPU_STEPS_H
#define WPROF_ANALYZE_GPU_STEPS_H

#include "analyze/gpu_trace.h"
#include "model/table.h"

/* Where the steps are from. */
enum gpu_steps_from { GPU_STEPS_NONE, GPU_STEPS_MARKS, GPU_STEPS_PERIOD };

/*
 * A row for each step and device of its process, by time; of more than `limit` steps (0: all) the longest.
 * Steps are the program's marks ("step 12"; a trace's ProfilerStep#12); without any, periods in what ran
 * (gpu_period.h). Columns: step, device, start_ns (since the session's start), ns, of_median, busy_ns,
 * busy_share, idle_ns, compute_ns, comm_ns, exposed_ns, exposed_share, copy_ns, started (how many kernels,
 * copies and sets), note ("slow": half as long again as the median, or more). It is what devices did while
 * the step went on, whoever asked for it.
 */
enum gpu_steps_from gpu_steps_table(struct table *t, const struct session *s, const struct gpu_trace *x,
                                    size_t limit);

#endif
