/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/tables/sql.h"

#include <string.h>

#define VIEW(name, what, sql) {#name, what, sql},
const struct tables_sql_text tables_views[] = {
#include "exchange/tables/views.def"
};
#undef VIEW
const size_t tables_nviews = ARRAY_SIZE(tables_views);

#define QUERY(name, what, sql) {#name, what, sql},
const struct tables_sql_text tables_queries[] = {
#include "exchange/tables/queries.def"
};
#undef QUERY
const size_t tables_nqueries = ARRAY_SIZE(tables_queries);

/* What is looked up in exported databases by other than the row's number. */
static const char indexes[] = "CREATE UNIQUE INDEX reports_mode ON reports(session_id, mode);\n"
                              "CREATE INDEX sessions_id ON sessions(session_id);\n"
                              "CREATE INDEX frames_name ON frames(name);\n";

enum { SCHEMA_VERSION = 1, APPLICATION_ID = 0x77707266 /* "wprf" */ };

struct served {
    struct tables *t;
    enum tables_table table;
    enum tables_column first;
    struct buf declaration;
    struct sqlite_table as;
};

struct tables_sql {
    struct sqlite *db;
    struct served tables[TABLES];
};

const struct tables_sql_text *tables_query_find(const char *name)
{
    for (size_t i = 0; i < tables_nqueries; i++)
        if (!strcmp(tables_queries[i].name, name))
            return &tables_queries[i];
    return NULL;
}

/* ---- declarations ---- */

static const char *const sql_types[] = {
    [TABLES_ID] = "INTEGER PRIMARY KEY",
    [TABLES_SESSION] = "INTEGER REFERENCES sessions(id)",
    [TABLES_TASK] = "INTEGER REFERENCES tasks(id)",
    [TABLES_STACK] = "INTEGER REFERENCES stacks(id)",
    [TABLES_FRAME] = "INTEGER REFERENCES frames(id)",
    [TABLES_NODE] = "INTEGER REFERENCES nodes(id)",
    [TABLES_INT] = "INTEGER",
    [TABLES_REAL] = "REAL",
    [TABLES_TEXT] = "TEXT",
    [TABLES_JSON] = "TEXT",
};

/* Appends the declaration of a table, with comments where `comments`. */
static void declare(enum tables_table t, int comments, struct buf *out)
{
    const struct tables_info *info = tables_info(t);
    enum tables_column first = 0;
    unsigned n = tables_columns(t, &first);

    if (comments)
        buf_addf(out, "-- %s\n", info->what);
    buf_addf(out, "CREATE TABLE %s(", info->name);
    for (unsigned i = 0; i < n; i++) {
        const struct tables_column_info *c = tables_column_info(first + i);
        const char *end = i + 1 < n ? "," : "";

        if (!comments)
            buf_addf(out, "%s %s%s", c->name, sql_types[c->type], end);
        else
            buf_addf(out, "\n    %s %s%s%s%s", c->name, sql_types[c->type], end, *c->what ? " -- " : "",
                     c->what);
    }
    buf_addstr(out, comments ? "\n);\n" : ")");
}

static void add_view(const struct tables_sql_text *v, struct buf *out)
{
    buf_addf(out, "CREATE VIEW %s AS\n%s;\n", v->name, v->sql);
}

void tables_sql_schema(struct buf *out)
{
    for (int t = 0; t < TABLES; t++) {
        declare(t, 1, out);
        buf_addch(out, '\n');
    }
    buf_addstr(out, indexes);
    for (size_t i = 0; i < tables_nviews; i++) {
        buf_addf(out, "\n-- %s\n", tables_views[i].what);
        add_view(&tables_views[i], out);
    }
}

/* ---- served ---- */

static int served_open(void *arg, uint64_t *rows, struct err *e)
{
    struct served *s = arg;

    return tables_rows(s->t, s->table, rows, e);
}

static void served_value(void *arg, uint64_t row, unsigned column, struct sqlite_value *out)
{
    struct served *s = arg;

    tables_value(s->t, row, s->first + column, out);
}

static int serve(struct tables_sql *q, struct tables *t, const char *prefix, struct err *e)
{
    for (int i = 0; i < TABLES; i++) {
        struct served *s = &q->tables[i];
        char *name = mem_printf("%s%s", prefix, tables_info(i)->name);
        int rc;

        s->t = t;
        s->table = i;
        tables_columns(i, &s->first);
        buf_clear(&s->declaration);
        declare(i, 0, &s->declaration);
        s->as = (struct sqlite_table){s->declaration.data, served_open, served_value, s};
        rc = sqlite_serve(q->db, name, &s->as, e);
        free(name);
        if (rc)
            return -1;
    }
    return 0;
}

static int make_views(struct sqlite *db, struct err *e)
{
    struct buf sql = {0};
    int rc;

    for (size_t i = 0; i < tables_nviews; i++)
        add_view(&tables_views[i], &sql);
    rc = sqlite_run(db, buf_str(&sql), e);
    buf_release(&sql);
    return rc;
}

static struct tables_sql *new_database(struct tables *t, const char *prefix, struct err *e)
{
    struct tables_sql *q = mem_calloc(1, sizeof(*q));

    q->db = sqlite_memory(e);
    if (q->db && !serve(q, t, prefix, e))
        return q;
    tables_sql_free(q);
    return NULL;
}

struct tables_sql *tables_sql_new(struct tables *t, struct err *e)
{
    struct tables_sql *q = new_database(t, "", e);

    if (!q || !make_views(q->db, e))
        return q;
    tables_sql_free(q);
    return NULL;
}

struct sqlite *tables_sql_db(const struct tables_sql *q)
{
    return q->db;
}

void tables_sql_free(struct tables_sql *q)
{
    if (!q)
        return;
    sqlite_close(q->db);
    for (int i = 0; i < TABLES; i++)
        buf_release(&q->tables[i].declaration);
    free(q);
}

/* ---- copied ---- */

static int copy_tables(struct sqlite *db, struct err *e)
{
    struct buf sql = {0};
    int rc;

    buf_addf(&sql, "PRAGMA user_version = %d; PRAGMA application_id = %d; BEGIN;\n", SCHEMA_VERSION,
             APPLICATION_ID);
    for (int t = 0; t < TABLES; t++) {
        const char *name = tables_info(t)->name;

        declare(t, 1, &sql);
        buf_addf(&sql, "INSERT INTO %s SELECT * FROM from_%s;\n", name, name);
    }
    buf_addf(&sql, "%sCOMMIT;\n", indexes);
    rc = sqlite_run(db, sql.data, e);
    buf_release(&sql);
    return rc;
}

int tables_sql_copy(struct tables *t, struct buf *out, struct err *e)
{
    struct tables_sql *q = new_database(t, "from_", e);
    int rc = q && !copy_tables(q->db, e) && !make_views(q->db, e) ? sqlite_bytes(q->db, out, e) : -1;

    tables_sql_free(q);
    return rc;
}
