/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of archive.c where libarchive is left out: nothing can be opened, so the rest is never asked.
 */
#include "platform/archive.h"

#include <stddef.h>

static void *none(struct err *e)
{
    err_set(e,
            "this wprof was built without libarchive (libarchive-dev, then make): archives cannot be read or "
            "written; `tar --zstd` unpacks them");
    return NULL;
}

int archive_check(struct err *e)
{
    none(e);
    return -1;
}

struct archive_out *archive_out_new(int fd, int64_t mtime, struct err *e)
{
    return none(e);
}

int archive_out_add(struct archive_out *o, const char *name, int fd, struct err *e)
{
    return -1;
}

int archive_out_end(struct archive_out *o, struct err *e)
{
    return -1;
}

void archive_out_free(struct archive_out *o) {}

int archive_is(int fd)
{
    return 0;
}

struct archive_in *archive_in_new(int fd, const struct archive_limits *limits, struct err *e)
{
    return none(e);
}

int archive_in_next(struct archive_in *in, const char **name, struct err *e)
{
    return -1;
}

int archive_in_copy(struct archive_in *in, int fd, struct err *e)
{
    return -1;
}

void archive_in_free(struct archive_in *in) {}
