/* SPDX-License-Identifier: Apache-2.0 */
/* Text on its way to stdout. */
#ifndef WPROF_CMD_PRODUCT_H
#define WPROF_CMD_PRODUCT_H

#include "base/buf.h"

#include "base/err.h"
#include "model/session.h"

#include <stddef.h>
#include <sys/stat.h>

int product_color(void);    /* stdout is a terminal that shows colours, and NO_COLOR is not set */
size_t product_width(void); /* its columns; 0 where stdout is no terminal */
size_t product_rows(void);  /* the same of its lines */

/* Prints the text; through $PAGER (less) where stdout is a terminal and the text longer than it. */
void product_print(const struct buf *text);

/*
 * The text as the file `path`: whole or, on a full disk, not at all, what was there before untouched. A
 * symlink is followed; a pipe or device is written to. Under sudo a new file belongs to the invoking user. -1
 * with `e`.
 */
int product_write(const char *path, const struct buf *text, struct err *e);

/* Whose a session's files are to be that is made here: the invoking user's under sudo, else (uid_t)-1: ours.
 * -1 with `e`. */
int product_owner(uid_t *uid, gid_t *gid, struct err *e);

/* The same piece by piece: product_close() follows in any case, also after a failed product_open(); rc says
 * whether all went well so far. */
struct product_file {
    int fd, there;
    char *path, *tmp; /* tmp NULL: written in place */
    struct stat old;
};

int product_open(struct product_file *f, const char *path, struct err *e);
int product_add(struct product_file *f, const struct buf *text, struct err *e);
int product_close(struct product_file *f, int rc, struct err *e);

/* Before a session goes elsewhere: -1 with `e` where it is still being recorded, or files are not what
 * meta.json lists; whoever unpacks it checks the same. That it was never sealed is warned of. */
int product_is_whole(const struct session *s, int dirfd, struct err *e);

/* What lies in extra/, where anything does; what of a session does not travel. */
struct session_extra;
void product_say_extra(const struct session_extra *x);
struct packed_left;
void product_say_left(const struct packed_left *left);

#endif
