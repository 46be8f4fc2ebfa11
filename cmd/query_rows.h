/* SPDX-License-Identifier: Apache-2.0 */
/* How `query` writes what a statement gives. */
#ifndef WPROF_CMD_QUERY_ROWS_H
#define WPROF_CMD_QUERY_ROWS_H

#include "platform/sqlite.h"

struct query_rows {
    uint64_t limit;    /* rows to write, 0: all */
    size_t max_bytes;  /* no row of csv or json begins beyond so much text; 0: without that limit */
    uint64_t left_out; /* rows that there were beyond */
    uint64_t written;
    int stopped; /* the statement did not come to its end: there may be more rows */
};

/* Appends the rows in a format: "table", "csv", "json". -1 with `e`: the statement failed; where it was only
 * stopped (sqlite_was_late()) that is 0, and what there is of it was written. */
int query_rows_write(struct query_rows *q, const char *format, struct sqlite *db, struct sqlite_rows *rows,
                     struct buf *out, struct err *e);

#endif
