/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides' stacks in one tree, and the stacks as rows. */
#include "analyze/compare_job.h"

#include "model/frames.h"

#include <stdlib.h>
#include <string.h>

struct tree {
    struct compare *c;
    struct stacks stacks;                 /* frame: a key id */
    VEC(uint64_t) self[COMPARISON_SIDES]; /* by stack id */
};

/* Calls `take` for the nodes of a run that have a weight of their own. */
static void visit(struct tree *t, size_t r,
                  void (*take)(struct tree *t, size_t r, uint32_t stack, uint64_t self, void *arg), void *arg)
{
    const struct compare_run *run = &t->c->runs.a[r];
    const struct profile *p = &run->p;
    uint32_t *stack = mem_calloc(p->nodes.n + 1, sizeof(*stack));

    for (size_t i = 1; i < p->nodes.n; i++) { /* parents first */
        stack[i] = stacks_push(&t->stacks, stack[p->nodes.a[i].parent],
                               compare_key_of(t->c, run, p->nodes.a[i].frame));
        if (p->metrics.a[0].self[i])
            take(t, r, stack[i], p->metrics.a[0].self[i], arg);
    }
    free(stack);
}

static void add_self(struct tree *t, size_t r, uint32_t stack, uint64_t self, void *arg)
{
    int side = t->c->runs.a[r].side;

    while (t->self[side].n <= stack)
        *vec_push(&t->self[side]) = 0;
    t->self[side].a[stack] += self;
}

/* One run a side: what a run has is what its side has, and its profile is needed no more. */
static int is_pair(const struct compare *c)
{
    return c->n[COMPARISON_BASE] == 1 && c->n[COMPARISON_NEW] == 1;
}

/* ---- stacks as rows ---- */

struct heavy {
    uint32_t *row_of; /* stack id -> row + 1 */
    struct compare_rows rows;
};

static void add_count(struct tree *t, size_t r, uint32_t stack, uint64_t self, void *arg)
{
    struct heavy *h = arg;

    if (h->row_of[stack])
        h->rows.counts[(h->row_of[stack] - 1) * h->rows.runs + r] += self;
}

static void name_stack(const struct tree *t, uint32_t stack, struct buf *out)
{
    VEC(uint32_t) path = {0};

    for (; stack; stack = t->stacks.nodes.a[stack - 1].parent)
        *vec_push(&path) = t->stacks.nodes.a[stack - 1].frame;
    for (size_t i = path.n; i-- > 0;) {
        compare_key_label(t->c, path.a[i], out);
        if (i)
            buf_addch(out, ';');
    }
    vec_release(&path);
}

static void stack_row(struct tree *t, const struct heavy *h, const struct compare_tested *tested, size_t i,
                      char *name)
{
    struct comparison_row row = {.name = name, .module = mem_strdup(""), .kind = ""};

    compare_add_row(t->c, &h->rows, tested, i, &row);
}

/* Those stacks that are heavy on a side, of all runs of which they are the sum. */
static void make_rows(struct tree *t)
{
    struct compare *c = t->c;
    struct heavy h = {.row_of = mem_calloc(t->stacks.nodes.n + 1, sizeof(*h.row_of))};
    VEC(char *) names = {0};
    struct compare_tested tested;

    compare_rows_init(c, &h.rows, COMPARISON_STACKS);
    for (uint32_t id = 1; id <= t->stacks.nodes.n; id++) {
        for (int side = 0; side < COMPARISON_SIDES && !h.row_of[id]; side++)
            if (t->self[side].a[id] &&
                (double)t->self[side].a[id] >= c->o.min_share * (double)c->out->side[side].weight) {
                struct buf name = {0};

                name_stack(t, id, &name);
                *vec_push(&names) = buf_detach(&name);
                h.row_of[id] = (uint32_t)++h.rows.n;
            }
    }
    h.rows.counts = mem_calloc(h.rows.n * h.rows.runs + 1, sizeof(*h.rows.counts));
    if (is_pair(c))
        for (size_t id = 1; id <= t->stacks.nodes.n; id++)
            for (size_t r = 0; r < 2 && h.row_of[id]; r++)
                h.rows.counts[(h.row_of[id] - 1) * 2 + r] = t->self[r].a[id];
    for (size_t r = 0; h.rows.n && !is_pair(c) && r < c->runs.n; r++)
        visit(t, r, add_count, &h);
    tested = (struct compare_tested){.values = mem_calloc(h.rows.n + 1, sizeof(*tested.values)),
                                     .share = mem_calloc(2 * h.rows.n + 2, sizeof(*tested.share)),
                                     .tested = mem_calloc(h.rows.n + 1, 1)};
    for (size_t i = 0; i < h.rows.n; i++)
        tested.tested[i] = (uint8_t)compare_wanted(c, names.a[i]);
    compare_test(c, &h.rows, &tested);
    for (size_t i = 0; i < h.rows.n; i++) {
        if (tested.tested[i])
            stack_row(t, &h, &tested, i, names.a[i]);
        else
            free(names.a[i]);
    }
    vec_release(&names);
    free(tested.values);
    free(tested.share);
    free(tested.tested);
    compare_rows_release(&h.rows);
    compare_sort_rows(c->out, COMPARISON_STACKS);
    free(h.row_of);
}

