/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions as tables: tables.def says which and what is in them. Nothing is copied; a value is made when it
 * is asked for, a session's log is read when a table that needs it is. Several sessions stand one below the
 * other: ids are those of rows, unique over all of them, so that tables join by them alone.
 */
#ifndef WPROF_EXCHANGE_TABLES_H
#define WPROF_EXCHANGE_TABLES_H

#include "base/buf.h"
#include "base/err.h"
#include "model/graph.h"
#include "model/session.h"
#include "platform/sqlite.h"

#define TABLE(name, ...) TABLE_##name,
#define COLUMN(...)
enum tables_table {
#include "exchange/tables/tables.def"
    TABLES
};
#undef TABLE
#undef COLUMN

#define TABLE(...)
#define COLUMN(table, name, ...) COLUMN_##table##_##name,
enum tables_column {
#include "exchange/tables/tables.def"
    TABLES_COLUMNS
};
#undef TABLE
#undef COLUMN

/* What of a session a table needs. */
enum tables_from { TABLES_META, TABLES_LOG, TABLES_GRAPH };

enum tables_type {
    TABLES_ID,
    TABLES_SESSION, /* numbers of other tables' rows, from here ... */
    TABLES_TASK,
    TABLES_STACK,
    TABLES_FRAME,
    TABLES_NODE, /* ... to here */
    TABLES_INT,
    TABLES_REAL,
    TABLES_TEXT,
    TABLES_JSON, /* text that is JSON */
};

struct tables_column_info {
    const char *name, *what;
    enum tables_table table;
    enum tables_type type;
};

struct tables_info {
    const char *name, *word, *what;
    enum tables_from from;
};

/* Static. */
const struct tables_info *tables_info(enum tables_table t);
const struct tables_column_info *tables_column_info(enum tables_column c);
unsigned tables_columns(enum tables_table t, enum tables_column *first); /* how many */
int tables_find(const char *name);                                       /* -1: none of that name */

struct tables;

/* What reads the parts: open_log() and topology_read() of analyze, which this folder cannot know. A session
 * without a topology leaves the graph empty. */
struct tables_reader {
    int (*log)(struct session *s, struct err *e);
    int (*topology)(const struct session *s, struct graph *g, struct err *e);
};

struct tables *tables_new(const struct tables_reader *r); /* copied */
void tables_free(struct tables *t);

/* A session's directory, NULL: the newest here. Reads meta.json alone. */
int tables_add(struct tables *t, const char *path, struct err *e);
/* One that is open already, borrowed. */
void tables_add_open(struct tables *t, const struct session *s);
const char *tables_path(const struct tables *t, size_t session);

/* Reads what the table needs. -1 with `e`, which names the session. */
int tables_rows(struct tables *t, enum tables_table table, uint64_t *rows, struct err *e);
/* Of a row below that many. Text is valid until the next value. */
void tables_value(struct tables *t, uint64_t row, enum tables_column c, struct sqlite_value *out);

/* Appends what a stack of `stacks`, by its id, reads in folded text: "main;f (a.py)". */
void tables_stack_text(struct tables *t, int64_t stack, struct buf *out);

#endif
