/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, modules and processes: what each run counted of them. */
#include "analyze/compare_job.h"

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

        rows->whole[r] = (struct compare_divisor){run->sum, run->per, run->scale};
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
    for (size_t i = 0; i < rows->n; i++) {
        struct comparison_row row = {0};

        if (!t.tested[i])
            continue;
        name_row(c, rows->level, names[i], &row);
        compare_add_row(c, rows, &t, i, &row);
    }
    compare_sort_rows(c->out, rows->level);
    free(t.values);
    free(t.share);
    free(t.tested);
}

/* Rows of what `group` (key id -> 1.., 0: none) puts together, n of them. */
static void grouped_rows(struct compare *c, enum comparison_level level, const uint32_t *group, size_t n,
                         const uint32_t *names)
{
    struct compare_rows rows;

    compare_rows_init(c, &rows, level);
    rows.n = n;
    rows.of = group;
    rows.self = c->o.self;
    rows.counts = mem_calloc(n * rows.runs + 1, sizeof(*rows.counts));
    for (size_t r = 0; r < rows.runs; r++) {
        const struct compare_run *run = &c->runs.a[r];
        uint32_t *of = mem_calloc(run->p.frames.n + 1, sizeof(*of));
        struct functions f = {0};

        for (uint32_t i = 1; i < run->p.frames.n; i++)
            of[i] = group[compare_row_key(c, &rows, run, i)];
        functions_sum_groups(&f, &run->p, 0, of, n + 1);
        for (size_t i = 0; i < n; i++)
            rows.counts[i * rows.runs + r] = c->o.self ? f.self[i + 1] : f.total[i + 1];
        functions_release(&f);
        free(of);
    }
    finish_rows(c, &rows, names);
    compare_rows_release(&rows);
}

static void make_functions(struct compare *c)
{
    uint32_t *group = mem_calloc(c->keys.n + 1, sizeof(*group)),
             *names = mem_calloc(c->keys.n + 1, sizeof(*names));
    uint32_t n = 0;

    for (uint32_t id = 1; id <= c->keys.n; id++) {
        const struct compare_key *k = &c->keys.a[id - 1];

        if (k->kind == FRAME_NONE || k->kind == FRAME_MARKER || (k->twin && k->on == 1u << COMPARISON_BASE))
            continue;
        names[n] = id;
        group[id] = ++n;
    }
    grouped_rows(c, COMPARISON_FUNCTIONS, group, n, names);
    free(group);
    free(names);
}

static void make_modules(struct compare *c)
{
    uint32_t n = strtab_count(&c->modules), *group = mem_calloc(c->keys.n + 1, sizeof(*group));
    uint32_t *names = mem_calloc((size_t)n + 1, sizeof(*names));

    for (uint32_t id = 1; id <= c->keys.n; id++)
        group[id] = c->keys.a[id - 1].group;
    for (uint32_t i = 0; i < n; i++)
        names[i] = i + 1;
    grouped_rows(c, COMPARISON_MODULES, group, n, names);
    free(group);
    free(names);
}

/* Processes stand right below the root. */
static void make_processes(struct compare *c)
{
    struct compare_rows rows;
    uint32_t *row_of = mem_calloc(c->keys.n + 1, sizeof(*row_of)),
             *names = mem_calloc(c->keys.n + 1, sizeof(*names));

    compare_rows_init(c, &rows, COMPARISON_PROCESSES);
    for (int pass = 0; pass < 2; pass++) { /* first which there are, then what they took */
        for (size_t r = 0; r < rows.runs; r++) {
            const struct profile *p = &c->runs.a[r].p;

            for (uint32_t i = p->nodes.a[0].child; i; i = p->nodes.a[i].next) {
                uint32_t id = compare_key_of(c, &c->runs.a[r], p->nodes.a[i].frame);

                if (!id || c->keys.a[id - 1].kind != FRAME_NONE)
                    continue;
                if (!row_of[id]) {
                    names[rows.n] = id;
                    row_of[id] = (uint32_t)++rows.n;
                }
                if (pass)
                    rows.counts[(row_of[id] - 1) * rows.runs + r] += p->metrics.a[0].total[i];
            }
        }
        if (!pass)
            rows.counts = mem_calloc(rows.n * rows.runs + 1, sizeof(*rows.counts));
    }
    finish_rows(c, &rows, names);
    compare_rows_release(&rows);
    free(row_of);
    free(names);
}

void compare_make_rows(struct compare *c)
{
    for (size_t r = 0; r < c->runs.n; r++)
        profile_link(&c->runs.a[r].p);
    make_functions(c);
    make_modules(c);
    make_processes(c);
}
