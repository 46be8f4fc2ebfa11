/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a program that marks none: what a device runs comes again and again in one order. */
#ifndef WPROF_ANALYZE_GPU_PERIOD_H
#define WPROF_ANALYZE_GPU_PERIOD_H

#include "analyze/gpu_ranges.h"
#include "analyze/gpu_trace.h"

/*
 * Appends the periods of the stream on which the most ran: as many of its names as are the smallest number
 * after which almost all come again; a period begins behind what is mostly the longest pause. Gives that
 * number; 0: nothing comes again at least three times, or one name alone does.
 */
size_t gpu_period_find(struct gpu_ranges *periods, const struct gpu_trace *t);

#endif
