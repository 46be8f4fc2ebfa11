/* SPDX-License-Identifier: Apache-2.0 */
/* Steps and requests for people: how long they take, and what holds the slow ones up. */
#ifndef WPROF_ANALYZE_UNIT_TABLES_H
#define WPROF_ANALYZE_UNIT_TABLES_H

#include "analyze/unit_slow.h"
#include "model/table.h"

/* A row for each kind, the one with the most units first; at most `limit`, 0: all. Columns: kind, count, open
 * (not over), mean_ns, p50_ns, p95_ns, p99_ns, max_ns, slow (half as long again as the median, or more), ns
 * (the sum). */
void unit_kinds_table(struct table *t, const struct units *u, size_t limit);

/*
 * What slow ones spend more in than typical ones: a row "all of it", one for each cause, the one that grew
 * most first, then parts of the whole: queued, GPU idle. Columns: key, cause, slow_ns, typical_ns (of one
 * unit), more_share (of what they take more; NAN for parts), where, thread (who did it most, who held the
 * GIL).
 */
void unit_causes_table(struct table *t, const struct unit_slow *x, const struct places *p);

/* Stacks of the differential profile, the one that grew most first; at most `limit`. Columns: stack (root
 * first), slow_ns, typical_ns. */
void unit_stacks_table(struct table *t, const struct comparison *c, size_t limit);

/* "s", "es": what makes several of a kind. */
const char *unit_plural(const char *kind);

/* "wait for Python's GIL, held in tokenize": what the slow ones do more than typical ones. */
void unit_slow_does(const struct unit_slow *x, const struct places *p, unsigned cause, struct buf *out);

/* Sentences with all figures, and what one cause has to do with them: "The slowest 20 of 412 requests take
 * 412 ms on average, ...". kind: "request". */
void unit_slow_words(const struct unit_slow *x, const struct places *p, const char *kind, unsigned cause,
                     struct buf *out);

#endif