/* ---- the profile ---- */

static void add_frames(struct tree *t, struct profile *p)
{
    struct buf label = {0};

    *vec_push(&p->frames) = (struct profile_frame){.func = strtab_add(&p->strings, "all")};
    for (uint32_t id = 1; id <= t->c->keys.n; id++) {
        const struct compare_key *k = &t->c->keys.a[id - 1];
        const char *module = strtab_get(&t->c->strings, k->module);
        struct profile_frame f = {.kind = k->kind};

        f.func = strtab_add(&p->strings, strtab_get(&t->c->strings, k->name));
        *(k->kind == FRAME_PYTHON ? &f.file : &f.module) = strtab_add(&p->strings, module);
        *vec_push(&p->frames) = f;
    }
    buf_release(&label);
}

/* Its nodes are the tree's stacks, by their ids. */
static void make_profile(struct tree *t)
{
    struct profile *p = &t->c->out->tree;
    size_t n = t->stacks.nodes.n + 1;

    add_frames(t, p);
    vec_reserve(&p->nodes, n);
    *vec_push(&p->nodes) = (struct profile_node){0};
    for (size_t i = 1; i < n; i++)
        *vec_push(&p->nodes) = (struct profile_node){.parent = t->stacks.nodes.a[i - 1].parent,
                                                     .frame = t->stacks.nodes.a[i - 1].frame};
    stacks_release(&t->stacks); /* before there is more: a tree may have tens of millions of nodes */
    for (int side = 0; side < COMPARISON_SIDES; side++) {
        struct profile_metric *m = vec_push(&p->metrics);

        *m = (struct profile_metric){.name = mem_strdup(side ? "new" : "base"),
                                     .unit = mem_strdup(t->c->out->unit),
                                     .self = t->self[side].a,
                                     .total = mem_calloc(n, sizeof(*m->total))};
        t->self[side].a = NULL;
        for (size_t i = n; i-- > 1;) {
            m->total[i] += m->self[i];
            m->total[p->nodes.a[i].parent] += m->total[i];
        }
        m->total[0] += m->self[0];
        m->sum = m->total[0];
    }
    for (size_t i = n; i-- > 1;) {
        p->nodes.a[i].next = p->nodes.a[p->nodes.a[i].parent].child;
        p->nodes.a[p->nodes.a[i].parent].child = (uint32_t)i;
    }
}

void compare_make_tree(struct compare *c)
{
    struct tree t = {.c = c};

    for (size_t r = 0; r < c->runs.n; r++) {
        visit(&t, r, add_self, NULL);
        if (is_pair(c)) /* they may be large */
            profile_release(&c->runs.a[r].p);
    }
    for (int side = 0; side < COMPARISON_SIDES; side++)
        while (t.self[side].n <= t.stacks.nodes.n)
            *vec_push(&t.self[side]) = 0;
    if (!c->o.tree_alone)
        make_rows(&t);
    make_profile(&t);
    stacks_release(&t.stacks);
    vec_release(&t.self[0]);
    vec_release(&t.self[1]);
}
