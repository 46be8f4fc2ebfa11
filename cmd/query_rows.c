/* SPDX-License-Identifier: Apache-2.0 */
#include "query_rows.h"

#include "product.h"

#include "base/csv.h"
#include "base/json.h"
#include "render/text.h"

#include <math.h>
#include <string.h>

static int has_room(const struct query_rows *q, const struct buf *out)
{
    return (!q->limit || q->written < q->limit) && (!q->max_bytes || out->len < q->max_bytes);
}

/* 1: a row; 0: no more, or the time is over; -1 with `e`. Beyond the limits rows are only counted. */
static int next(struct query_rows *q, struct sqlite *db, struct sqlite_rows *rows, const struct buf *out,
                struct err *e)
{
    int rc;

    while ((rc = sqlite_next(rows, e)) == 1) {
        if (!q->left_out && has_room(q, out)) {
            q->written++;
            return 1;
        }
        q->left_out++;
    }
    q->stopped = rc < 0 && sqlite_was_late(db);
    return q->stopped ? 0 : rc;
}

/* Columns' names; of two that are the same the second gets a number. */
static char **column_names(struct sqlite_rows *rows, int n)
{
    char **names = mem_calloc((size_t)n + 1, sizeof(*names));

    for (int i = 0; i < n; i++) {
        int same = 1;

        for (int k = 0; k < i; k++)
            same += !strcmp(sqlite_column(rows, k), sqlite_column(rows, i));
        names[i] =
            same > 1 ? mem_printf("%s_%d", sqlite_column(rows, i), same) : mem_strdup(sqlite_column(rows, i));
    }
    return names;
}

static void free_names(char **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* ---- csv ---- */

static void csv_cell(struct sqlite_rows *rows, int i, struct buf *out)
{
    switch (sqlite_kind(rows, i)) {
    case SQLITE_KIND_NULL:
        break;
    case SQLITE_KIND_INT:
        buf_addf(out, "%lld", (long long)sqlite_int(rows, i));
        break;
    case SQLITE_KIND_REAL:
        csv_real(out, sqlite_real(rows, i));
        break;
    case SQLITE_KIND_TEXT:
        csv_text(out, sqlite_text(rows, i));
        break;
    }
}

static int write_csv(struct query_rows *q, struct sqlite *db, struct sqlite_rows *rows, struct buf *out,
                     struct err *e)
{
    int n = sqlite_columns(rows), rc;

    for (int i = 0; i < n; i++) {
        csv_text(out, sqlite_column(rows, i));
        buf_addch(out, i + 1 < n ? ',' : '\n');
    }
    while ((rc = next(q, db, rows, out, e)) == 1) {
        for (int i = 0; i < n; i++) {
            csv_cell(rows, i, out);
            buf_addch(out, i + 1 < n ? ',' : '\n');
        }
    }
    return rc;
}

/* ---- json ---- */

static void json_cell(struct json_writer *w, const char *key, struct sqlite_rows *rows, int i)
{
    switch (sqlite_kind(rows, i)) {
    case SQLITE_KIND_NULL:
        json_null(w, key);
        break;
    case SQLITE_KIND_INT:
        json_i64(w, key, sqlite_int(rows, i));
        break;
    case SQLITE_KIND_REAL:
        if (isinf(sqlite_real(rows, i))) /* JSON has no number for it, and null is what is not known */
            json_str(w, key, sqlite_real(rows, i) > 0 ? "Inf" : "-Inf");
        else
            json_f64(w, key, sqlite_real(rows, i));
        break;
    case SQLITE_KIND_TEXT:
        json_str(w, key, sqlite_text(rows, i));
        break;
    }
}

static int write_json(struct query_rows *q, struct sqlite *db, struct sqlite_rows *rows, struct buf *out,
                      struct err *e)
{
    struct json_writer w = {.out = out};
    int n = sqlite_columns(rows), rc;
    char **names = column_names(rows, n);

    json_object(&w, NULL);
    json_array(&w, "columns");
    for (int i = 0; i < n; i++)
        json_str(&w, NULL, names[i]);
    json_end_array(&w);
    json_array(&w, "rows");
    while ((rc = next(q, db, rows, out, e)) == 1) {
        buf_addch(out, '\n');
        json_object(&w, NULL);
        for (int i = 0; i < n; i++)
            json_cell(&w, names[i], rows, i);
        json_end_object(&w);
    }
    json_end_array(&w);
    json_u64(&w, "rows_left_out", q->left_out);
    json_bool(&w, "complete", !q->stopped);
    json_end_object(&w);
    buf_addch(out, '\n');
    free_names(names, n);
    return rc;
}

/* ---- a table ---- */

/* Numbers stand to the right: a column's kind is that of its first value. */
static void take_cell(struct table_column *column, union table_cell *cell, struct sqlite_rows *rows, int i)
{
    struct buf text = {0};
    enum sqlite_kind kind = sqlite_kind(rows, i);

    if (kind == SQLITE_KIND_NULL)
        return;
    if (column->type == TABLE_NS)
        column->type = kind == SQLITE_KIND_TEXT ? TABLE_TEXT : TABLE_FIGURE;
    csv_cell(rows, i, &text);
    if (kind == SQLITE_KIND_TEXT) {
        buf_clear(&text);
        buf_addstr(&text, sqlite_text(rows, i));
    }
    cell->text = buf_detach(&text);
}

static int write_table(struct query_rows *q, struct sqlite *db, struct sqlite_rows *rows, struct buf *out,
                       struct err *e)
{
    struct text_style style = {product_color(), product_width()};
    int n = sqlite_columns(rows), rc;
    char **names = column_names(rows, n);
    struct table_column *columns = mem_calloc((size_t)n + 1, sizeof(*columns));
    struct table t;

    for (int i = 0; i < n; i++) /* TABLE_NS: not known yet */
        columns[i] = (struct table_column){names[i], names[i], TABLE_NS};
    table_init(&t, columns, (size_t)n);
    while ((rc = next(q, db, rows, out, e)) == 1) {
        union table_cell *cells = table_add(&t);

        for (int i = 0; i < n; i++)
            take_cell(&columns[i], &cells[i], rows, i);
    }
    for (int i = 0; i < n; i++) /* nothing but NULL */
        columns[i].type = columns[i].type == TABLE_NS ? TABLE_TEXT : columns[i].type;
    text_table(&t, NULL, &style, out);
    table_release(&t);
    free(columns);
    free_names(names, n);
    return rc;
}

int query_rows_write(struct query_rows *q, const char *format, struct sqlite *db, struct sqlite_rows *rows,
                     struct buf *out, struct err *e)
{
    return (!strcmp(format, "csv")    ? write_csv
            : !strcmp(format, "json") ? write_json
                                      : write_table)(q, db, rows, out, e);
}
