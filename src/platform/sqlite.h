/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite: to read databases that others wrote, to ask tables of ours, to write such as files. Left out of the
 * build (NO_SQLITE=1), whatever opens one says so. */
#ifndef WPROF_PLATFORM_SQLITE_H
#define WPROF_PLATFORM_SQLITE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

struct sqlite;
struct sqlite_rows;

/* Read-only; what is in the file cannot make SQLite do anything but read it. NULL with `e`, which does not
 * name the file. */
struct sqlite *sqlite_open(const char *path, struct err *e);
void sqlite_close(struct sqlite *db); /* NULL is allowed; its rows must be freed before */

/* Whether there is a table, with that column unless NULL. */
int sqlite_has(struct sqlite *db, const char *table, const char *column);

/* One statement, which may have parameters ?1, ?2 ... NULL with `e`. */
struct sqlite_rows *sqlite_query(struct sqlite *db, const char *sql, struct err *e);
int sqlite_next(struct sqlite_rows *r, struct err *e); /* 1: there is a row; 0: no more; -1 with `e` */
void sqlite_rows_free(struct sqlite_rows *r);

/* Of the row: 0, or NULL, where it is NULL. Text is valid until the next row. */
int64_t sqlite_int(struct sqlite_rows *r, int column);
const char *sqlite_text(struct sqlite_rows *r, int column);
int sqlite_is_null(struct sqlite_rows *r, int column);
double sqlite_real(struct sqlite_rows *r, int column);

enum sqlite_kind { SQLITE_KIND_NULL, SQLITE_KIND_INT, SQLITE_KIND_REAL, SQLITE_KIND_TEXT };
enum sqlite_kind sqlite_kind(struct sqlite_rows *r, int column); /* of the row's value; bytes are text */
int sqlite_columns(struct sqlite_rows *r);
const char *sqlite_column(struct sqlite_rows *r, int column); /* its name */

/* Parameters, from 1, before the first row. Text is copied; NULL is NULL. Rows that were read are there again
 * after sqlite_again(), which keeps the parameters. */
void sqlite_bind_int(struct sqlite_rows *r, int number, int64_t v);
void sqlite_bind_real(struct sqlite_rows *r, int number, double v);
void sqlite_bind_text(struct sqlite_rows *r, int number, const char *text);
void sqlite_again(struct sqlite_rows *r);

/* ---- databases of our own ---- */

struct sqlite *sqlite_memory(struct err *e);                 /* an empty one */
struct sqlite *sqlite_file(const char *path, struct err *e); /* to read and write; made where there is none */
int sqlite_run(struct sqlite *db, const char *sql, struct err *e); /* statements that give no rows */
int sqlite_bytes(struct sqlite *db, struct buf *out,
                 struct err *e); /* appends what a file of it would hold */

struct sqlite_value {
    enum sqlite_kind kind;
    int64_t i;
    double f;
    const char *text; /* valid until the next value is asked for */
};

/* A table that SQLite asks for when it needs it. Its first column is the row's number, from 1. */
struct sqlite_table {
    const char *declaration; /* "CREATE TABLE x(id INTEGER, ...)": the name does not matter */
    int (*open)(void *arg, uint64_t *rows, struct err *e); /* before it is read; again each time */
    void (*value)(void *arg, uint64_t row, unsigned column, struct sqlite_value *out); /* row: from 0 */
    void *arg;
};

/* `t` is borrowed as long as the database is open. */
int sqlite_serve(struct sqlite *db, const char *name, const struct sqlite_table *t, struct err *e);

/* From now on statements may read, and do nothing else; each for `limit_ns`, 0: without a limit. */
void sqlite_read_only(struct sqlite *db, uint64_t limit_ns);
/* And no value or row may have more bytes. */
void sqlite_limit_values(struct sqlite *db, int bytes);
int sqlite_was_late(const struct sqlite *db); /* whether the last error was that limit */

#endif
