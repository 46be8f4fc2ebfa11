/* SPDX-License-Identifier: Apache-2.0 */
/* What the main thread of what was recorded waited for, in one phrase. */
#ifndef WPROF_ANALYZE_WAIT_SUMMARY_H
#define WPROF_ANALYZE_WAIT_SUMMARY_H

#include "base/buf.h"
#include "model/session.h"

/*
 * Appends "main thread: futex, woken by python3[17] <- python3[42], which was in slow_transform": the reason
 * of most of its waits, who ended most of them, whom that one waited for in turn as long as it did so most of
 * the time (wake_chain.h), and the function in which the last of them was most meanwhile, or what it waited
 * for itself. Gives the share of the recorded time that the main thread waited; 0, and nothing is appended,
 * where that is less than a tenth.
 */
double wait_summary(struct buf *out, const struct store *s, const struct meta *m);

#endif
