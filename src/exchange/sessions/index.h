/* SPDX-License-Identifier: Apache-2.0 */
/* What sessions' meta.json said when it was read: a table in the user's cache, by path. */
#ifndef WPROF_EXCHANGE_SESSIONS_INDEX_H
#define WPROF_EXCHANGE_SESSIONS_INDEX_H

#include "base/map.h"
#include "model/sessions.h"

#include <sys/stat.h>

/* A session as it was known. Its strings are the list's. */
struct sessions_known {
    uint32_t path;            /* absolute */
    int64_t ino, mtime, size; /* of meta.json; mtime in ns */
    int changed;              /* is to be written */
    int seen;                 /* is there */
    struct sessions_entry entry;
};

struct sessions_index {
    struct sqlite *db; /* NULL: there is none */
    struct strtab *strings;
    const char *root; /* absolute, borrowed */
    VEC(struct sessions_known) rows;
    struct index by_path;
};

/* Reads what is known of sessions in `root` and below. Never fails: without a database nothing is known. */
void sessions_index_open(struct sessions_index *x, struct strtab *strings, const char *root);

/* The row of a path; NULL: not known. Valid until the next one is added. */
struct sessions_known *sessions_index_find(struct sessions_index *x, const char *path);
struct sessions_known *sessions_index_add(struct sessions_index *x, const char *path);
int sessions_index_is_current(const struct sessions_known *k, const struct stat *st);

/* Writes what changed, forgets what was not seen, and closes it. */
void sessions_index_close(struct sessions_index *x);

#endif
