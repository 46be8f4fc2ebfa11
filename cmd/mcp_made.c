/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that answer what commands of their names do. */
#include "diff.h"
#include "mcp_tools.h"
#include "query_rows.h"
#include "tables_open.h"

#include "analyze/report.h"
#include "exchange/tables/sql.h"
#include "render/report.h"
#include "render/sessions.h"

#include <stdlib.h>
#include <string.h>

enum { REPORT_ROWS = 15, VALUE_BYTES = 1 << 20, QUERY_BYTES = 80000, QUERY_TIMEOUT_S = 20 };

/* ---- list_sessions ---- */

int mcp_list_sessions(const struct mcp_job *j, struct buf *out, struct err *e)
{
    struct sessions s = {0};
    struct sessions_filter f = {mcp_job_text(j, "host"), mcp_job_text(j, "workload"), mcp_job_text(j, "kind"),
                                .limit = mcp_job_count(j, "limit")};
    int rc = mcp_roots_list(j->roots, &s, e);

    if (!rc) {
        sessions_filter(&s, &f);
        sessions_json(&s, out);
    }
    sessions_release(&s);
    return rc;
}

/* ---- report ---- */

static int put_report(const struct mcp_job *j, const struct session *s, struct buf *out, struct err *e)
{
    struct rule_settings set = {0};
    struct report_opts how = {&set, REPORT_ROWS};
    struct json_writer w = {.out = out};
    const char *rule = mcp_job_text(j, "rule");
    struct quality q = {0};
    struct report r = {0};
    int rc = rule ? rule_only(&set, rule, e) : 0;

    if (!rc) {
        quality_compute(&q, &s->store, &s->meta);
        rc = report_make(&r, s, &q, &how, e);
    }
    if (!rc)
        report_json(&r, &w);
    report_release(&r);
    rule_settings_release(&set);
    return rc;
}

int mcp_report(const struct mcp_job *j, struct buf *out, struct err *e)
{
    struct session s;
    int rc;

    if (mcp_roots_open(j->roots, mcp_job_text(j, "session_id"), &s, e))
        return -1;
    rc = put_report(j, &s, out, e);
    session_release(&s);
    return rc;
}

/* ---- sessions of a list ---- */

/* One text, or an array of them. */
static const struct json_value *first_of(const struct mcp_job *j, const char *name)
{
    const struct json_value *v = json_get(j->args, name);

    return v->type == JSON_ARRAY ? v->child : v;
}

static const struct json_value *next_of(const struct mcp_job *j, const char *name, const struct json_value *v)
{
    return v == json_get(j->args, name) ? NULL : v->next;
}

/* ---- diff ---- */

static int find_side(const struct mcp_job *j, const char *name, struct diff_paths *side, struct err *e)
{
    for (const struct json_value *v = first_of(j, name); v; v = next_of(j, name, v)) {
        char *path = mcp_roots_find(j->roots, v->str, e);

        if (!path)
            return err_wrap(e, "%s", name);
        *vec_push(&side->list) = path;
    }
    return 0;
}

/* Rows of the one level that was asked for, `top` of them, stand for the rows of all levels. */
static void put_level(struct json_writer *w, const struct json_value *level, uint64_t top)
{
    const struct json_value *rows = json_get(level, "rows");
    uint64_t n = 0;

    json_copy(w, "rows_of", json_get(level, "value"));
    json_copy(w, "tests", json_get(level, "tests"));
    json_copy(w, "below_min_share", json_get(level, "below_min_share"));
    json_array(w, "rows");
    for (const struct json_value *c = rows->child; c && n < top; c = c->next, n++)
        json_copy(w, NULL, c);
    json_end_array(w);
    json_u64(w, "rows_left_out", rows->len - n);
}

static int put_diff(const struct json_value *all, enum comparison_level by, uint64_t top, struct buf *out)
{
    struct json_writer w = {.out = out};

    json_object(&w, NULL);
    for (const struct json_value *c = all->child; c; c = c->next) {
        if (!strcmp(c->key, comparison_level_names(by)))
            put_level(&w, c, top);
        else if (!json_get(c, "rows"))
            json_copy(&w, c->key, c);
    }
    json_end_object(&w);
    return 0;
}

