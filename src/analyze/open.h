/* SPDX-License-Identifier: Apache-2.0 */
/* How every reading command opens its session. */
#ifndef WPROF_ANALYZE_OPEN_H
#define WPROF_ANALYZE_OPEN_H

#include "base/err.h"
#include "model/session.h"

/* Takes into the store what a recorder that was killed has left unread: collect's gpu_rest_take(), which this
 * folder cannot know. */
typedef void (*open_rest_fn)(struct session *s);

/*
 * session_open(), of an archive too, then, where the log is not sealed, names for the frames that have none,
 * as far as this machine can give them. path NULL: the newest session here, and a line on stderr says which.
 * Damage is said on stderr too.
 */
int open_session(struct session *s, const char *path, open_rest_fn rest, struct err *e);

/* The second half of it, of one that session_open_meta() opened. -1 with `e`: it is released. */
int open_log(struct session *s, open_rest_fn rest, struct err *e);

/* Names for the frames of a log that is not sealed, as far as this machine can give them. */
void open_names(struct session *s);

#endif
