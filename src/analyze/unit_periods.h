/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a program that marks nothing: what a device runs again and again. */
#ifndef WPROF_ANALYZE_UNIT_PERIODS_H
#define WPROF_ANALYZE_UNIT_PERIODS_H

#include "analyze/gpu_trace.h"
#include "analyze/units.h"

/* The kind of those. */
#define UNIT_PERIOD "period"

/* Where there are no units at all: adds the periods of gpu_period.h as "period 0" ..., of the thread that
 * asked for most of what ran then. */
void units_add_periods(struct units *u, const struct gpu_trace *x);

/* The same of a session whose trace nobody has made yet. */
void units_find_periods(struct units *u, const struct session *s);

#endif
