/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/tables/flat.h"

#include "base/csv.h"
#include "base/json.h"
#include "base/map.h"

#include <string.h>

struct flat {
    struct tables *t;
    struct buf *out;
    struct json_writer json;
    int csv, need_comma;
    struct map stacks; /* id -> its text's place in `texts` + 1 */
    struct buf texts, key;
};

/* What a thread is told by, and where it stands in `tasks`. */
static const struct {
    const char *name;
    enum tables_column column;
    int of_process;
} task_columns[] = {
    {"process", COLUMN_tasks_name, 1},
    {"pid", COLUMN_tasks_pid, 0},
    {"thread", COLUMN_tasks_name, 0},
    {"tid", COLUMN_tasks_tid, 0},
};

/* ---- fields ---- */

static void put(struct flat *f, const char *name, const struct sqlite_value *v, int is_json)
{
    if (f->csv) {
        if (f->need_comma)
            buf_addch(f->out, ',');
        f->need_comma = 1;
    }
    switch (v->kind) {
    case SQLITE_KIND_NULL:
        break;
    case SQLITE_KIND_INT:
        if (f->csv)
            buf_addf(f->out, "%lld", (long long)v->i);
        else
            json_i64(&f->json, name, v->i);
        break;
    case SQLITE_KIND_REAL:
        if (f->csv)
            csv_real(f->out, v->f);
        else
            json_f64(&f->json, name, v->f);
        break;
    case SQLITE_KIND_TEXT:
        if (f->csv)
            csv_text(f->out, v->text);
        else if (is_json)
            json_raw(&f->json, name, v->text);
        else
            json_str(&f->json, name, v->text);
        break;
    }
}

static void put_name(struct flat *f, const char *name)
{
    put(f, "", &(struct sqlite_value){.kind = SQLITE_KIND_TEXT, .text = name}, 0);
}

/* "task" gives "pid", "waker" gives "waker_pid". */
static const char *task_key(struct flat *f, const char *column, const char *name)
{
    buf_clear(&f->key);
    buf_addf(&f->key, "%s%s%s", strcmp(column, "task") ? column : "", strcmp(column, "task") ? "_" : "",
             name);
    return f->key.data;
}

static void put_task(struct flat *f, const char *column, const struct sqlite_value *ref)
{
    for (size_t i = 0; i < ARRAY_SIZE(task_columns); i++) {
        struct sqlite_value v = *ref, of = *ref;

        if (ref->kind == SQLITE_KIND_INT && task_columns[i].of_process)
            tables_value(f->t, (uint64_t)ref->i - 1, COLUMN_tasks_process, &of);
        if (of.kind == SQLITE_KIND_INT)
            tables_value(f->t, (uint64_t)of.i - 1, task_columns[i].column, &v);
        put(f, task_key(f, column, task_columns[i].name), &v, 0);
    }
}

static void put_stack(struct flat *f, const char *column, struct sqlite_value *v)
{
    if (v->kind == SQLITE_KIND_INT) {
        uint64_t *at = map_put(&f->stacks, (uint64_t)v->i);

        if (!*at) {
            *at = f->texts.len + 1;
            tables_stack_text(f->t, v->i, &f->texts);
            buf_add(&f->texts, "", 1);
        }
        *v = (struct sqlite_value){.kind = SQLITE_KIND_TEXT, .text = f->texts.data + *at - 1};
    }
    put(f, column, v, 0);
}

/* ---- rows ---- */

static int is_task(const struct tables_column_info *c)
{
    return c->type == TABLES_TASK && c->table != TABLE_tasks;
}

static int is_stack(const struct tables_column_info *c)
{
    return c->type == TABLES_STACK && c->table != TABLE_stacks;
}

static void put_header(struct flat *f, enum tables_column first, unsigned n)
{
    for (unsigned k = first; k < first + n; k++) {
        const struct tables_column_info *c = tables_column_info(k);

        if (is_task(c))
            for (size_t i = 0; i < ARRAY_SIZE(task_columns); i++)
                put_name(f, task_key(f, c->name, task_columns[i].name));
        else if (c->type != TABLES_SESSION)
            put_name(f, c->name);
    }
    buf_addch(f->out, '\n');
    f->need_comma = 0;
}

static void put_row(struct flat *f, uint64_t row, enum tables_column first, unsigned n)
{
    for (unsigned k = first; k < first + n; k++) {
        const struct tables_column_info *c = tables_column_info(k);
        struct sqlite_value v;

        if (c->type == TABLES_SESSION)
            continue;
        tables_value(f->t, row, k, &v);
        if (is_task(c))
            put_task(f, c->name, &v);
        else if (is_stack(c))
            put_stack(f, c->name, &v);
        else
            put(f, c->name, &v, c->type == TABLES_JSON);
    }
}

static int write_rows(struct flat *f, enum tables_table table, struct err *e)
{
    enum tables_column first = 0;
    unsigned n = tables_columns(table, &first);
    uint64_t rows, other;

    /* What threads and stacks are made of. */
    if (tables_rows(f->t, table, &rows, e) ||
        (tables_info(table)->from == TABLES_LOG &&
         (tables_rows(f->t, TABLE_tasks, &other, e) || tables_rows(f->t, TABLE_stacks, &other, e))))
        return -1;
    if (f->csv)
        put_header(f, first, n);
    for (uint64_t row = 0; row < rows; row++) {
        if (!f->csv) {
            json_object(&f->json, NULL);
            json_str(&f->json, "type", tables_info(table)->word);
        }
        put_row(f, row, first, n);
        if (!f->csv)
            json_end_object(&f->json);
        buf_addch(f->out, '\n');
        f->need_comma = f->json.need_comma = 0;
    }
    map_release(&f->stacks);
    buf_release(&f->texts);
    buf_release(&f->key);
    return 0;
}

int tables_csv(struct tables *t, enum tables_table table, struct buf *out, struct err *e)
{
    struct flat f = {.t = t, .out = out, .csv = 1};

    return write_rows(&f, table, e);
}

int tables_ndjson(struct tables *t, enum tables_table table, struct buf *out, struct err *e)
{
    struct flat f = {.t = t, .out = out, .json = {.out = out}};

    return write_rows(&f, table, e);
}
