/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a directory. */
#ifndef WPROF_BASE_DIR_H
#define WPROF_BASE_DIR_H

#include "base/vec.h"

#include <dirent.h>

/* The directory `path` ("." for `at` itself), from its beginning; at may be AT_FDCWD. It follows no symlink
 * at path where `flags` has O_NOFOLLOW. NULL with errno. */
DIR *dir_open(int at, const char *path, int flags);
/* The next entry but "." and "..". NULL: there is no more, or d is NULL. */
struct dirent *dir_next(DIR *d);
void dir_close(DIR *d); /* NULL is fine; errno stays */

int dir_is_empty(int dirfd); /* 0 also where it can't be read */

struct dir_names {
    VEC(char *) list; /* owned */
};

/* Appends the names but "." and "..", those that `keep` wants where it is not NULL, then sorts the list:
 * numbers in names by their values. 0, or -1 with errno. */
int dir_names(struct dir_names *n, int at, const char *path, int (*keep)(const struct dirent *de));
void dir_names_release(struct dir_names *n);

#endif