static int compare(const struct mcp_job *j, const struct diff_paths *side, struct buf *out, struct err *e)
{
    const struct diff_opts_how asked = {.format = "json",
                                        .by = mcp_job_text(j, "by"),
                                        .per = mcp_job_text(j, "per"),
                                        .min_share = "1%",
                                        .alpha = "0.01"};
    struct compare_opts how = {.metric = mcp_job_text(j, "metric")};
    const struct diff_renderer *r = diff_how_renderer(&asked);
    struct diff_style style = {0};
    struct comparison c = {0};
    struct buf text = {0};
    struct json_doc *doc = NULL;
    int rc = diff_how(&how, &asked, e) ? -1 : diff_compare(&c, &how, side, r, e);

    if (!rc)
        rc = r->render(&c, &style, &text, e);
    if (!rc && !(doc = json_parse(text.data, text.len, e)))
        rc = -1;
    if (!rc)
        rc = put_diff(json_root(doc), how.by, mcp_job_count(j, "top"), out);
    json_free(doc);
    buf_release(&text);
    comparison_release(&c);
    return rc;
}

int mcp_diff(const struct mcp_job *j, struct buf *out, struct err *e)
{
    struct diff_paths side[COMPARISON_SIDES] = {0};
    int rc = find_side(j, "base", &side[COMPARISON_BASE], e) || find_side(j, "new", &side[COMPARISON_NEW], e);

    rc = rc ? -1 : compare(j, side, out, e);
    for (int k = 0; k < COMPARISON_SIDES; k++)
        diff_paths_release(&side[k]);
    return rc;
}

/* ---- query ---- */

static int put_schema(struct buf *out)
{
    struct json_writer w = {.out = out};
    struct buf text = {0};

    tables_sql_schema(&text);
    json_object(&w, NULL);
    json_strn(&w, "schema", text.data, text.len);
    json_end_object(&w);
    buf_release(&text);
    return 0;
}

static struct tables *open_tables(const struct mcp_job *j, struct err *e)
{
    struct tables *t = tables_new(&tables_open_reader);

    for (const struct json_value *v = first_of(j, "sessions"); v; v = next_of(j, "sessions", v)) {
        char *path = mcp_roots_find(j->roots, v->str, e);
        int rc = path ? tables_add(t, path, e) : -1;

        free(path);
        if (rc) {
            tables_free(t);
            return NULL;
        }
    }
    return t;
}

static int ask(const struct mcp_job *j, struct sqlite *db, struct buf *out, struct err *e)
{
    const struct tables_sql_text *ready = tables_query_find(mcp_job_text(j, "sql"));
    struct query_rows rows = {.limit = mcp_job_count(j, "rows"), .max_bytes = QUERY_BYTES};
    uint64_t limit = QUERY_TIMEOUT_S * 1000000000ull;
    struct sqlite_rows *r;
    int rc;

    sqlite_read_only(db, limit < j->timeout ? limit : j->timeout);
    sqlite_limit_values(db, VALUE_BYTES);
    r = sqlite_query(db, ready ? ready->sql : mcp_job_text(j, "sql"), e);
    rc = r ? query_rows_write(&rows, "json", db, r, out, e) : -1;
    sqlite_rows_free(r);
    return rc ? err_wrap(e, "the statement failed (sql: \"schema\" tells the tables and their columns)") : 0;
}

int mcp_query(const struct mcp_job *j, struct buf *out, struct err *e)
{
    struct tables *t;
    struct tables_sql *sql;
    int rc;

    if (!strcmp(mcp_job_text(j, "sql"), "schema"))
        return put_schema(out);
    t = open_tables(j, e);
    sql = t ? tables_sql_new(t, e) : NULL;
    rc = sql ? ask(j, tables_sql_db(sql), out, e) : -1;
    tables_sql_free(sql);
    tables_free(t);
    return rc;
}
