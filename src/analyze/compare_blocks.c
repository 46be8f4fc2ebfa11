/* SPDX-License-Identifier: Apache-2.0 */
/* One run cut into blocks of time: how much rows vary from block to block. */
#include "analyze/compare_job.h"

#include "analyze/stats_tests.h"
#include "model/frames.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_BLOCKS = 50,
    LEAST_BLOCKS = 8,
    SAMPLES_A_BLOCK = 10,
};

struct blocks {
    const struct compare *c;
    const struct compare_run *run;
    const struct compare_rows *rows;
    uint32_t *row_of;  /* row -> its line in `value` + 1; 0: none */
    size_t n, nblocks; /* lines */
    double *value, *weight;
    uint64_t *seen; /* line -> the sample that counted last, + 1 */
};

static uint32_t line_of(const struct blocks *b, uint32_t node)
{
    const struct profile *p = &b->run->p;
    uint32_t key = compare_row_key(b->c, b->rows, b->run, p->nodes.a[node].frame);
    uint32_t row = key ? b->rows->of[key] : 0;

    return row ? b->row_of[row - 1] : 0;
}

/* A function that stands in a stack twice counts once. */
static void add_sample(struct blocks *b, size_t i, size_t block)
{
    const struct profile_sample *s = &b->run->p.samples.a[i];

    b->weight[block] += (double)s->value;
    for (uint32_t node = s->node; node; node = b->run->p.nodes.a[node].parent) {
        uint32_t line = line_of(b, node);

        if (line && b->seen[line - 1] != i + 1) {
            b->seen[line - 1] = i + 1;
            b->value[(line - 1) * b->nblocks + block] += (double)s->value;
        }
        if (b->rows->self)
            break;
    }
}

static void fill(struct blocks *b)
{
    const struct profile *p = &b->run->p;

    for (size_t i = 0; i < p->samples.n; i++) {
        unsigned __int128 at = (unsigned __int128)p->samples.a[i].ts * b->nblocks / b->run->ns;

        add_sample(b, i, at < b->nblocks ? (size_t)at : b->nblocks - 1);
    }
}

/* Of what has names. */
static size_t slice_errors(const struct compare_run *run, const struct compare_rows *rows,
                           const uint32_t *list, size_t n, double *error)
{
    const struct compare_slices *s = rows->slices[run->side];
    const uint32_t *name = rows->name[run->side];
    int share = rows->unit == COMPARISON_SHARE;
    double *value, *e;

    if (!s || !s->n)
        return 0;
    value = mem_calloc(n * s->n + 1, sizeof(*value));
    e = mem_calloc(n + 1, sizeof(*e));
    for (size_t i = 0; i < n; i++)
        if (name[list[i]])
            memcpy(value + i * s->n, s->value + (name[list[i]] - 1) * s->n, s->n * sizeof(*value));
    stats_block_errors(value, share ? s->weight : NULL, n, s->n, e);
    for (size_t i = 0; i < n; i++) /* a share, or the mean of a slice */
        error[list[i]] = e[i] * (share ? 1 : (double)s->n / run->per);
    free(value);
    free(e);
    return s->n;
}

/* The errors with blocks of that many samples or more: none is below what shorter blocks gave, since what
 * comes in bursts that are longer than these looks too sure by them. */
static void raise_errors(struct blocks *b, size_t nblocks, double *error)
{
    int share = b->rows->unit == COMPARISON_SHARE;
    double *e = mem_calloc(b->n + 1, sizeof(*e));

    b->nblocks = nblocks;
    b->value = mem_calloc(b->n * nblocks + 1, sizeof(*b->value));
    b->weight = mem_calloc(nblocks, sizeof(*b->weight));
    memset(b->seen, 0, b->n * sizeof(*b->seen));
    fill(b);
    stats_block_errors(b->value, share ? b->weight : NULL, b->n, nblocks, e);
    for (size_t i = 0; i < b->n; i++) { /* a share, or the mean of a block */
        double its = e[i] * (share ? 1 : (double)nblocks * b->run->scale / b->run->per);

        error[i] = its > error[i] ? its : error[i];
    }
    free(b->value);
    free(b->weight);
    free(e);
}

size_t compare_block_errors(const struct compare *c, const struct compare_run *run,
                            const struct compare_rows *rows, const uint32_t *list, size_t n, double *error)
{
    struct blocks b = {.c = c, .run = run, .rows = rows, .n = n};
    size_t most = run->p.samples.n / SAMPLES_A_BLOCK;
    double *e;

    if (rows->name[run->side])
        return slice_errors(run, rows, list, n, error);
    if (!rows->of || !run->ns || most < LEAST_BLOCKS)
        return 0;
    most = most < MOST_BLOCKS ? most : MOST_BLOCKS;
    b.row_of = mem_calloc(rows->n + 1, sizeof(*b.row_of));
    for (size_t i = 0; i < n; i++)
        b.row_of[list[i]] = (uint32_t)i + 1;
    b.seen = mem_calloc(n + 1, sizeof(*b.seen));
    e = mem_calloc(n + 1, sizeof(*e));
    for (size_t nblocks = most; nblocks >= LEAST_BLOCKS; nblocks /= 2)
        raise_errors(&b, nblocks, e);
    for (size_t i = 0; i < n; i++)
        error[list[i]] = e[i];
    free(b.row_of);
    free(b.seen);
    free(e);
    return most;
}
