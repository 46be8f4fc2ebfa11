/* SPDX-License-Identifier: Apache-2.0 */
/* Directories with all that is below them, whoever made them: no symlink is followed. */
#ifndef WPROF_BASE_TREE_H
#define WPROF_BASE_TREE_H

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

enum { TREE_DEPTH_MAX = 16 }; /* directories on the way to a file */

struct tree_visit {
    /* A regular file: `path` is from `dirfd` on, `fd` open at its start until the call
     * returns. */
    int (*file)(void *ctx, int fd, const char *path, struct err *e);
    void *ctx;
    int (*order)(const void *, const void *);   /* of two char *const *; NULL: strcmp()'s */
    void (*other)(void *ctx, const char *path); /* what is counted in *left; NULL: nobody asks */
};

/* Visits each regular file in the directory `below` of `dirfd` ("": in that one itself; without it there is
 * none), in the order of names in each directory. *left grows by how much else there is: links, devices,
 * directories that are too deep. -1 with `e`: something could not be read, or what the visit said. */
int tree_walk(int dirfd, const char *below, const struct tree_visit *v, uint64_t *left, struct err *e);

/* A file that is not there yet, mode 0600, to be written; directories on the way are made (0700). Owner -1
 * leaves what it is. -1 with `e`. */
int tree_create(int dirfd, const char *path, uid_t uid, gid_t gid, struct err *e);

/* All that is left of the one into the other. */
int tree_copy_fd(int from, int to, struct err *e);

#endif
