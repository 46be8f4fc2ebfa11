/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's worth of disk space, taken while there is some, for what must be said when there is none left. The
 * space is written to as it is: given back first, whatever filled the disk would have it.
 */
#ifndef WPROF_MODEL_SPARE_H
#define WPROF_MODEL_SPARE_H

#include "base/err.h"

#include <stddef.h>
#include <sys/types.h>

/* A file without a name on dirfd's file system, -1 where that cannot be had. */
int spare_open(int dirfd, size_t bytes);

/* The text as the file `path`, by rename, in the spare's space: once, then *fd is closed and -1. */
int spare_write(int *fd, int dirfd, const char *path, const void *p, size_t n, uid_t uid, gid_t gid,
                struct err *e);

#endif
