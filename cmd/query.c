/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "product.h"
#include "query_rows.h"
#include "tables_open.h"

#include "base/log.h"
#include "base/units.h"
#include "exchange/tables/sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct query_opts {
    const char *format;
    uint64_t rows, timeout;
    int list, schema;
};

static const struct opt options[] = {
    OPT_CHOICE('f', "format", struct query_opts, format, "FORMAT", "table", "table|csv|json",
               "how rows are written"),
    OPT_UINT('n', "rows", struct query_opts, rows, "N", "1000", NULL, "rows to write; 0: all"),
    OPT_DURATION(0, "timeout", struct query_opts, timeout, "TIME", "60s", NULL,
                 "stop the statement after that; 0: never"),
    OPT_FLAG('l', "list", struct query_opts, list, "the ready queries"),
    OPT_FLAG(0, "schema", struct query_opts, schema, "the tables and views, as SQL"),
};

/* ---- which statement, of which sessions ---- */

struct question {
    const char *sql;
    char *const *sessions;
    size_t nsessions;
};

/* Sessions have no spaces in their names as a rule, and statements have. */
static int is_statement(const char *s)
{
    static const char *const words[] = {"select", "with", "values", "explain"};

    s += strspn(s, " \t\r\n");
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t n = strlen(words[i]);

        if (!strncasecmp(s, words[i], n) && strchr(" \t\r\n(*'\"", s[n]) && s[n])
            return 1;
    }
    return !strncmp(s, "--", 2) || !strncmp(s, "/*", 2) || (strchr(s, ' ') && access(s, F_OK));
}

/* "NAME SESSION...", "SESSION... NAME", "SESSION... STATEMENT". -1: there is none of them. */
static int understand(struct question *q, int argc, char **argv)
{
    const struct tables_sql_text *ready = NULL;

    if (is_statement(argv[argc - 1])) {
        *q = (struct question){argv[argc - 1], argv, (size_t)argc - 1};
        return 0;
    }
    if ((ready = tables_query_find(argv[0])))
        *q = (struct question){ready->sql, argv + 1, (size_t)argc - 1};
    else if ((ready = tables_query_find(argv[argc - 1])))
        *q = (struct question){ready->sql, argv, (size_t)argc - 1};
    return ready ? 0 : -1;
}

static const char *nearest(const char *word)
{
    const char **names = mem_calloc(tables_nqueries, sizeof(*names)), *near;

    for (size_t i = 0; i < tables_nqueries; i++)
        names[i] = tables_queries[i].name;
    near = opt_nearest(word, names, tables_nqueries);
    free(names);
    return near;
}

/* ---- lists ---- */

static void list_queries(struct buf *out)
{
    for (size_t i = 0; i < tables_nqueries; i++)
        buf_addf(out, "%-10s %s\n", tables_queries[i].name, tables_queries[i].what);
}

/* ---- asking ---- */

static void say_bounds(const struct query_rows *q, const struct query_opts *o)
{
    char text[32];

    if (q->left_out)
        log_warn("%" PRIu64 " more row%s left out after the first %" PRIu64 " (--rows 0 writes all)%s",
                 q->left_out, q->left_out == 1 ? " was" : "s were", q->written,
                 q->stopped ? ", and the statement was not over" : "");
    if (q->stopped)
        log_error("stopped after %s (--timeout): %" PRIu64 " row%s by then, there may be more",
                  units_duration(text, sizeof(text), o->timeout), q->written + q->left_out,
                  q->written + q->left_out == 1 ? "" : "s");
}

static int answer(const struct query_opts *o, const struct question *q, struct tables_sql *sql, int *code,
                  struct err *e)
{
    struct sqlite *db = tables_sql_db(sql);
    struct query_rows rows = {.limit = o->rows};
    struct sqlite_rows *r;
    struct buf out = {0};
    int rc;

    sqlite_read_only(db, o->timeout);
    r = sqlite_query(db, q->sql, e);
    rc = r ? query_rows_write(&rows, o->format, db, r, &out, e) : -1;
    if (!rc) {
        product_print(&out);
        say_bounds(&rows, o);
        *code = rows.stopped ? EXIT_FAILED : EXIT_OK;
    }
    sqlite_rows_free(r);
    buf_release(&out);
    return rc;
}

static int ask(const struct query_opts *o, const struct question *q)
{
    struct err e = {0};
    struct tables *t = tables_open(q->sessions, q->nsessions, &e);
    struct tables_sql *sql = t ? tables_sql_new(t, &e) : NULL;
    int code = EXIT_FAILED;

    if (!sql || answer(o, q, sql, &code, &e))
        log_error("%s%s", e.msg, strstr(e.msg, "no such ") ? " (what there is: wprof query --schema)" : "");
    tables_sql_free(sql);
    tables_free(t);
    return code;
}

static int query_run(const void *values, const struct config *cfg, int argc, char **argv)
{
    const struct query_opts *o = values;
    struct question q = {0};
    struct buf out = {0};

    if (o->list)
        list_queries(&out);
    if (o->schema)
        tables_sql_schema(&out);
    if (out.len) {
        product_print(&out);
        buf_release(&out);
        return EXIT_OK;
    }
    if (!argc)
        return command_usage(&cmd_query, "needs a statement, or one of `wprof query --list`");
    if (understand(&q, argc, argv)) {
        const char *near = nearest(argv[0]);

        return command_usage(
            &cmd_query, "neither '%s' nor '%s' is a statement or a ready query%s%s%s (see --list)", argv[0],
            argv[argc - 1], near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return ask(o, &q);
}

const struct command cmd_query = {
    .name = "query",
    .summary = "ask sessions in SQL",
    .operands = "[SESSION...] STATEMENT | NAME [SESSION...]",
    .opts = options,
    .nopts = ARRAY_SIZE(options),
    .values_size = sizeof(struct query_opts),
    .examples = "wprof query --list\n"
                "wprof query hot\n"
                "wprof query run-1 run-2 \"SELECT session, sum(value) FROM samples GROUP BY 1\"\n"
                "wprof query -f csv waits wprof-train-20260716-153012-abc123 >waits.csv",
    .run = query_run,
};
