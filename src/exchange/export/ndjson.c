/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/export.h"

#include "exchange/tables/flat.h"

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    int table = in->table ? tables_find(in->table) : -1;

    if (in->table && (table < 0 || !*tables_info(table)->word))
        return err_set(e, "no table '%s' with lines of its own (there are those of wprof query --schema)",
                       in->table);
    if (table >= 0)
        return tables_ndjson(in->tables, table, out, e);
    for (table = 0; table < TABLES; table++)
        if (*tables_info(table)->word && tables_ndjson(in->tables, table, out, e))
            return -1;
    return 0;
}

const struct exporter export_ndjson = {
    .name = "ndjson",
    .summary = "everything, an object a line with its type",
    .wants_tables = 1,
    .run = run,
};
