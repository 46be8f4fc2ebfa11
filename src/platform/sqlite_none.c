/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of sqlite.c where SQLite is left out: nothing can be opened, so the rest is never asked. */
#include "platform/sqlite.h"

#include <stddef.h>

static struct sqlite *none(struct err *e)
{
    err_set(e, "this wprof was built without SQLite (libsqlite3-dev, then make): databases cannot be read or "
               "written");
    return NULL;
}

struct sqlite *sqlite_open(const char *path, struct err *e)
{
    return none(e);
}

struct sqlite *sqlite_memory(struct err *e)
{
    return none(e);
}

struct sqlite *sqlite_file(const char *path, struct err *e)
{
    return none(e);
}

void sqlite_close(struct sqlite *db) {}

int sqlite_has(struct sqlite *db, const char *table, const char *column)
{
    return 0;
}

int sqlite_run(struct sqlite *db, const char *sql, struct err *e)
{
    none(e);
    return -1;
}

int sqlite_bytes(struct sqlite *db, struct buf *out, struct err *e)
{
    none(e);
    return -1;
}

int sqlite_serve(struct sqlite *db, const char *name, const struct sqlite_table *t, struct err *e)
{
    none(e);
    return -1;
}

void sqlite_read_only(struct sqlite *db, uint64_t limit_ns) {}

void sqlite_limit_values(struct sqlite *db, int bytes) {}

int sqlite_was_late(const struct sqlite *db)
{
    return 0;
}

struct sqlite_rows *sqlite_query(struct sqlite *db, const char *sql, struct err *e)
{
    none(e);
    return NULL;
}

int sqlite_next(struct sqlite_rows *r, struct err *e)
{
    return 0;
}

void sqlite_again(struct sqlite_rows *r) {}

void sqlite_rows_free(struct sqlite_rows *r) {}

int64_t sqlite_int(struct sqlite_rows *r, int column)
{
    return 0;
}

const char *sqlite_text(struct sqlite_rows *r, int column)
{
    return NULL;
}

double sqlite_real(struct sqlite_rows *r, int column)
{
    return 0;
}

int sqlite_is_null(struct sqlite_rows *r, int column)
{
    return 1;
}

enum sqlite_kind sqlite_kind(struct sqlite_rows *r, int column)
{
    return SQLITE_KIND_NULL;
}

int sqlite_columns(struct sqlite_rows *r)
{
    return 0;
}

const char *sqlite_column(struct sqlite_rows *r, int column)
{
    return "";
}

void sqlite_bind_int(struct sqlite_rows *r, int number, int64_t v) {}

void sqlite_bind_real(struct sqlite_rows *r, int number, double v) {}

void sqlite_bind_text(struct sqlite_rows *r, int number, const char *text) {}
