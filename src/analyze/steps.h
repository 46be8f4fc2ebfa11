/* SPDX-License-Identifier: Apache-2.0 */
/* What each step, request or other unit took, beside the others. */
#ifndef WPROF_ANALYZE_STEPS_H
#define WPROF_ANALYZE_STEPS_H

#include "analyze/units.h"
#include "model/table.h"

/*
 * A row for each unit of the choice, by time; where there are more than `limit` (0: all) the longest of them,
 * the longest first. Below them, for each process, "[outside]": what is in none of them, so that the columns
 * add up to the whole where units don't overlap.
 *
 * Columns: unit, process, pid, start_ns (since the session's start), ns, of_median (its time by the median of
 * those that are over), oncpu_ns, offcpu_ns, runq_ns, gil_ns (of the thread that began it, of the process's
 * main thread where the mark names none), wait (what that waited for the longest, and in which function),
 * samples, all_offcpu_ns, all_runq_ns, all_gil_ns (of all threads of the process and of its descendants
 * without units of their own), note ("slow": half as long again as the median, or more; "open": not over at
 * the end).
 */
void steps_table(struct table *t, const struct session *s, const struct units *u,
                 const struct units_choice *choice, size_t limit);

/* The median time of those units that are over, ns; 0: there is none. */
uint64_t steps_median(const struct units *u, const struct units_choice *choice);

#endif
