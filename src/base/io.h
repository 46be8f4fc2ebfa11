/* SPDX-License-Identifier: Apache-2.0 */
/* Files, whole. Paths are relative to dirfd (AT_FDCWD allowed) where one is taken. All return 0, or -1 with
 * `e` set. */
#ifndef WPROF_BASE_IO_H
#define WPROF_BASE_IO_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int io_write_all(int fd, const void *p, size_t n, struct err *e); /* retries short writes and EINTR */
int io_read_fd(int fd, struct buf *out, struct err *e);           /* appends to the end of the file */
int io_read_file(int dirfd, const char *path, struct buf *out, struct err *e); /* appends; works on /proc */

/* Writes path.tmp with mode 0600, then renames it over path. Follows no symlink at path. */
int io_replace_file(int dirfd, const char *path, const void *p, size_t n, struct err *e);
/* The same with an owner, -1 leaving what it is: set before the file has its name, so that whoever else may
 * write in the directory cannot have us give another file away. */
int io_replace_file_owned(int dirfd, const char *path, const void *p, size_t n, uid_t uid, gid_t gid,
                          struct err *e);

/* A file mapped read-only. An empty file gives p = NULL, n = 0. */
struct io_map {
    const uint8_t *p;
    size_t n;
};

int io_map_fd(int fd, struct io_map *m, struct err *e);
int io_map_file(const char *path, struct io_map *m, struct err *e);
void io_unmap(struct io_map *m);

/* From now on, what is missing of a mapped file that somebody cuts off in place reads as zeros, where SIGBUS
 * would end us: parsers refuse those as they do any damage. For the process, once; a command that we start
 * begins without it. */
void io_guard_maps(void);

int io_mkdirs(const char *path, mode_t mode, struct err *e); /* mkdir -p; existing directories are fine */

/* The SHA-256 of a file, as 64 hex digits and a NUL. *size may be NULL. */
int io_sha256(int dirfd, const char *path, char hex[65], uint64_t *size, struct err *e);

/* $XDG_CACHE_HOME/wprof or ~/.cache/wprof (home NULL: $HOME); owned by the caller, NULL where neither is set.
 */
char *io_cache_dir(void);

#endif
