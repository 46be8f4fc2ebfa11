/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar archives through libarchive: written compressed by zstd, read also as others make them, compressed by
 * gzip or not at all. They are read as what strangers made: regular files and directories alone, each name
 * once, relative and without "..", and no more bytes than the limits allow.
 */
#ifndef WPROF_PLATFORM_ARCHIVE_H
#define WPROF_PLATFORM_ARCHIVE_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* -1 with `e`: there is no libarchive here that can do it. */
int archive_check(struct err *e);

/* ---- writing ---- */

/* The same members give the same bytes: owner 0, mode 0600, no times but `mtime` (seconds since the epoch),
 * and a compressor whose output does not depend on how many threads it has. */
struct archive_out;

struct archive_out *archive_out_new(int fd, int64_t mtime, struct err *e); /* fd is borrowed; NULL with `e` */
int archive_out_add(struct archive_out *o, const char *name, int fd,
                    struct err *e);                        /* a regular file, from its start */
int archive_out_end(struct archive_out *o, struct err *e); /* the last bytes */
void archive_out_free(struct archive_out *o);

/* ---- reading ---- */

#define ARCHIVE_NAME_MAX 1024 /* bytes of a member's name */
#define ARCHIVE_FILES    65536

struct archive_limits {
    uint64_t bytes; /* of all members together */
    uint64_t ratio; /* unpacked to packed bytes; from ARCHIVE_SMALL bytes on */
};

#define ARCHIVE_SMALL (64u << 20)

struct archive_in;

int archive_is(int fd); /* whether it begins as one: fd, a file at its start, is there again then */
/* fd is borrowed, and read from where it is; a pipe will do. NULL with `e`: no such archive. */
struct archive_in *archive_in_new(int fd, const struct archive_limits *limits, struct err *e);
/* The next regular file; 0: there is none, 1: *name, without a "./" before it, until the next call. -1 with
 * `e`, which names the member: it is refused, or the archive damaged. */
int archive_in_next(struct archive_in *in, const char **name, struct err *e);
/* Writes the content of the file that archive_in_next() gave. */
int archive_in_copy(struct archive_in *in, int fd, struct err *e);
void archive_in_free(struct archive_in *in);

#endif
