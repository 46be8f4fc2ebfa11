/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/tables/job.h"

#include "model/session_extra.h"
#include "platform/packed.h"

#include <string.h>

#define TABLE(name, from, word, what) [TABLE_##name] = {#name, word, what, TABLES_##from},
#define COLUMN(...)
static const struct tables_info infos[TABLES] = {
#include "exchange/tables/tables.def"
};
#undef TABLE
#undef COLUMN

#define TABLE(...)
#define COLUMN(table, name, type, what)                                                                      \
    [COLUMN_##table##_##name] = {#name, what, TABLE_##table, TABLES_##type},
static const struct tables_column_info columns[TABLES_COLUMNS] = {
#include "exchange/tables/tables.def"
};
#undef TABLE
#undef COLUMN

/* Which table a reference is of. */
static const enum tables_table referred[] = {
    [TABLES_SESSION] = TABLE_sessions, [TABLES_TASK] = TABLE_tasks, [TABLES_STACK] = TABLE_stacks,
    [TABLES_FRAME] = TABLE_frames,     [TABLES_NODE] = TABLE_nodes,
};

struct tables {
    struct tables_reader reader;
    VEC(struct tables_session *) list;
    VEC(uint64_t) first[TABLES]; /* by session: how many rows are before its own; one more: all */
    size_t at[TABLES];           /* the session of the last value */
    struct buf text, folded;
};

const struct tables_info *tables_info(enum tables_table t)
{
    return &infos[t];
}

const struct tables_column_info *tables_column_info(enum tables_column c)
{
    return &columns[c];
}

unsigned tables_columns(enum tables_table t, enum tables_column *first)
{
    unsigned n = 0;

    for (unsigned c = 0; c < TABLES_COLUMNS; c++)
        if (columns[c].table == t && !n++)
            *first = (enum tables_column)c;
    return n;
}

int tables_find(const char *name)
{
    for (int t = 0; t < TABLES; t++)
        if (!strcmp(infos[t].name, name))
            return t;
    return -1;
}

/* ---- sessions ---- */

struct tables *tables_new(const struct tables_reader *r)
{
    struct tables *t = mem_calloc(1, sizeof(*t));

    t->reader = *r;
    return t;
}

static void free_session(struct tables_session *in)
{
    for (size_t i = 0; i < in->reports.n; i++) {
        free(in->reports.a[i].name);
        free(in->reports.a[i].content);
    }
    for (int i = 0; i < TABLES; i++)
        vec_release(&in->events[i]);
    vec_release(&in->reports);
    vec_release(&in->inlines);
    free(in->symbol);
    free(in->stacks);
    if (in->has_graph)
        graph_release(&in->graph);
    session_release(&in->own);
    free(in);
}

void tables_free(struct tables *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->list.n; i++)
        free_session(t->list.a[i]);
    for (int i = 0; i < TABLES; i++)
        vec_release(&t->first[i]);
    vec_release(&t->list);
    buf_release(&t->text);
    buf_release(&t->folded);
    free(t);
}

int tables_add(struct tables *t, const char *path, struct err *e)
{
    struct tables_session *in = mem_calloc(1, sizeof(*in));

    if (packed_open_meta(&in->own, path, e)) {
        free(in);
        return -1;
    }
    session_list(&in->own, SESSION_EXTRA);
    in->s = &in->own;
    *vec_push(&t->list) = in;
    return 0;
}

void tables_add_open(struct tables *t, const struct session *s)
{
    struct tables_session *in = mem_calloc(1, sizeof(*in));

    in->s = s;
    in->loaded = 1;
    *vec_push(&t->list) = in;
}

const char *tables_path(const struct tables *t, size_t session)
{
    return t->list.a[session]->s->path;
}

/* ---- rows ---- */

static int load(struct tables *t, struct tables_session *in, enum tables_from from, struct err *e)
{
    if (from == TABLES_LOG && !in->loaded) {
        if (t->reader.log(&in->own, e))
            return -1;
        in->loaded = 1;
    }
    if (from == TABLES_GRAPH && !in->has_graph) {
        graph_init(&in->graph);
        in->has_graph = 1;
        return t->reader.topology(in->s, &in->graph, e);
    }
    return 0;
}

static uint64_t rows_of(struct tables_session *in, enum tables_table table)
{
    const struct store *s = &in->s->store;

    switch (table) {
    case TABLE_sessions:
        return 1;
    case TABLE_artifacts:
        return in->s->meta.artifacts.n;
    case TABLE_reports:
        tables_meta_reports(in);
        return in->reports.n;
    case TABLE_counters:
        return s->counters.n;
    case TABLE_tasks:
        return s->tasks.list.n;
    case TABLE_frames:
        tables_code_symbols(in);
        return s->frames.list.n;
    case TABLE_inlines:
        tables_code_inlines(in);
        return in->inlines.n;
    case TABLE_stacks:
        tables_code_stacks(in);
        return s->stacks.nodes.n;
    case TABLE_nodes:
        return in->graph.nodes.n;
    case TABLE_edges:
        return in->graph.edges.n;
    default:
        tables_events_find(in, table);
        return in->events[table].n;
    }
}

