/* SPDX-License-Identifier: Apache-2.0 */
#include "render/flame.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Weights below this have a bucket of their own; above, 1024 buckets a power of two: 0.1 % wide. */
#define EXACT   2048u
#define BUCKETS (EXACT + 53 * 1024)

/* The cut: stays what is in a bucket above `bucket`, or in it and not deeper than `depth`; and in no case
 * deeper than `last_row`. */
struct cut {
    unsigned bucket;
    uint16_t depth, last_row;
    uint16_t *depths; /* of each node, NULL where no depth matters */
};

/* A node that stays. They are numbered in the order of nodes, so a parent's number is below its children's.
 */
struct kept {
    uint32_t node, parent;
    uint32_t rank;   /* its frame's place in the order of names */
    uint64_t pruned; /* total of its children that were cut */
};

/* What is in here is made by passes in the order of nodes, which stand in memory so; a profile may have tens
 * of millions, and walking the tree itself would miss the cache at each step. */
struct layout {
    const struct profile *p;
    const uint64_t *total, *self;
    uint64_t min;     /* what is lighter is cut in any case */
    uint32_t *number; /* of each node among the kept, + 1; 0: cut */
    VEC(struct kept) kept;
    uint32_t *children; /* numbers of the kept, those of one parent together, in the order of names */
    uint32_t *first;    /* of each kept, where its children begin; ends with the next one's */
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

#define DEPTHS (UINT16_MAX + 1)

/* Measures the depth of each node, and how many of the bucket's nodes stand at each depth. */
static void measure_depths(struct cut *c, const struct layout *l, size_t counts[DEPTHS])
{
    const struct profile_node *nodes = l->p->nodes.a;

    c->depths = mem_alloc(l->p->nodes.n * sizeof(*c->depths));
    c->depths[0] = 0;
    for (size_t i = 1; i < l->p->nodes.n; i++) {
        uint16_t above = c->depths[nodes[i].parent];

        c->depths[i] = above + (above < UINT16_MAX);
        if (l->total[i] >= l->min)
            counts[c->depths[i]] += bucket_of(l->total[i]) == c->bucket;
    }
}

/* How deep may nodes of the bucket stand so that at most `room` stay? The shallow ones stay: the graph is cut
 * evenly instead of being whole on the left and empty on the right. */
static void limit_depth(struct cut *c, const size_t counts[DEPTHS], size_t room)
{
    while (c->depth < UINT16_MAX && counts[c->depth + 1] <= room)
        room -= counts[++c->depth];
}

/* A row never weighs more than the one before it, so those that weigh enough are the first ones. */
static void limit_rows(struct cut *c, const struct layout *l, uint64_t min_row)
{
    uint64_t *weights = mem_calloc(DEPTHS, sizeof(*weights));

    for (size_t i = 0; i < l->p->nodes.n; i++)
        weights[c->depths[i]] += l->total[i];
    c->last_row = 0;
    while (c->last_row < UINT16_MAX && weights[c->last_row + 1] >= min_row)
        c->last_row++;
    free(weights);
}

/* The lightest bucket of which something may stay; *room gets how many of it. 0: all may stay. */
static unsigned find_bucket(const struct layout *l, size_t *room)
{
    size_t *counts = mem_calloc(BUCKETS, sizeof(*counts));
    unsigned b = BUCKETS - 1;

    for (size_t i = 0; i < l->p->nodes.n; i++)
        if (l->total[i] >= l->min) /* of many nodes most are not */
            counts[bucket_of(l->total[i])]++;
    while (b > 0 && counts[b] <= *room)
        *room -= counts[b--];
    free(counts);
    return b;
}

static struct cut find_cut(const struct layout *l, const struct flame_limits *lim)
{
    struct cut c = {.last_row = UINT16_MAX};
    size_t room = lim->max_boxes ? lim->max_boxes : SIZE_MAX;
    size_t *counts;

    c.bucket = find_bucket(l, &room);
    if (!c.bucket && !lim->min_row)
        return c;
    counts = mem_calloc(DEPTHS, sizeof(*counts));
    measure_depths(&c, l, counts);
    limit_depth(&c, counts, room);
    if (lim->min_row)
        limit_rows(&c, l, lim->min_row);
    free(counts);
    return c;
}

static int stays(const struct layout *l, const struct cut *c, size_t i)
{
    unsigned b;

    if (l->total[i] < l->min)
        return 0;
    if (!c->depths)
        return 1;
    b = bucket_of(l->total[i]);
    return c->depths[i] <= c->last_row && (b > c->bucket || (b == c->bucket && c->depths[i] <= c->depth));
}

/* Numbers what stays. A child is never heavier than its parent and always deeper, so a kept node's parents
 * are kept. */
static void choose(struct layout *l, struct flame *f, const struct flame_limits *lim)
{
    const struct profile_node *nodes = l->p->nodes.a;
    struct cut c = {.last_row = UINT16_MAX};

    l->min = lim->min_total ? lim->min_total : 1;
    if (lim->min_row || (lim->max_boxes && l->p->nodes.n > lim->max_boxes))
        c = find_cut(l, lim);
    *vec_push(&l->kept) = (struct kept){0};
    l->number[0] = 1;
    for (size_t i = 1; i < l->p->nodes.n; i++) {
        uint32_t parent = l->number[nodes[i].parent];

        if (stays(l, &c, i)) {
            *vec_push(&l->kept) = (struct kept){(uint32_t)i, parent - 1, 0, 0};
            l->number[i] = (uint32_t)l->kept.n;
        } else if (l->total[i]) {
            f->pruned_nodes++;
            if (parent)
                l->kept.a[parent - 1].pruned += l->total[i];
        }
    }
    free(c.depths);
    f->last_row = c.last_row;
    if (f->pruned_nodes) {
        uint64_t floor = bucket_floor(c.bucket + 1);

        f->min_total = c.bucket && floor > l->min ? floor : l->min;
    }
}

/* ---- order ---- */

struct named {
    uint64_t head; /* the first eight bytes before any digit, big-endian: decides most comparisons */
    const char *name;
    uint32_t frame, kind;
};

static uint64_t name_head(const char *s)
{
    uint64_t h = 0;

    for (int i = 0; i < 8; i++) {
        int more = *s && (*s < '0' || *s > '9');

        h = h << 8 | (more ? (uint8_t)*s : 0);
        s += more;
    }
    return h;
}

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int c;

    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    c = strverscmp(x->name, y->name); /* "step 9" before "step 10" */
    if (c)
        return c;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->frame < y->frame ? -1 : 1;
}

