/* SPDX-License-Identifier: Apache-2.0 */
/* What lies beside a session's own files: what somebody put into extra/, and reports. meta.json lists files
 * of extra/ where merge or pack wrote it; the others have no checksum. */
#ifndef WPROF_MODEL_SESSION_EXTRA_H
#define WPROF_MODEL_SESSION_EXTRA_H

#include "model/session.h"

#define SESSION_EXTRA   "extra"
#define SESSION_REPORTS "reports"

/* Appends all regular files in the directory `below` that `m` does not list to the artifacts of `to` (which
 * may be `m`), of kind `below`. With `sums` they get their SHA-256, but for those whose names JSON can't
 * hold; else it is "". -1 with `e`: something could not be read; what was found until then is there. */
int session_unlisted(int dirfd, const char *below, const struct meta *m, struct meta *to, int sums,
                     struct err *e);

/* The same into the session's own list, without sums; what can't be read is warned of. */
void session_list(struct session *s, const char *below);

int session_is_extra(const struct meta_artifact *a);

struct session_extra {
    uint64_t n, bytes, unsummed;
};

/* Of all that the list has of extra/. */
struct session_extra session_extra_count(const struct meta *m);

/* "2 files, 3.1 KiB; 1 of them without a checksum" */
void session_extra_say(const struct session_extra *x, struct buf *out);

#endif