static int count(struct tables *t, enum tables_table table, struct err *e)
{
    uint64_t n = 0;

    if (t->first[table].n)
        return 0;
    for (size_t i = 0; i < t->list.n; i++)
        if (load(t, t->list.a[i], infos[table].from, e))
            return -1;
    for (size_t i = 0; i < t->list.n; i++) {
        *vec_push(&t->first[table]) = n;
        n += rows_of(t->list.a[i], table);
    }
    *vec_push(&t->first[table]) = n;
    return 0;
}

int tables_rows(struct tables *t, enum tables_table table, uint64_t *rows, struct err *e)
{
    enum tables_column first = 0;
    unsigned n = tables_columns(table, &first);

    if (count(t, table, e))
        return -1;
    /* What it refers to is needed for the numbers. */
    for (unsigned c = first; c < first + n; c++)
        if (columns[c].type >= TABLES_SESSION && columns[c].type <= TABLES_NODE &&
            count(t, referred[columns[c].type], e))
            return -1;
    *rows = t->first[table].a[t->list.n];
    return 0;
}

/* ---- values ---- */

/* The session of a row; mostly that of the one before. */
static size_t session_of(struct tables *t, enum tables_table table, uint64_t row)
{
    const uint64_t *first = t->first[table].a;
    size_t lo = 0, hi = t->list.n;

    if (row >= first[t->at[table]] && row < first[t->at[table] + 1])
        return t->at[table];
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;

        if (first[mid] <= row)
            lo = mid;
        else
            hi = mid;
    }
    return t->at[table] = lo;
}

static void fill(struct tables_cell *c, enum tables_table table)
{
    switch (table) {
    case TABLE_sessions:
    case TABLE_artifacts:
    case TABLE_reports:
        tables_meta_value(c);
        break;
    case TABLE_samples:
    case TABLE_spans:
    case TABLE_metrics:
        tables_events_value(c);
        break;
    case TABLE_kernels:
    case TABLE_calls:
        tables_gpu_value(c);
        break;
    case TABLE_nodes:
    case TABLE_edges:
        tables_graph_value(c);
        break;
    default:
        tables_code_value(c);
        break;
    }
}

static void folded_value(struct tables *t, struct tables_cell *c)
{
    if (!c->in->stacks[c->row + 1].used)
        return;
    buf_clear(&t->folded);
    tables_stack_text(t, (int64_t)(c->row + t->first[TABLE_stacks].a[t->at[TABLE_stacks]]) + 1, &t->folded);
    tables_text(c, buf_str(&t->folded));
}

void tables_value(struct tables *t, uint64_t row, enum tables_column column, struct sqlite_value *out)
{
    const struct tables_column_info *info = &columns[column];
    size_t i = session_of(t, info->table, row);
    struct tables_session *in = t->list.a[i];
    struct tables_cell c = {.in = in,
                            .s = in->s,
                            .row = row - t->first[info->table].a[i],
                            .column = column,
                            .text = &t->text,
                            .out = out};

    *out = (struct sqlite_value){.kind = SQLITE_KIND_NULL};
    if (column == COLUMN_stacks_folded) {
        folded_value(t, &c);
        return;
    }
    if (info->type == TABLES_ID)
        tables_int(&c, (int64_t)row + 1);
    else if (info->type == TABLES_SESSION)
        tables_int(&c, (int64_t)i + 1);
    else
        fill(&c, info->table);
    if (info->type < TABLES_TASK || info->type > TABLES_NODE || out->kind == SQLITE_KIND_NULL)
        return;
    /* Damaged logs may refer to what is not there. */
    if (out->i && (uint64_t)out->i <= rows_of(in, referred[info->type]))
        out->i += (int64_t)t->first[referred[info->type]].a[i];
    else
        out->kind = SQLITE_KIND_NULL;
}

void tables_stack_text(struct tables *t, int64_t stack, struct buf *out)
{
    struct tables_session *in;
    VEC(uint32_t) frames = {0};
    size_t i = session_of(t, TABLE_stacks, (uint64_t)stack - 1);
    uint32_t id = (uint32_t)((uint64_t)stack - t->first[TABLE_stacks].a[i]);
    struct sqlite_value name;

    in = t->list.a[i];
    for (const struct stack_node *n; (n = stacks_get(&in->s->store.stacks, id)); id = n->parent)
        *vec_push(&frames) = n->frame;
    for (size_t k = frames.n; k--;) {
        tables_value(t, t->first[TABLE_frames].a[i] + frames.a[k] - 1, COLUMN_frames_name, &name);
        buf_addf(out, "%s%s", name.kind == SQLITE_KIND_TEXT ? name.text : "?", k ? ";" : "");
    }
    vec_release(&frames);
}
