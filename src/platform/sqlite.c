/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/sqlite.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "platform/clock.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRESS_STEPS = 1000, LENGTH_MAX = 256 << 20 /* of a value or row, bytes */ };

struct sqlite {
    sqlite3 *db;
    uint64_t limit, deadline; /* ns; 0: none */
    int late;
};

struct sqlite_rows {
    struct sqlite *s;
    sqlite3_stmt *stmt;
    int begun;
};

static int failed(sqlite3 *db, struct err *e)
{
    return err_set(e, "SQLite: %s%s", db ? sqlite3_errmsg(db) : "out of memory",
                   db && sqlite3_errcode(db) == SQLITE_AUTH ? " (here one may only read)" : "");
}

/* ---- opening ---- */

static struct sqlite *open_as(const char *path, int flags, const char *first, struct err *e)
{
    struct sqlite *s = mem_calloc(1, sizeof(*s));

    /* The file is not looked at before something is asked. */
    if (sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK ||
        sqlite3_exec(s->db, first, NULL, NULL, NULL) != SQLITE_OK) {
        failed(s->db, e);
        sqlite_close(s);
        return NULL;
    }
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return s;
}

struct sqlite *sqlite_open(const char *path, struct err *e)
{
    struct sqlite *s = open_as(path, SQLITE_OPEN_READONLY, "SELECT count(*) FROM sqlite_master", e);

    if (s)
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return s;
}

struct sqlite *sqlite_memory(struct err *e)
{
    struct sqlite *s = open_as(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "", e);

    /* "a word" that is no column is a mistake, and not a text. */
    if (s)
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    return s;
}

struct sqlite *sqlite_file(const char *path, struct err *e)
{
    struct sqlite *s = open_as(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW,
                               "SELECT count(*) FROM sqlite_master", e);

    if (s)
        sqlite3_busy_timeout(s->db, 1000);
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

int sqlite_run(struct sqlite *s, const char *sql, struct err *e)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(s->db, e);
}

int sqlite_bytes(struct sqlite *s, struct buf *out, struct err *e)
{
    sqlite3_int64 n = 0;
    unsigned char *p = sqlite3_serialize(s->db, "main", &n, 0);

    if (!p)
        return err_set(e, "SQLite: the database of %lld bytes cannot be held in memory", (long long)n);
    buf_add(out, p, (size_t)n);
    sqlite3_free(p);
    return 0;
}

/* ---- rows ---- */

static int only_space(const char *sql)
{
    return !sql || !sql[strspn(sql, " \t\r\n;")];
}

struct sqlite_rows *sqlite_query(struct sqlite *s, const char *sql, struct err *e)
{
    struct sqlite_rows *r = mem_calloc(1, sizeof(*r));
    const char *rest = NULL;

    r->s = s;
    if (sqlite3_prepare_v2(s->db, sql, -1, &r->stmt, &rest) != SQLITE_OK)
        failed(s->db, e);
    else if (!r->stmt)
        err_set(e, "there is no statement");
    else if (!only_space(rest))
        err_set(e, "one statement at a time: '%.40s' is a second one", rest + strspn(rest, " \t\r\n;"));
    else
        return r;
    sqlite_rows_free(r);
    return NULL;
}

int sqlite_next(struct sqlite_rows *r, struct err *e)
{
    int rc;

    if (!r->begun) {
        r->s->late = 0;
        r->s->deadline = r->s->limit ? clock_monotonic() + r->s->limit : 0;
        r->begun = 1;
    }
    rc = sqlite3_step(r->stmt);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : failed(r->s->db, e);
}

void sqlite_again(struct sqlite_rows *r)
{
    sqlite3_reset(r->stmt);
    r->begun = 0;
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

double sqlite_real(struct sqlite_rows *r, int column)
{
    return sqlite3_column_double(r->stmt, column);
}

int sqlite_is_null(struct sqlite_rows *r, int column)
{
    return sqlite3_column_type(r->stmt, column) == SQLITE_NULL;
}

enum sqlite_kind sqlite_kind(struct sqlite_rows *r, int column)
{
    switch (sqlite3_column_type(r->stmt, column)) {
    case SQLITE_NULL:
        return SQLITE_KIND_NULL;
    case SQLITE_INTEGER:
        return SQLITE_KIND_INT;
    case SQLITE_FLOAT:
        return SQLITE_KIND_REAL;
    default:
        return SQLITE_KIND_TEXT;
    }
}

int sqlite_columns(struct sqlite_rows *r)
{
    return sqlite3_column_count(r->stmt);
}

const char *sqlite_column(struct sqlite_rows *r, int column)
{
    return sqlite3_column_name(r->stmt, column);
}

void sqlite_bind_int(struct sqlite_rows *r, int number, int64_t v)
{
    sqlite3_bind_int64(r->stmt, number, v);
}

void sqlite_bind_real(struct sqlite_rows *r, int number, double v)
{
    sqlite3_bind_double(r->stmt, number, v);
}

void sqlite_bind_text(struct sqlite_rows *r, int number, const char *text)
{
    sqlite3_bind_text(r->stmt, number, text, -1, SQLITE_TRANSIENT);
}

/* ---- reading only ---- */

static int authorize(void *arg, int action, const char *a, const char *b, const char *database,
                     const char *trigger)
{
    (void)arg, (void)a, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return b && !sqlite3_stricmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static int out_of_time(void *arg)
{
    struct sqlite *s = arg;

    if (s->deadline && clock_monotonic() >= s->deadline)
        s->late = 1;
    return s->late;
}

void sqlite_read_only(struct sqlite *s, uint64_t limit_ns)
{
    s->limit = limit_ns;
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_progress_handler(s->db, PROGRESS_STEPS, out_of_time, s);
    sqlite3_set_authorizer(s->db, authorize, s);
}

void sqlite_limit_values(struct sqlite *s, int bytes)
{
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, bytes);
}

int sqlite_was_late(const struct sqlite *s)
{
    return s->late;
}

/* ---- tables of ours: sqlite.org/vtab.html, of which they are the eponymous-only kind ---- */

struct served {
    sqlite3_vtab base;
    const struct sqlite_table *table;
};

struct served_cursor {
    sqlite3_vtab_cursor base;
    uint64_t row, end;
};

enum { SCAN, LOOKUP };

static int served_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out,
                          char **message)
{
    const struct sqlite_table *t = arg;
    int rc = sqlite3_declare_vtab(db, t->declaration);
    struct served *v;

    (void)argc, (void)argv, (void)message;
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    v = mem_calloc(1, sizeof(*v));
    v->table = t;
    *out = &v->base;
    return SQLITE_OK;
}

