/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of what is heaviest: functions, modules, files, lines; processes and threads. */
#ifndef WPROF_ANALYZE_TOPS_H
#define WPROF_ANALYZE_TOPS_H

#include "model/profile.h"
#include "model/session.h"
#include "model/table.h"

enum tops_by { TOPS_FUNCTION, TOPS_MODULE, TOPS_FILE, TOPS_LINE };

/*
 * Rows by self (or by total, by_total), heaviest first, at most `limit` (0: all). A function that calls
 * itself counts once in its total. Process and thread frames are no functions and do not appear. Columns:
 * name, kind, module, file, line, self, total, self_share, total_share. For TOPS_LINE the profile must have
 * been folded with lines.
 */
void tops_functions(struct table *t, const struct profile *p, size_t metric, enum tops_by by, int by_total,
                    size_t limit);

/* On-CPU samples a process (threads 0) or a thread: name, pid, tid, samples, share, cpu_ns. Rows without
 * samples that used no CPU time are left out. */
void tops_tasks(struct table *t, const struct session *s, int threads, size_t limit);

#endif
