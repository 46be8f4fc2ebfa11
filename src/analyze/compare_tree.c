/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides' stacks in one tree, and the stacks as rows. */
#include "analyze/compare_job.h"

#include "model/frames.h"
#include "model/profile_index.h"

#include <stdlib.h>
#include <string.h>

struct tree {
    struct compare *c;
    struct profile *p; /* frame: a key id */
    struct index children;
    uint64_t *self[COMPARISON_SIDES]; /* by node */
};

/* Calls `take` for the nodes of a run that have a weight of their own. */
static void visit(struct tree *t, size_t r,
                  void (*take)(struct tree *t, size_t r, uint32_t node, uint64_t self, void *arg), void *arg)
{
    const struct compare_run *run = &t->c->runs.a[r];
    const struct profile *p = &run->p;
    const uint64_t *self = p->metrics.a[0].self;
    uint32_t *node = mem_calloc(p->nodes.n + 1, sizeof(*node)), *key = mem_calloc(p->frames.n, sizeof(*key));

    for (uint32_t i = 0; i < p->frames.n; i++)
        key[i] = compare_key_of(t->c, run, i);
    for (size_t i = 1; i < p->nodes.n; i++) { /* parents first */
        node[i] =
            profile_index_child(&t->children, t->p, node[p->nodes.a[i].parent], key[p->nodes.a[i].frame]);
        if (self[i])
            take(t, r, node[i], self[i], arg);
    }
    free(node);
    free(key);
}

static void add_self(struct tree *t, size_t r, uint32_t node, uint64_t self, void *arg)
{
    t->self[t->c->runs.a[r].side][node] += self;
}

/* Whether no two frames of the run have one key. */
static int keys_differ(const struct compare *c, const struct compare_run *run)
{
    uint8_t *seen = mem_calloc(c->keys.n + 1, 1);
    int differ = 1;

    for (uint32_t i = 1; i < run->p.frames.n && differ; i++) {
        uint32_t key = compare_key_of(c, run, i);

        differ = !seen[key];
        seen[key] = 1;
    }
    free(seen);
    return differ;
}

/* The first run's nodes as they are: they may be too many to have them twice. */
static void adopt(struct tree *t, struct compare_run *run)
{
    struct profile *p = &run->p;

    for (size_t i = 1; i < p->nodes.n; i++)
        p->nodes.a[i].frame = compare_key_of(t->c, run, p->nodes.a[i].frame);
    memcpy(t->self[run->side], p->metrics.a[0].self, p->nodes.n * sizeof(*t->self[run->side]));
    vec_release(&t->p->nodes);
    t->p->nodes.a = p->nodes.a;
    t->p->nodes.n = p->nodes.n;
    t->p->nodes.cap = p->nodes.cap;
    p->nodes.a = NULL;
    p->nodes.n = p->nodes.cap = 0;
    profile_index_adopt(&t->children, t->p);
    profile_release(p);
    *p = (struct profile){0};
}

/* The root, and room for all nodes that there can be: memory that is never touched costs nothing. */
static void plant(struct tree *t)
{
    size_t n = 1;

    for (size_t r = 0; r < t->c->runs.n; r++)
        n += t->c->runs.a[r].p.nodes.n;
    *vec_push(&t->p->nodes) = (struct profile_node){0};
    for (int side = 0; side < COMPARISON_SIDES; side++)
        t->self[side] = mem_calloc(n, sizeof(*t->self[side]));
}

/* One run a side: what a run has is what its side has, and its profile is needed no more. */
static int is_pair(const struct compare *c)
{
    return c->n[COMPARISON_BASE] == 1 && c->n[COMPARISON_NEW] == 1;
}

/* ---- stacks as rows ---- */

struct heavy {
    uint32_t *row_of; /* node -> row + 1 */
    struct compare_rows rows;
};

static void add_count(struct tree *t, size_t r, uint32_t node, uint64_t self, void *arg)
{
    struct heavy *h = arg;

    if (h->row_of[node])
        h->rows.counts[(h->row_of[node] - 1) * h->rows.runs + r] += self;
}

static void name_stack(const struct tree *t, uint32_t node, struct buf *out)
{
    VEC(uint32_t) path = {0};

    for (; node; node = t->p->nodes.a[node].parent)
        *vec_push(&path) = t->p->nodes.a[node].frame;
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
    struct heavy h = {.row_of = mem_calloc(t->p->nodes.n, sizeof(*h.row_of))};
    VEC(char *) names = {0};
    struct compare_tested tested;

    compare_rows_init(c, &h.rows, COMPARISON_STACKS);
    for (uint32_t id = 1; id < t->p->nodes.n; id++) {
        for (int side = 0; side < COMPARISON_SIDES && !h.row_of[id]; side++)
            if (t->self[side][id] &&
                (double)t->self[side][id] >= c->o.min_share * (double)c->out->side[side].weight) {
                struct buf name = {0};

                name_stack(t, id, &name);
                *vec_push(&names) = buf_detach(&name);
                h.row_of[id] = (uint32_t)++h.rows.n;
            }
    }
    h.rows.counts = mem_calloc(h.rows.n * h.rows.runs + 1, sizeof(*h.rows.counts));
    if (is_pair(c))
        for (size_t id = 1; id < t->p->nodes.n; id++)
            for (size_t r = 0; r < 2 && h.row_of[id]; r++)
                h.rows.counts[(h.row_of[id] - 1) * 2 + r] = t->self[r][id];
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
    *vec_push(&p->frames) = (struct profile_frame){.func = strtab_add(&p->strings, "all")};
    for (uint32_t id = 1; id <= t->c->keys.n; id++) {
        const struct compare_key *k = &t->c->keys.a[id - 1];
        const char *module = strtab_get(&t->c->strings, k->module);
        struct profile_frame f = {.kind = k->kind};

        f.func = strtab_add(&p->strings, strtab_get(&t->c->strings, k->name));
        *(k->kind == FRAME_PYTHON ? &f.file : &f.module) = strtab_add(&p->strings, module);
        *vec_push(&p->frames) = f;
    }
}

static void finish(struct tree *t)
{
    struct profile *p = t->p;

    add_frames(t, p);
    for (int side = 0; side < COMPARISON_SIDES; side++) {
        struct profile_metric *m = vec_push(&p->metrics);

        *m = (struct profile_metric){.name = mem_strdup(side ? "new" : "base"),
                                     .unit = mem_strdup(t->c->out->unit),
                                     .self = t->self[side]};
        for (size_t i = 0; i < p->nodes.n; i++)
            m->sum += m->self[i];
    }
    if (!t->c->o.self_alone)
        profile_link(p);
    index_release(&t->children);
}

void compare_make_tree(struct compare *c)
{
    struct tree t = {.c = c, .p = &c->out->tree};

    size_t r = 0;

    plant(&t);
    if (is_pair(c) && c->runs.a[0].p.nodes.n && keys_differ(c, &c->runs.a[0]))
        adopt(&t, &c->runs.a[r++]);
    for (; r < c->runs.n; r++) {
        visit(&t, r, add_self, NULL);
        if (is_pair(c)) /* they may be large */
            profile_release(&c->runs.a[r].p);
    }
    if (!c->o.tree_alone)
        make_rows(&t);
    finish(&t);
}
