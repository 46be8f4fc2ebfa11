/* SPDX-License-Identifier: Apache-2.0 */
#include "model/table.h"

#include <string.h>

void table_init(struct table *t, const struct table_column *columns, size_t n)
{
    *t = (struct table){.columns = columns, .ncolumns = n};
}

void table_release(struct table *t)
{
    for (size_t i = 0; i < t->cells.n; i++)
        if (table_is_text(t->columns[i % t->ncolumns].type))
            free(t->cells.a[i].text);
    vec_release(&t->cells);
}

size_t table_rows(const struct table *t)
{
    return t->ncolumns ? t->cells.n / t->ncolumns : 0;
}

union table_cell *table_add(struct table *t)
{
    size_t at = t->cells.n;

    vec_reserve(&t->cells, at + t->ncolumns);
    t->cells.n += t->ncolumns;
    memset(t->cells.a + at, 0, t->ncolumns * sizeof(*t->cells.a));
    return t->cells.a + at;
}

size_t table_limit(struct table *t, size_t n, size_t limit)
{
    if (!limit || n <= limit)
        return n;
    t->left_out = n - limit;
    return limit;
}

int table_is_empty(const struct table *t, size_t column)
{
    if (!t->columns[column].spare || !table_is_text(t->columns[column].type))
        return 0;
    for (size_t i = column; i < t->cells.n; i += t->ncolumns)
        if (t->cells.a[i].text && *t->cells.a[i].text)
            return 0;
    return 1;
}
