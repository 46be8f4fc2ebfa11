/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/export.h"

#include "exchange/tables/sql.h"

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    return tables_sql_copy(in->tables, out, e);
}

const struct exporter export_sqlite = {
    .name = "sqlite",
    .summary = "a database with all that is in the session: see wprof-sqlite(5)",
    .wants_tables = 1,
    .run = run,
};
