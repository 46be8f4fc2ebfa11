/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/export/export.h"

#include "exchange/tables/flat.h"

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    int table = in->table ? tables_find(in->table) : TABLE_samples;

    if (table < 0)
        return err_set(e, "no table '%s' (there are those of wprof query --schema)", in->table);
    return tables_csv(in->tables, table, out, e);
}

const struct exporter export_csv = {
    .name = "csv",
    .summary = "a table of the session: samples, or what --table says",
    .wants_tables = 1,
    .run = run,
};
