/* SPDX-License-Identifier: Apache-2.0 */
/* What a perf.data tells of its recording, and what was lost on the way: into a session's description. */
#ifndef WPROF_EXCHANGE_PERF_DATA_DESCRIBE_H
#define WPROF_EXCHANGE_PERF_DATA_DESCRIBE_H

#include "exchange/import/import.h"
#include "exchange/import/perf_data_stack.h"
#include "exchange/import/perf_data_stream.h"
#include "model/event.h"
#include "model/session.h"

/* The machine, the command, and where the records are damaged. */
void perf_describe(const struct perf_file *f, const struct perf_stream_stats *stats, struct meta *m,
                   struct import_stats *st);

/* When it was: by the clock's reading that it has, else by when the file was written (s since the epoch; 0:
 * not known). */
void perf_describe_time(const struct perf_file *f, const struct event *samples, size_t n, double written,
                        struct meta *m);

/* How the samples' stacks came about, and what of them is missing. */
void perf_describe_stacks(const struct perf_stack *stack, struct import_stats *st);

#endif
