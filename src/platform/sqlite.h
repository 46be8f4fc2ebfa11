/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite, to read databases that others wrote. Left out of the build (NO_SQLITE=1), sqlite_open() says so. */
#ifndef WPROF_PLATFORM_SQLITE_H
#define WPROF_PLATFORM_SQLITE_H

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

struct sqlite_rows *sqlite_query(struct sqlite *db, const char *sql, struct err *e); /* NULL with `e` */
int sqlite_next(struct sqlite_rows *r, struct err *e); /* 1: there is a row; 0: no more; -1 with `e` */
void sqlite_rows_free(struct sqlite_rows *r);

/* Of the row: 0, or NULL, where it is NULL. Text is valid until the next row. */
int64_t sqlite_int(struct sqlite_rows *r, int column);
const char *sqlite_text(struct sqlite_rows *r, int column);
int sqlite_is_null(struct sqlite_rows *r, int column);

#endif
