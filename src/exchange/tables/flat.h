/* SPDX-License-Identifier: Apache-2.0 */
/* The tables as text, each line by itself: threads and stacks stand as names where the tables refer to them.
 */
#ifndef WPROF_EXCHANGE_TABLES_FLAT_H
#define WPROF_EXCHANGE_TABLES_FLAT_H

#include "exchange/tables/tables.h"

/* A line of names, then a line a row: CSV. */
int tables_csv(struct tables *t, enum tables_table table, struct buf *out, struct err *e);

/* An object a line, with the member "type": what the table calls a row. NULL members are left out. */
int tables_ndjson(struct tables *t, enum tables_table table, struct buf *out, struct err *e);

#endif
