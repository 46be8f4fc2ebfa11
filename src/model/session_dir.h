/* SPDX-License-Identifier: Apache-2.0 */
/* What writers and readers of a session's directory share. */
#ifndef WPROF_MODEL_SESSION_DIR_H
#define WPROF_MODEL_SESSION_DIR_H

#include "base/buf.h"
#include "base/err.h"

#define SESSION_META   "meta.json"
#define SESSION_LOG    "events.wlog"
#define SESSION_AGENTS "gpu" /* the directory of GPU agents' logs, while it is recorded */

enum { SESSION_META_MAX = 16 << 20 }; /* bytes: no reader takes a longer meta.json */

/* Whether dirfd holds a session: a meta.json and a log of ours. *recording (may be NULL): a live recorder has
 * it. */
int session_dir_holds(int dirfd, int *recording);

/* Whether somebody holds the recorder's lock on this log. */
int session_log_locked(int fd);

/* Bytes of the logs that agents in GPU programs left in the session, as its recorder was killed: a recording
 * that ends has read and removed them. */
uint64_t session_dir_agents(int session);

/* Every session directly below the current directory, newest first, as names separated by NUL; how many. */
size_t session_dir_list(int dirfd, struct buf *names);

/*
 * Removes what wprof made in a session's directory, following no symlink: its own files, those that meta.json
 * lists (in directories only where they are as it says) and reports/. -1 with `e`, and nothing is removed,
 * where there is anything else.
 */
int session_dir_clear(int dirfd, struct err *e);

/* Removes a directory with all that is in it, following no symlink: one of our own making. */
void session_dir_remove(const char *path);

/*
 * Whether this process's user may make a session there, or replace one: for somebody else who makes it in the
 * user's name. path NULL: one without a name yet, in the current directory. -1 with `e`.
 */
int session_dir_may_make(const char *path, struct err *e);

#endif
