/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks that programs send while they are recorded: a unix datagram socket in the session's directory, named
 * to the command in WPROF_MARKS. A thread of its own empties it, so that a sender finds room (the kernel
 * queues only net.unix.max_dgram_qlen datagrams, often 10) however busy the recorder is. Marks become
 * EVENT_MARKER events: "step 12" from its begin to its end.
 *
 * Loss is counted: marks.taken, marks.malformed, marks.cut (longer than a line may be), marks.unmatched (an
 * end without its begin), marks.dropped (no room here), marks.unsent (senders said so).
 */
#ifndef WPROF_RECORD_MARKS_H
#define WPROF_RECORD_MARKS_H

#include "base/err.h"
#include "model/collector.h"
#include "record/marks_line.h"

/* The socket's name in the session's directory. */
#define MARKS_SOCKET "marks"

struct marks; /* every function but new and prepare takes NULL: no marks */

/* Called for each mark in the order of arrival, from marks_poll(), before it becomes an event. */
typedef void (*marks_seen)(void *arg, const struct mark *m);

/* The context is borrowed: its store, its targets. */
struct marks *marks_new(struct record_ctx *ctx);
void marks_free(struct marks *m); /* removes what was made */

/* Before the command is started: the value of WPROF_MARKS for a session that is going to lie in `dir`, at
 * most 107 bytes long (unix(7)): a short way to it is made in /tmp where the path is longer. uid, gid: whose
 * command it is; -1: ours. NULL with `e` where there is no such way. Borrowed. */
const char *marks_prepare(struct marks *m, const char *dir, uid_t uid, gid_t gid, struct err *e);

/* Makes the socket in the session's directory and begins to take marks. -1 with `e`: there won't be any. */
int marks_open(struct marks *m, int dirfd, uid_t uid, gid_t gid, struct err *e);
void marks_on_mark(struct marks *m, marks_seen seen, void *arg);

struct store_visit;
void marks_ids(struct marks *m, struct store_visit *v); /* model/store_visit.h */

int marks_fd(const struct marks *m); /* readable when marks_poll() has work; -1: not open */
void marks_poll(struct marks *m);

/* No more marks: takes the last ones; those that are not over become EVENT_OPEN at `end` (CLOCK_MONOTONIC).
 */
void marks_stop(struct marks *m, uint64_t end);
void marks_counters(struct marks *m);

#endif
