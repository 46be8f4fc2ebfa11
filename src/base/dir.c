/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DIR *dir_open(int at, const char *path, int flags)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags), err;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    err = errno;
    if (!d && fd >= 0)
        close(fd);
    errno = err;
    return d;
}

struct dirent *dir_next(DIR *d)
{
    struct dirent *de;

    while (d && (de = readdir(d)))
        if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
            return de;
    return NULL;
}

void dir_close(DIR *d)
{
    int err = errno;

    if (d)
        closedir(d);
    errno = err;
}

int dir_is_empty(int dirfd)
{
    DIR *d = dir_open(dirfd, ".", 0);
    int empty = d && !dir_next(d);

    dir_close(d);
    return empty;
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

int dir_names(struct dir_names *n, int at, const char *path, int (*keep)(const struct dirent *de))
{
    DIR *d = dir_open(at, path, 0);
    struct dirent *de;

    if (!d)
        return -1;
    while ((de = dir_next(d)))
        if (!keep || keep(de))
            *vec_push(&n->list) = mem_strdup(de->d_name);
    dir_close(d);
    if (n->list.n)
        qsort(n->list.a, n->list.n, sizeof(*n->list.a), by_version);
    return 0;
}

void dir_names_release(struct dir_names *n)
{
    for (size_t i = 0; i < n->list.n; i++)
        free(n->list.a[i]);
    vec_release(&n->list);
}
