/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session in one file: a tar archive compressed by zstd, with the session's files below one directory that
 * is named after its id. Others' archives of sessions (AIProf's: gzip, or no compression, or no directory)
 * are read, too. wprof-session(5) says more.
 */
#ifndef WPROF_PLATFORM_PACKED_H
#define WPROF_PLATFORM_PACKED_H

#include "base/buf.h"
#include "base/err.h"
#include "model/session.h"
#include "model/session_extra.h"

#include <stdint.h>
#include <sys/types.h>

#define PACKED_BYTES (16ull << 30) /* that are taken out of an archive, unless told otherwise */

/* What was left out, being neither regular files nor directories, or too deep; and what travels of extra/. */
struct packed_left {
    struct session_extra extra;
    uint64_t n, named;
    struct buf names; /* the first ones: "extra/link, extra/pipe"; the caller releases it */
};

/* Writes the session in directory `dirfd` to `fd`: meta.json, the log, then all other regular files in the
 * order of their names. The archive's meta.json lists what is in extra/, with sums. -1 with `e`. */
int packed_write(int dirfd, const struct meta *m, int fd, struct packed_left *left, struct err *e);

struct packed_to {
    int dirfd; /* an empty directory */
    uid_t uid; /* who owns the files; (uid_t)-1: this process's user */
    gid_t gid;
    uint64_t max_bytes;
    int unchecked; /* files need not be as meta.json lists them */
};

/* Takes all files out, of the one directory that they are in or, where meta.json is at the archive's top, as
 * they are, and checks those that meta.json lists. -1 with `e`, which names the member: refused,
 * with what was written until then left there. */
int packed_read(int fd, const struct packed_to *to, struct err *e);

/* Appends the meta.json of an archive without unpacking it: at most `max` bytes, looked for in the first
 * PACKED_AHEAD of what is in the archive, where ours have it first. -1 with `e`: there is none, or the
 * archive is refused. */
#define PACKED_AHEAD (64u << 20)
int packed_read_meta(int fd, struct buf *out, uint64_t max, struct err *e);

int packed_begins(const void *head, size_t n); /* whether these first bytes are an archive's, or may be */
int packed_is(const char *path);               /* "-", or a file that begins as an archive does */

/* All that `read` gives, of a pipe that can't be read twice: as a file without a name below $TMPDIR (else
 * /var/tmp), at its start, at most PACKED_BYTES. -1 with `e`. */
int packed_spool(ssize_t (*read)(void *ctx, void *p, size_t n, struct err *e), void *ctx, struct err *e);

/* session_open_meta(), of an archive too ("-": on stdin), whose files are in a directory of their own below
 * $TMPDIR (else /var/tmp) until session_release(). */
int packed_open_meta(struct session *s, const char *path, struct err *e);
/* The same of an archive that is open, and called `name`; fd stays the caller's. */
int packed_open_fd(struct session *s, int fd, const char *name, struct err *e);
/* The same for who looks at damage: files need not be as meta.json lists them. */
int packed_open_damaged(struct session *s, const char *path, struct err *e);

#endif
