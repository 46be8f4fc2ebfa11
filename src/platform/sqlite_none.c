/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of sqlite.c where SQLite is left out. */
#include "platform/sqlite.h"

#include <stddef.h>

struct sqlite *sqlite_open(const char *path, struct err *e)
{
    err_set(e, "this wprof was built without SQLite (libsqlite3-dev, then make): databases cannot be read");
    return NULL;
}

void sqlite_close(struct sqlite *db) {}

int sqlite_has(struct sqlite *db, const char *table, const char *column)
{
    return 0;
}

struct sqlite_rows *sqlite_query(struct sqlite *db, const char *sql, struct err *e)
{
    err_set(e, "this wprof was built without SQLite");
    return NULL;
}

int sqlite_next(struct sqlite_rows *r, struct err *e)
{
    return 0;
}

void sqlite_rows_free(struct sqlite_rows *r) {}

int64_t sqlite_int(struct sqlite_rows *r, int column)
{
    return 0;
}

const char *sqlite_text(struct sqlite_rows *r, int column)
{
    return NULL;
}

int sqlite_is_null(struct sqlite_rows *r, int column)
{
    return 1;
}
