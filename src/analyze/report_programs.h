/* SPDX-License-Identifier: Apache-2.0 */
/* The report's bar of programs. */
#ifndef WPROF_ANALYZE_REPORT_PROGRAMS_H
#define WPROF_ANALYZE_REPORT_PROGRAMS_H

#include "analyze/metrics_sums.h"
#include "model/report.h"

/* Fills `programs`, where more than the main thread's tells who used the CPUs. */
void report_programs(struct report *r, const struct session *s, const struct metrics_sums *sums);

#endif