static int served_disconnect(sqlite3_vtab *base)
{
    free(base);
    return SQLITE_OK;
}

/* Rows are found by their number; all else is read from the first to the last. */
static int served_best(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    for (int i = 0; i < info->nConstraint; i++) {
        if (!info->aConstraint[i].usable || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ ||
            info->aConstraint[i].iColumn > 0)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->idxNum = LOOKUP;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        info->estimatedCost = 1;
        info->estimatedRows = 1;
        return SQLITE_OK;
    }
    info->idxNum = SCAN;
    info->estimatedCost = 1e6;
    info->estimatedRows = 1000000;
    if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn <= 0 && !info->aOrderBy[0].desc)
        info->orderByConsumed = 1;
    return SQLITE_OK;
}

static int served_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
    struct served_cursor *c = mem_calloc(1, sizeof(*c));

    (void)base;
    *out = &c->base;
    return SQLITE_OK;
}

static int served_close(sqlite3_vtab_cursor *base)
{
    free(base);
    return SQLITE_OK;
}

static int served_filter(sqlite3_vtab_cursor *base, int how, const char *name, int argc, sqlite3_value **argv)
{
    struct served_cursor *c = (struct served_cursor *)base;
    const struct served *v = (const struct served *)base->pVtab;
    struct err e = {0};
    uint64_t rows = 0;
    sqlite3_int64 id;

    (void)name;
    c->row = c->end = 0;
    if (v->table->open(v->table->arg, &rows, &e)) {
        sqlite3_free(base->pVtab->zErrMsg);
        base->pVtab->zErrMsg = sqlite3_mprintf("%s", e.msg);
        return SQLITE_ERROR;
    }
    if (how == SCAN) {
        c->end = rows;
        return SQLITE_OK;
    }
    id = argc && sqlite3_value_numeric_type(argv[0]) != SQLITE_NULL ? sqlite3_value_int64(argv[0]) : 0;
    if (id > 0 && (uint64_t)id <= rows) {
        c->row = (uint64_t)id - 1;
        c->end = (uint64_t)id;
    }
    return SQLITE_OK;
}

static int served_next(sqlite3_vtab_cursor *base)
{
    ((struct served_cursor *)base)->row++;
    return SQLITE_OK;
}

static int served_eof(sqlite3_vtab_cursor *base)
{
    const struct served_cursor *c = (const struct served_cursor *)base;

    return c->row >= c->end;
}

/* SQLite takes any bytes, its readers take UTF-8. */
static void result_text(sqlite3_context *ctx, const char *text)
{
    struct buf valid = {0};

    if (!utf8_is(text)) {
        utf8_add(&valid, text);
        text = buf_str(&valid);
    }
    sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
    buf_release(&valid);
}

static int served_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const struct served_cursor *c = (const struct served_cursor *)base;
    const struct sqlite_table *t = ((const struct served *)base->pVtab)->table;
    struct sqlite_value v = {.kind = SQLITE_KIND_NULL};

    t->value(t->arg, c->row, (unsigned)column, &v);
    if (v.kind == SQLITE_KIND_INT)
        sqlite3_result_int64(ctx, v.i);
    else if (v.kind == SQLITE_KIND_REAL)
        sqlite3_result_double(ctx, v.f);
    else if (v.kind == SQLITE_KIND_TEXT && v.text)
        result_text(ctx, v.text);
    else
        sqlite3_result_null(ctx);
    return SQLITE_OK;
}

static int served_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    *id = (sqlite3_int64)((const struct served_cursor *)base)->row + 1;
    return SQLITE_OK;
}

static const sqlite3_module served = {
    .xConnect = served_connect,
    .xBestIndex = served_best,
    .xDisconnect = served_disconnect,
    .xOpen = served_open,
    .xClose = served_close,
    .xFilter = served_filter,
    .xNext = served_next,
    .xEof = served_eof,
    .xColumn = served_column,
    .xRowid = served_rowid,
};

int sqlite_serve(struct sqlite *s, const char *name, const struct sqlite_table *t, struct err *e)
{
    sqlite3_stmt *stmt = NULL;
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", name);
    /* It is connected with the first statement that names it; once only reading is allowed it could not be.
     */
    int ok = sqlite3_create_module_v2(s->db, name, &served, (void *)(uintptr_t)t, NULL) == SQLITE_OK && sql &&
             sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) == SQLITE_OK;

    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return ok ? 0 : failed(s->db, e);
}