/* Gives each kept node the rank of its frame. */
static void rank_frames(struct layout *l)
{
    const struct profile *p = l->p;
    VEC(struct named) names = {0};
    uint32_t *rank = mem_calloc(p->frames.n, sizeof(*rank));

    for (size_t i = 1; i < l->kept.n; i++) {
        uint32_t id = p->nodes.a[l->kept.a[i].node].frame;
        const char *name;

        l->kept.a[i].rank = id;
        if (rank[id])
            continue;
        rank[id] = 1;
        name = strtab_get(&p->strings, p->frames.a[id].func);
        *vec_push(&names) = (struct named){name_head(name), name, id, p->frames.a[id].kind};
    }
    if (names.n)
        qsort(names.a, names.n, sizeof(*names.a), by_name);
    for (size_t i = 0; i < names.n; i++)
        rank[names.a[i].frame] = (uint32_t)i;
    for (size_t i = 1; i < l->kept.n; i++)
        l->kept.a[i].rank = rank[l->kept.a[i].rank];
    vec_release(&names);
    free(rank);
}

static int by_rank(const void *a, const void *b, void *ctx)
{
    const struct layout *l = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t rx = l->kept.a[x].rank, ry = l->kept.a[y].rank;

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

/* Counts the children of each, turns the counts into places, puts them there and sorts them. */
static void order_children(struct layout *l)
{
    size_t n = l->kept.n;
    uint32_t *next;

    l->children = mem_alloc(n * sizeof(*l->children));
    l->first = mem_calloc(n + 1, sizeof(*l->first));
    for (size_t i = 1; i < n; i++)
        l->first[l->kept.a[i].parent + 1]++;
    for (size_t i = 0; i < n; i++)
        l->first[i + 1] += l->first[i];
    next = mem_dup(l->first, n * sizeof(*next));
    for (size_t i = 1; i < n; i++)
        l->children[next[l->kept.a[i].parent]++] = (uint32_t)i;
    free(next);
    for (size_t i = 0; i < n; i++)
        sort_children(l, l->children + l->first[i], l->first[i + 1] - l->first[i]);
}

/* ---- boxes ---- */

struct pending {
    uint32_t kept, depth;
    uint64_t start;
    uint64_t pruned; /* not 0: the box of this weight that `kept` lost */
};

struct todo {
    VEC(struct pending) stack;
};

/* Puts the children of a box on the stack, the leftmost on top; the pruned box stands rightmost, and self
 * weight is what stays free on the right of that. */
static void push_children(struct layout *l, struct todo *t, uint32_t kept, const struct flame_box *box)
{
    uint32_t begin = l->first[kept], end = l->first[kept + 1];
    uint64_t at = box->start, pruned = l->kept.a[kept].pruned;

    for (uint32_t i = begin; i < end; i++)
        at += l->total[l->kept.a[l->children[i]].node];
    if (pruned)
        *vec_push(&t->stack) = (struct pending){kept, box->depth + 1, at, pruned};
    for (uint32_t i = end; i-- > begin;) {
        uint32_t child = l->children[i];

        at -= l->total[l->kept.a[child].node];
        *vec_push(&t->stack) = (struct pending){child, box->depth + 1, at, 0};
    }
}

static void make_boxes(struct layout *l, struct flame *f)
{
    struct todo t = {0};

    vec_reserve(&f->boxes, l->kept.n);
    *vec_push(&t.stack) = (struct pending){0};
    while (t.stack.n) {
        struct pending at = t.stack.a[--t.stack.n];
        uint32_t node = l->kept.a[at.kept].node;
        struct flame_box box = {node, at.depth, at.start, at.pruned, at.pruned, at.pruned != 0};

        if (box.depth > f->depth)
            f->depth = box.depth;
        if (box.pruned) {
            f->pruned_weight += at.pruned;
        } else {
            box.total = l->total[node];
            box.self = l->self[node];
            push_children(l, &t, at.kept, &box);
        }
        *vec_push(&f->boxes) = box;
    }
    vec_release(&t.stack);
}

struct flame_weights flame_metric(const struct profile *p, size_t metric)
{
    if (metric >= p->metrics.n)
        return (struct flame_weights){0};
    return (struct flame_weights){p->metrics.a[metric].self, p->metrics.a[metric].total};
}

void flame_layout(struct flame *f, const struct profile *p, const struct flame_weights *w,
                  const struct flame_limits *lim)
{
    struct layout l = {.p = p, .total = w->total, .self = w->self};

    if (!w->total || !p->nodes.n) {
        *vec_push(&f->boxes) = (struct flame_box){0};
        return;
    }
    l.number = mem_calloc(p->nodes.n, sizeof(*l.number));
    f->sum = l.total[0];
    choose(&l, f, lim);
    free(l.number);
    rank_frames(&l);
    order_children(&l);
    make_boxes(&l, f);
    vec_release(&l.kept);
    free(l.children);
    free(l.first);
}
