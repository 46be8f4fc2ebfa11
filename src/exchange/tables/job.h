/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make the tables' values share. */
#ifndef WPROF_EXCHANGE_TABLES_JOB_H
#define WPROF_EXCHANGE_TABLES_JOB_H

#include "exchange/tables/tables.h"

struct tables_report {
    char *name, *content;
    double created;
};

/* An inlined function: the frame, and which of its names. */
struct tables_inline {
    uint32_t frame, depth;
};

/* What a stack's row has besides its parent and frame. */
struct tables_stack {
    uint64_t samples, total;
    uint32_t depth;
    uint8_t outermost, used;
};

struct tables_session {
    struct session own;      /* unused where it is borrowed */
    const struct session *s; /* its log is read where `loaded` */
    struct graph graph;
    int loaded, has_graph, has_reports;
    VEC(struct tables_report) reports;
    VEC(struct tables_inline) inlines;
    int has_inlines;
    VEC(uint32_t) events[TABLES]; /* of tables of events: their places in the store */
    uint32_t has_events;          /* bits */
    uint32_t *symbol;             /* frame id -> the first of its name and module */
    struct tables_stack *stacks;  /* by stack id */
};

/* A value that is asked for: row counts from 0 in its session. References are given as ids in the session, 0:
 * none; the caller makes them ids of all. */
struct tables_cell {
    const struct tables_session *in;
    const struct session *s;
    size_t row;
    enum tables_column column;
    struct buf *text; /* room for a text that is made */
    struct sqlite_value *out;
};

static inline void tables_int(struct tables_cell *c, int64_t v)
{
    *c->out = (struct sqlite_value){.kind = SQLITE_KIND_INT, .i = v};
}

static inline void tables_real(struct tables_cell *c, double v)
{
    *c->out = (struct sqlite_value){.kind = SQLITE_KIND_REAL, .f = v};
}

/* NULL and "" are no text. */
static inline void tables_text(struct tables_cell *c, const char *v)
{
    if (v && *v)
        *c->out = (struct sqlite_value){.kind = SQLITE_KIND_TEXT, .text = v};
}

static inline const char *tables_string(const struct tables_cell *c, uint32_t id)
{
    return strtab_get(&c->s->store.strings, id);
}

/* ns since the session's start. */
static inline void tables_time(struct tables_cell *c, uint64_t ts)
{
    tables_int(c, (int64_t)(ts - c->s->meta.start_mono));
}

/* Each gives the values of some tables; a column that it does not know stays NULL. */
void tables_meta_value(struct tables_cell *c);   /* sessions, artifacts, reports */
void tables_code_value(struct tables_cell *c);   /* counters, tasks, frames, inlines, stacks */
void tables_events_value(struct tables_cell *c); /* samples, spans, metrics */
void tables_gpu_value(struct tables_cell *c);    /* kernels, calls */
void tables_graph_value(struct tables_cell *c);  /* nodes, edges */

/* Makes what their rows are found by, once. */
void tables_meta_reports(struct tables_session *in);
void tables_code_inlines(struct tables_session *in);
void tables_code_symbols(struct tables_session *in);
void tables_code_stacks(struct tables_session *in);
void tables_events_find(struct tables_session *in, enum tables_table table);

#endif
