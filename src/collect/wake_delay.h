/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier B: perf's records tell when a thread gave its CPU away and when it got one again; when it was woken in
 * between, they don't. How long a thread was in the run queue in all, its schedstat file tells, as of the
 * last time it got a CPU. What of that isn't the queueing of a thread whose CPU was taken, which the records
 * do tell, came after wake-ups: it is shared out to the waits that have ended since the file was last read.
 * Sums are the kernel's; of a single wait in between the share is, too.
 */
#ifndef WPROF_COLLECT_WAKE_DELAY_H
#define WPROF_COLLECT_WAKE_DELAY_H

#include "collect/outside.h"

/* What it was in the queue for before doesn't count. */
void wake_delay_begin(struct outside_thread *t);

/* The thread got a CPU after a wait; after dur in the run queue; after nobody knows what. */
void wake_delay_waited(struct outside_thread *t, uint64_t ts, uint64_t dur, const struct outside_spot *spot);
void wake_delay_queued(struct outside_thread *t, uint64_t dur);
void wake_delay_unknown(struct outside_thread *t);

/* Call before what a record of ts says is noted: events are made of waits for which the file was read before
 * that. */
void wake_delay_settle(struct outside *o, struct outside_thread *t, uint64_t ts);

/* Reads the file where waits have ended: at times now and then, and when all records are noted. */
void wake_delay_read(struct outside *o, struct outside_thread *t);

/* The thread or the recording ended: events are made of all, with the file if it is there still. */
void wake_delay_end(struct outside *o, struct outside_thread *t);

/* Shares ns of delay out to n waits, evenly, to none more than it took: what is left over. */
uint64_t wake_delay_share(struct outside_ended *waits, size_t n, uint64_t ns);

#endif
