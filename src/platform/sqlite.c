/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/sqlite.h"

#include "base/mem.h"

#include <sqlite3.h>
#include <stdlib.h>

struct sqlite {
    sqlite3 *db;
};

struct sqlite_rows {
    sqlite3 *db;
    sqlite3_stmt *stmt;
};

static int failed(sqlite3 *db, struct err *e)
{
    return err_set(e, "SQLite: %s", db ? sqlite3_errmsg(db) : "out of memory");
}

struct sqlite *sqlite_open(const char *path, struct err *e)
{
    struct sqlite *s = mem_calloc(1, sizeof(*s));

    /* The file is not looked at before something is asked. */
    if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_exec(s->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) != SQLITE_OK) {
        failed(s->db, e);
        sqlite_close(s);
        return NULL;
    }
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return s;
}

void sqlite_close(struct sqlite *s)
{
    if (!s)
        return;
    sqlite3_close(s->db);
    free(s);
}

int sqlite_has(struct sqlite *s, const char *table, const char *column)
{
    sqlite3_stmt *stmt = NULL;
    int found = 0;

    if (sqlite3_prepare_v2(s->db, "SELECT 1 FROM pragma_table_info(?1) WHERE ?2 IS NULL OR name = ?2", -1,
                           &stmt, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    if (column)
        sqlite3_bind_text(stmt, 2, column, -1, SQLITE_STATIC);
    found = sqlite3_step(stmt) == SQLITE_ROW;
    sqlite3_finalize(stmt);
    return found;
}

struct sqlite_rows *sqlite_query(struct sqlite *s, const char *sql, struct err *e)
{
    struct sqlite_rows *r = mem_calloc(1, sizeof(*r));

    r->db = s->db;
    if (sqlite3_prepare_v2(s->db, sql, -1, &r->stmt, NULL) == SQLITE_OK)
        return r;
    failed(s->db, e);
    free(r);
    return NULL;
}

int sqlite_next(struct sqlite_rows *r, struct err *e)
{
    int rc = sqlite3_step(r->stmt);

    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : failed(r->db, e);
}

void sqlite_rows_free(struct sqlite_rows *r)
{
    if (!r)
        return;
    sqlite3_finalize(r->stmt);
    free(r);
}

int64_t sqlite_int(struct sqlite_rows *r, int column)
{
    return sqlite3_column_int64(r->stmt, column);
}

const char *sqlite_text(struct sqlite_rows *r, int column)
{
    return (const char *)sqlite3_column_text(r->stmt, column);
}

int sqlite_is_null(struct sqlite_rows *r, int column)
{
    return sqlite3_column_type(r->stmt, column) == SQLITE_NULL;
}
