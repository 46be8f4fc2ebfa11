/* SPDX-License-Identifier: Apache-2.0 */
#include "render/flame.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Weights below this have a bucket of their own; above, 1024 buckets a power of two: 0.1 % wide. */
#define EXACT   2048u
#define BUCKETS (EXACT + 53 * 1024)

/* The cut: stays what is in a bucket above `bucket`, or in it and not deeper than `depth`. */
struct cut {
    unsigned bucket;
    uint32_t depth;
};

struct layout {
    const struct profile *p;
    const uint64_t *total, *self;
    uint8_t *keep;  /* one per node */
    uint32_t *rank; /* one per frame: its place in the order of names */
    VEC(uint32_t) children;
};

void flame_release(struct flame *f)
{
    vec_release(&f->boxes);
    *f = (struct flame){0};
}

static unsigned bucket_of(uint64_t v)
{
    unsigned e;

    if (v < EXACT)
        return (unsigned)v;
    e = 63 - (unsigned)__builtin_clzll(v);
    return EXACT + (e - 11) * 1024 + (unsigned)((v >> (e - 10)) & 1023);
}

static uint64_t bucket_floor(unsigned b)
{
    unsigned e;

    if (b < EXACT)
        return b;
    e = (b - EXACT) / 1024 + 11;
    return (1024 + (uint64_t)((b - EXACT) % 1024)) << (e - 10);
}

/* Among the nodes of one bucket, how deep may they stand so that at most `room` stay? The shallow ones stay:
 * the graph is cut evenly instead of being whole on the left and empty on the right. */
static uint32_t depth_limit(const struct layout *l, unsigned bucket, size_t room)
{
    const struct profile *p = l->p;
    uint32_t *depth = mem_calloc(p->nodes.n, sizeof(*depth));
    VEC(size_t) counts = {0};
    uint32_t limit = 0;

    for (size_t i = 1; i < p->nodes.n; i++) {
        depth[i] = depth[p->nodes.a[i].parent] + 1;
        if (bucket_of(l->total[i]) != bucket)
            continue;
        while (counts.n <= depth[i])
            *vec_push(&counts) = 0;
        counts.a[depth[i]]++;
    }
    while (limit + 1 < counts.n && counts.a[limit + 1] <= room)
        room -= counts.a[++limit];
    vec_release(&counts);
    free(depth);
    return limit;
}

static struct cut find_cut(const struct layout *l, size_t max_boxes)
{
    struct cut c = {0, UINT32_MAX};
    size_t *counts = mem_calloc(BUCKETS, sizeof(*counts));
    size_t kept = 0;
    unsigned b = BUCKETS - 1;

    for (size_t i = 0; i < l->p->nodes.n; i++)
        counts[bucket_of(l->total[i])]++;
    while (b > 0 && kept + counts[b] <= max_boxes)
        kept += counts[b--];
    free(counts);
    if (!b)
        return c;
    c.bucket = b;
    c.depth = depth_limit(l, b, max_boxes - kept);
    return c;
}

/* Marks what stays. A child is never heavier than its parent and always deeper, so a kept node's parents are
 * kept. */
static void choose(struct layout *l, struct flame *f, const struct flame_limits *lim)
{
    const struct profile *p = l->p;
    uint64_t min = lim->min_total ? lim->min_total : 1;
    struct cut c = {0, UINT32_MAX};
    uint32_t *depth = NULL;

    if (lim->max_boxes && p->nodes.n > lim->max_boxes)
        c = find_cut(l, lim->max_boxes);
    if (c.bucket)
        depth = mem_calloc(p->nodes.n, sizeof(*depth));
    l->keep[0] = 1;
    for (size_t i = 1; i < p->nodes.n; i++) {
        unsigned b = bucket_of(l->total[i]);
        int stays = l->total[i] >= min && b >= c.bucket;

        if (depth)
            depth[i] = depth[p->nodes.a[i].parent] + 1;
        if (stays && depth && b == c.bucket)
            stays = depth[i] <= c.depth;
        l->keep[i] = (uint8_t)stays;
        f->pruned_nodes += !stays && l->total[i];
    }
    free(depth);
    if (f->pruned_nodes) {
        uint64_t floor = bucket_floor(c.bucket + 1);

        f->min_total = c.bucket && floor > min ? floor : min;
    }
}

/* ---- order ---- */

struct named {
    uint64_t head; /* the first eight bytes, big-endian: decides most comparisons */
    const char *name;
    uint32_t frame, kind;
};

