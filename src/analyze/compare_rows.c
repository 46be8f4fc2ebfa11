/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, modules and processes: what each run counted of them. */
#include "analyze/compare_job.h"

#include "base/thread.h"
#include "model/frames.h"
#include "model/functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *kind_name(unsigned kind)
{
    static const char *const names[] = {
        [FRAME_NONE] = "",   [FRAME_KERNEL] = "kernel", [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",
        [FRAME_JIT] = "jit", [FRAME_GPU] = "gpu",       [FRAME_MARKER] = "",       [FRAME_GIL] = "gil",
    };

    return kind < FRAME_KINDS ? names[kind] : "";
}

/* Rows of what the metric counts: all of it, and the divisor that was asked for. */
void compare_rows_init(struct compare *c, struct compare_rows *rows, enum comparison_level level)
{
    struct comparison *out = c->out;

    *rows = (struct compare_rows){.level = level,
                                  .runs = c->runs.n,
                                  .samples = strcmp(out->unit, "ns") != 0,
                                  .unit = out->level[level].unit};
    rows->whole = mem_calloc(c->runs.n, sizeof(*rows->whole));
    for (size_t r = 0; r < c->runs.n; r++) {
        const struct compare_run *run = &c->runs.a[r];

        rows->whole[r] = (struct compare_divisor){run->sum, run->per, run->scale, run->weight};
        out->level[level].weight[run->side] += run->sum;
    }
}

void compare_rows_release(struct compare_rows *rows)
{
    free(rows->counts);
    free(rows->whole);
}

void compare_add_row(struct compare *c, const struct compare_rows *rows, const struct compare_tested *t,
                     size_t i, struct comparison_row *row)
{
    double whole = 0;

    row->value = t->values[i];
    for (size_t r = 0; r < c->runs.n; r++) {
        const struct compare_divisor *w = &rows->whole[r];
        int side = c->runs.a[r].side;

        row->weight[side] += rows->counts[i * rows->runs + r];
        if (side == COMPARISON_BASE && w->per > 0)
            whole += (double)w->sum * w->scale / w->per / (double)c->n[COMPARISON_BASE];
    }
    row->cost = whole > 0 ? row->value.change / whole : 0;
    *vec_push(&c->out->level[rows->level].rows) = *row;
}

static int by_change(const void *pa, const void *pb)
{
    const struct comparison_row *a = pa, *b = pb;

    if (a->value.significant != b->value.significant)
        return a->value.significant ? -1 : 1;
    if (fabs(a->cost) != fabs(b->cost))
        return fabs(a->cost) > fabs(b->cost) ? -1 : 1;
    return strcmp(a->name, b->name);
}

void compare_sort_rows(struct comparison *out, enum comparison_level level)
{
    if (out->level[level].rows.n)
        qsort(out->level[level].rows.a, out->level[level].rows.n, sizeof(*out->level[level].rows.a),
              by_change);
}

static void name_row(const struct compare *c, enum comparison_level level, uint32_t id,
                     struct comparison_row *row)
{
    const struct compare_key *k = &c->keys.a[id - 1];
    struct buf name = {0}, was = {0};

    if (level == COMPARISON_MODULES) {
        row->name = mem_strdup(strtab_get(&c->modules, id));
        row->module = mem_strdup("");
        row->kind = "";
        return;
    }
    compare_key_label(c, id, &name);
    row->name = buf_detach(&name);
    row->module = mem_strdup(k->kind == FRAME_PYTHON ? "" : strtab_get(&c->strings, k->module));
    row->kind = kind_name(k->kind);
    if (k->twin) {
        compare_key_label(c, k->twin, &was);
        if (k->kind != FRAME_PYTHON)
            buf_addf(&was, " (%s)", strtab_get(&c->strings, c->keys.a[k->twin - 1].module));
        row->was = buf_detach(&was);
    }
}

/* Tests the rows; keeps those that were, names[row] being the id of a key or module. */
static void finish_rows(struct compare *c, const struct compare_rows *rows, const uint32_t *names)
{
    struct compare_tested t = {.values = mem_calloc(rows->n + 1, sizeof(*t.values)),
                               .share = mem_calloc(2 * rows->n + 2, sizeof(*t.share)),
                               .tested = mem_calloc(rows->n + 1, 1)};
    uint32_t *within = NULL;

    for (size_t i = 0; i < rows->n; i++) {
        struct buf label = {0};

        if (rows->level == COMPARISON_MODULES)
            buf_addstr(&label, strtab_get(&c->modules, names[i]));
        else
            compare_key_label(c, names[i], &label);
        t.tested[i] = (uint8_t)compare_wanted(c, buf_str(&label));
        buf_release(&label);
    }
    compare_test(c, rows, &t);
    if (rows->level == COMPARISON_FUNCTIONS)
        within = compare_find_within(c, rows, &t, names);
    for (size_t i = 0; i < rows->n; i++) {
        struct comparison_row row = {0};

        if (!t.tested[i])
            continue;
        name_row(c, rows->level, names[i], &row);
        row.frame = rows->level == COMPARISON_FUNCTIONS ? names[i] : 0;
        if (within && within[i]) {
            struct buf caller = {0};

            compare_key_label(c, within[i], &caller);
            row.within = buf_detach(&caller);
        }
        compare_add_row(c, rows, &t, i, &row);
    }
    compare_sort_rows(c->out, rows->level);
    free(within);
    free(t.values);
    free(t.share);
    free(t.tested);
}

/* ---- the levels ---- */

/* Rows while they are counted, run by run. */
struct counting {
    struct compare_rows rows;
    uint32_t *group; /* key id -> row + 1; 0: none */
    uint32_t *names; /* row -> the id of a key or module */
};

static void counting_init(struct counting *x, struct compare *c, enum comparison_level level, size_t names)
{
    compare_rows_init(c, &x->rows, level);
    x->group = mem_calloc(c->keys.n + 1, sizeof(*x->group));
    x->names = mem_calloc(names + 1, sizeof(*x->names));
}

/* All rows are known. */
static void counting_begin(struct counting *x)
{
    x->rows.counts = mem_calloc(x->rows.n * x->rows.runs + 1, sizeof(*x->rows.counts));
}

static void counting_end(struct counting *x, struct compare *c)
{
    finish_rows(c, &x->rows, x->names);
    compare_rows_release(&x->rows);
    free(x->group);
    free(x->names);
}

/* Of what group[] puts together. */
static void count_groups(struct counting *x, const struct compare *c, size_t r)
{
    const struct compare_run *run = &c->runs.a[r];
    uint32_t *of = mem_calloc(run->p.frames.n + 1, sizeof(*of));
    struct functions f = {0};

    for (uint32_t i = 1; i < run->p.frames.n; i++)
        of[i] = x->group[compare_row_key(c, &x->rows, run, i)];
    functions_sum_groups(&f, &run->p, 0, of, x->rows.n + 1);
    for (size_t i = 0; i < x->rows.n; i++)
        x->rows.counts[i * x->rows.runs + r] = c->o.self ? f.self[i + 1] : f.total[i + 1];
    functions_release(&f);
    free(of);
}

static void begin_functions(struct counting *x, struct compare *c)
{
    counting_init(x, c, COMPARISON_FUNCTIONS, c->keys.n);
    for (uint32_t id = 1; id <= c->keys.n; id++) {
        const struct compare_key *k = &c->keys.a[id - 1];

        if (k->kind == FRAME_NONE || k->kind == FRAME_MARKER || (k->twin && k->on == 1u << COMPARISON_BASE))
            continue;
        x->names[x->rows.n] = id;
        x->group[id] = (uint32_t)++x->rows.n;
    }
    x->rows.of = x->group;
    x->rows.self = c->o.self;
    counting_begin(x);
}

static void begin_modules(struct counting *x, struct compare *c)
{
    counting_init(x, c, COMPARISON_MODULES, strtab_count(&c->modules));
    x->rows.n = strtab_count(&c->modules);
    for (uint32_t id = 1; id <= c->keys.n; id++)
        x->group[id] = c->keys.a[id - 1].group;
    for (uint32_t i = 0; i < x->rows.n; i++)
        x->names[i] = i + 1;
    x->rows.of = x->group;
    x->rows.self = c->o.self;
    counting_begin(x);
}

/* Processes stand right below the root. */
static void begin_processes(struct counting *x, struct compare *c)
{
    counting_init(x, c, COMPARISON_PROCESSES, c->keys.n);
    for (size_t r = 0; r < x->rows.runs; r++) {
        const struct profile *p = &c->runs.a[r].p;

        for (size_t i = 1; i < p->nodes.n; i++) {
            uint32_t id = p->nodes.a[i].parent ? 0 : compare_key_of(c, &c->runs.a[r], p->nodes.a[i].frame);

            if (!id || c->keys.a[id - 1].kind != FRAME_NONE || x->group[id])
                continue;
            x->names[x->rows.n] = id;
            x->group[id] = (uint32_t)++x->rows.n;
        }
    }
    counting_begin(x);
}

static void count_processes(struct counting *x, const struct compare *c, size_t r)
{
    const struct profile *p = &c->runs.a[r].p;

    for (uint32_t i = p->nodes.a[0].child; i; i = p->nodes.a[i].next) {
        uint32_t row = x->group[compare_key_of(c, &c->runs.a[r], p->nodes.a[i].frame)];

        if (row)
            x->rows.counts[(row - 1) * x->rows.runs + r] += p->metrics.a[0].total[i];
    }
}

/* What is counted of the runs of one side: each run has counts of its own, so both sides go at a time. */
struct side_counting {
    const struct compare *c;
    int side;
    struct counting *functions, *modules, *processes;
};

static void *count_side(void *arg)
{
    struct side_counting *x = arg;

    for (size_t r = 0; r < x->c->runs.n; r++) {
        struct profile *p = &x->c->runs.a[r].p;

        if (x->c->runs.a[r].side != x->side)
            continue;
        profile_link(p);
        count_groups(x->functions, x->c, r);
        count_groups(x->modules, x->c, r);
        count_processes(x->processes, x->c, r);
        free(p->metrics.a[0].total); /* of many nodes it is much */
        p->metrics.a[0].total = NULL;
    }
    return NULL;
}

void compare_make_rows(struct compare *c)
{
    struct counting functions, modules, processes;
    struct side_counting sides[COMPARISON_SIDES];
    pthread_t other;
    int alone;

    begin_functions(&functions, c);
    begin_modules(&modules, c);
    begin_processes(&processes, c);
    for (int side = 0; side < COMPARISON_SIDES; side++)
        sides[side] = (struct side_counting){c, side, &functions, &modules, &processes};
    alone = thread_start(&other, count_side, &sides[COMPARISON_BASE]);
    count_side(&sides[COMPARISON_NEW]);
    if (alone)
        count_side(&sides[COMPARISON_BASE]);
    else
        pthread_join(other, NULL);
    counting_end(&functions, c);
    counting_end(&modules, c);
    counting_end(&processes, c);
}
