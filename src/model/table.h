/* SPDX-License-Identifier: Apache-2.0 */
/* The table view: rows under typed columns. Text, JSON and pages are made of the same one. */
#ifndef WPROF_MODEL_TABLE_H
#define WPROF_MODEL_TABLE_H

#include "base/vec.h"

#include <stdint.h>

enum table_type {
    TABLE_TEXT,
    TABLE_COUNT, /* a whole number */
    TABLE_ID,    /* the same, but not a quantity: a pid */
    TABLE_SHARE, /* 0..1 */
    TABLE_NS,
    TABLE_BYTES,
    TABLE_REAL,   /* `share`, as a number; NAN: not measured */
    TABLE_FIGURE, /* a number as text, with its unit; to the right */
};

#define TABLE_NONE UINT64_MAX /* of TABLE_COUNT, TABLE_NS, TABLE_BYTES: not measured */

static inline int table_is_text(enum table_type type)
{
    return type == TABLE_TEXT || type == TABLE_FIGURE;
}

struct table_column {
    const char *key;   /* in JSON: "self_share"; static */
    const char *title; /* for people; NULL: only in JSON */
    enum table_type type;
    unsigned spare; /* a terminal that is too narrow goes without the columns of the highest number first;
                       0: never. Where it is set, a column without any text isn't shown */
};

union table_cell {
    char *text; /* owned; NULL where there is none */
    uint64_t count;
    double share; /* NAN: not measured */
};

struct table {
    const struct table_column *columns; /* borrowed */
    size_t ncolumns;
    VEC(union table_cell) cells; /* row by row */
    uint64_t left_out;           /* rows beyond the limit asked for */
};

void table_init(struct table *t, const struct table_column *columns, size_t n);
void table_release(struct table *t);
size_t table_rows(const struct table *t);

/* Whether no row has a text in that column of texts, and no row needs one: it is spare. */
int table_is_empty(const struct table *t, size_t column);

/* Of n rows that there might be, how many there shall be; limit 0: all. Counts the others as left out. */
size_t table_limit(struct table *t, size_t n, size_t limit);

/* The cells of a new row, zeroed; valid until the next row. */
union table_cell *table_add(struct table *t);

#endif
