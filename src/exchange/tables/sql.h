/* SPDX-License-Identifier: Apache-2.0 */
/* The tables in SQL: their declarations, views of them, ready queries. */
#ifndef WPROF_EXCHANGE_TABLES_SQL_H
#define WPROF_EXCHANGE_TABLES_SQL_H

#include "exchange/tables/tables.h"

struct tables_sql_text {
    const char *name, *what, *sql;
};

/* Ready queries and views; static. */
extern const struct tables_sql_text tables_queries[], tables_views[];
extern const size_t tables_nqueries, tables_nviews;

const struct tables_sql_text *tables_query_find(const char *name); /* NULL: none */

/* All of them and the views: what an exported database holds. */
void tables_sql_schema(struct buf *out);

struct tables_sql;

/* A database in which the tables are read from `t`, which is borrowed, and the views are made. Nothing is
 * copied. NULL with `e`. */
struct tables_sql *tables_sql_new(struct tables *t, struct err *e);
struct sqlite *tables_sql_db(const struct tables_sql *q);
void tables_sql_free(struct tables_sql *q);

/* A database file that holds the tables themselves, and the views. Appended to `out`. */
int tables_sql_copy(struct tables *t, struct buf *out, struct err *e);

#endif
