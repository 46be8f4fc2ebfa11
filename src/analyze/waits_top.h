/* SPDX-License-Identifier: Apache-2.0 */
/* What threads waited for off the CPU, and on whom. */
#ifndef WPROF_ANALYZE_WAITS_TOP_H
#define WPROF_ANALYZE_WAITS_TOP_H

#include "model/session.h"
#include "model/table.h"

/*
 * A row for each thread, reason, thing waited for and waker, the longest time first; at most `limit` (0:
 * all). Columns: thread, tid, reason, what, where (the innermost Python function of the wait, else the
 * innermost one outside of the kernel), waker, waker_tid, waker_where, meanwhile (where the waker, or who
 * woke that one, was for most of the time, and for which share of it), state (what it was there: "running",
 * "asleep"), spans, ns, share (of all time waited).
 */
void waits_top(struct table *t, const struct session *s, size_t limit);

/* The name of the function that tells a person where a stack is; a string of the store, 0: none. */
uint32_t waits_place(const struct store *s, uint32_t stack);

/* Is a waker one that nobody saw? Its stack begins with [inferred] then. */
int waits_inferred(const struct store *s, uint32_t stack);

#endif