static uint64_t name_head(const char *s)
{
    uint64_t h = 0;

    for (int i = 0; i < 8; i++) {
        h = h << 8 | (uint8_t)*s;
        s += *s != '\0';
    }
    return h;
}

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int c;

    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    c = strcmp(x->name, y->name);
    if (c)
        return c;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->frame < y->frame ? -1 : 1;
}

/* Only frames that have a box need a rank. */
static void rank_frames(struct layout *l)
{
    const struct profile *p = l->p;
    VEC(struct named) names = {0};
    uint8_t *used = mem_calloc(p->frames.n, 1);

    for (size_t i = 1; i < p->nodes.n; i++) {
        uint32_t id = p->nodes.a[i].frame;

        if (!l->keep[i] || used[id])
            continue;
        used[id] = 1;
        const char *name = strtab_get(&p->strings, p->frames.a[id].func);
        *vec_push(&names) = (struct named){name_head(name), name, id, p->frames.a[id].kind};
    }
    if (names.n)
        qsort(names.a, names.n, sizeof(*names.a), by_name);
    for (size_t i = 0; i < names.n; i++)
        l->rank[names.a[i].frame] = (uint32_t)i;
    vec_release(&names);
    free(used);
}

static int by_rank(const void *a, const void *b, void *ctx)
{
    const struct layout *l = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t rx = l->rank[l->p->nodes.a[x].frame], ry = l->rank[l->p->nodes.a[y].frame];

    if (rx != ry)
        return rx < ry ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void sort_children(struct layout *l, uint32_t *a, size_t n)
{
    if (n > 16) {
        qsort_r(a, n, sizeof(*a), by_rank, l);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        uint32_t x = a[i];
        size_t j = i;

        for (; j && by_rank(&a[j - 1], &x, l) > 0; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* ---- boxes ---- */

struct pending {
    uint32_t node, depth;
    uint64_t start;
    uint64_t pruned; /* not 0: a pruned box of this weight under `node` */
};

struct todo {
    VEC(struct pending) stack;
};

/* Puts the children of `box` on the stack, the leftmost on top; the pruned box stands rightmost. */
static void push_children(struct layout *l, struct todo *t, const struct flame_box *box)
{
    const struct profile_node *nodes = l->p->nodes.a;
    uint64_t pruned = 0, end = box->start; /* self weight is what stays free on the right */

    vec_clear(&l->children);
    for (uint32_t c = nodes[box->node].child; c; c = nodes[c].next) {
        if (!l->keep[c]) {
            pruned += l->total[c];
            continue;
        }
        *vec_push(&l->children) = c;
        end += l->total[c];
    }
    if (pruned)
        *vec_push(&t->stack) = (struct pending){box->node, box->depth + 1, end, pruned};
    if (l->children.n > 1)
        sort_children(l, l->children.a, l->children.n);
    for (size_t i = l->children.n; i-- > 0;) {
        uint32_t c = l->children.a[i];

        end -= l->total[c];
        *vec_push(&t->stack) = (struct pending){c, box->depth + 1, end, 0};
    }
}

static void make_boxes(struct layout *l, struct flame *f)
{
    struct todo t = {0};

    *vec_push(&t.stack) = (struct pending){0};
    while (t.stack.n) {
        struct pending at = t.stack.a[--t.stack.n];
        struct flame_box box = {at.node, at.depth, at.start, at.pruned, at.pruned, at.pruned != 0};

        if (!box.pruned) {
            box.total = l->total[at.node];
            box.self = l->self[at.node];
        }
        *vec_push(&f->boxes) = box;
        if (box.depth > f->depth)
            f->depth = box.depth;
        if (box.pruned)
            f->pruned_weight += box.total;
        else if (l->p->nodes.a[box.node].child)
            push_children(l, &t, &box);
    }
    vec_release(&t.stack);
}

void flame_layout(struct flame *f, const struct profile *p, size_t metric, const struct flame_limits *lim)
{
    struct layout l = {.p = p};

    if (metric >= p->metrics.n || !p->nodes.n) {
        *vec_push(&f->boxes) = (struct flame_box){0};
        return;
    }
    l.total = p->metrics.a[metric].total;
    l.self = p->metrics.a[metric].self;
    l.keep = mem_calloc(p->nodes.n, 1);
    l.rank = mem_calloc(p->frames.n, sizeof(*l.rank));
    f->sum = l.total[0];
    choose(&l, f, lim);
    rank_frames(&l);
    make_boxes(&l, f);
    vec_release(&l.children);
    free(l.keep);
    free(l.rank);
}
