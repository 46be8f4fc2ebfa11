/* SPDX-License-Identifier: Apache-2.0 */
/* Slow units beside typical ones as a differential profile: what the time went into, then where. */
#include "analyze/unit_tables.h"

#include "analyze/fold_frames.h"
#include "base/units.h"
#include "model/profile_index.h"

#include <math.h>
#include <stdlib.h>

struct builder {
    struct profile *p;
    const struct store *s;
    struct fold_frames frames;
    struct index children;
    uint32_t root;         /* of the cause in work */
    uint32_t *node_of;     /* stack -> its node below that; 0: not made yet */
    VEC(uint32_t) touched; /* stacks with a node there */
    VEC(uint64_t) self[COMPARISON_SIDES];
};

static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t frame)
{
    uint32_t id = profile_index_find(&b->children, b->p, parent, frame);

    if (id)
        return id;
    *vec_push(&b->p->nodes) = (struct profile_node){.parent = parent, .frame = frame};
    for (int i = 0; i < COMPARISON_SIDES; i++)
        *vec_push(&b->self[i]) = 0;
    id = (uint32_t)b->p->nodes.n - 1;
    if (id)
        profile_index_add(&b->children, b->p, id);
    return id;
}

static uint32_t stack_node(struct builder *b, uint32_t stack)
{
    const struct stack_node *nodes = b->s->stacks.nodes.a;
    size_t mark = b->touched.n;
    uint32_t node;

    for (; stack && !b->node_of[stack]; stack = nodes[stack - 1].parent)
        *vec_push(&b->touched) = stack;
    node = stack ? b->node_of[stack] : b->root;
    for (size_t i = b->touched.n; i-- > mark;) {
        uint32_t frame = nodes[b->touched.a[i] - 1].frame;

        for (uint32_t k = 0; k < b->frames.n[frame]; k++)
            node = child_of(b, node, b->frames.seq.a[b->frames.first[frame] + k]);
        b->node_of[b->touched.a[i]] = node;
    }
    return node;
}

/* Stacks of a cause, in an order that does not depend on hashing. */
static int by_key(const void *pa, const void *pb)
{
    const struct map_slot *a = pa, *b = pb;

    return a->key < b->key ? -1 : a->key > b->key;
}

static void add_side(struct builder *b, const struct unit_side *side, int which)
{
    VEC(struct map_slot) sums = {0};
    const struct map_slot *slot;
    unsigned cause = UNIT_CAUSES;

    for (size_t i = 0; (slot = map_next(&side->stacks, &i));)
        *vec_push(&sums) = *slot;
    if (sums.n)
        qsort(sums.a, sums.n, sizeof(*sums.a), by_key);
    for (size_t i = 0; i < sums.n; i++) {
        uint32_t stack = (uint32_t)sums.a[i].key, node;
        unsigned of = (unsigned)(sums.a[i].key >> 32);

        if (of != cause) {
            char *text = mem_printf("[%s]", unit_cause_name(of));

            for (size_t k = 0; k < b->touched.n; k++)
                b->node_of[b->touched.a[k]] = 0;
            vec_clear(&b->touched);
            b->root = child_of(b, 0, fold_frames_marker(&b->frames, text));
            free(text);
            cause = of;
        }
        node = stack <= b->s->stacks.nodes.n ? stack_node(b, stack) : b->root;
        b->self[which].a[node] += sums.a[i].val;
    }
    for (size_t k = 0; k < b->touched.n; k++)
        b->node_of[b->touched.a[k]] = 0;
    vec_clear(&b->touched);
    vec_release(&sums);
}

/* A parent's index is below its children's. */
static void add_metric(struct profile *p, const char *name, const uint64_t *self)
{
    size_t n = p->nodes.n;
    struct profile_metric *m = vec_push(&p->metrics);

    *m = (struct profile_metric){mem_strdup(name), mem_strdup("ns"), mem_dup(self, n * sizeof(*self)),
                                 mem_dup(self, n * sizeof(*self)), 0};
    for (size_t i = n; i-- > 1;)
        m->total[p->nodes.a[i].parent] += m->total[i];
    m->sum = m->total[0];
}

static void link_nodes(struct profile *p)
{
    for (size_t i = p->nodes.n; i-- > 1;) {
        struct profile_node *parent = &p->nodes.a[p->nodes.a[i].parent];

        p->nodes.a[i].next = parent->child;
        parent->child = (uint32_t)i;
    }
}

static void build(struct profile *p, const struct unit_slow *x, const struct store *s)
{
    static const struct fold_opts how = {.no_tasks = 1};
    struct builder b = {.p = p, .s = s};

    fold_frames_init(&b.frames, p, s, &how);
    b.node_of = mem_calloc(s->stacks.nodes.n + 1, sizeof(*b.node_of));
    child_of(&b, UINT32_MAX, 0); /* the root, "all" */
    p->nodes.a[0].parent = 0;
    for (int i = 0; i < COMPARISON_SIDES; i++)
        add_side(&b, &x->side[i], i);
    add_metric(p, "typical", b.self[COMPARISON_BASE].a);
    add_metric(p, "slow", b.self[COMPARISON_NEW].a);
    link_nodes(p);
    for (int i = 0; i < COMPARISON_SIDES; i++)
        vec_release(&b.self[i]);
    vec_release(&b.touched);
    index_release(&b.children);
    fold_frames_release(&b.frames);
    free(b.node_of);
}

void unit_slow_compare(const struct unit_slow *x, const struct session *s, const char *kind,
                       struct comparison *out)
{
    char each[32];

    *out =
        (struct comparison){.metric = mem_strdup("time"), .unit = mem_strdup("ns"), .per = mem_strdup(kind)};
    out->what = "total";
    out->overdispersion = NAN;
    for (int i = 0; i < COMPARISON_SIDES; i++) {
        out->side[i].label = i == COMPARISON_BASE ? "typical" : "slow";
        out->side[i].weight = x->side[i].ns;
        out->side[i].per = (double)x->side[i].units.n;
        units_duration(each, sizeof(each), (uint64_t)unit_slow_each(x, i, x->side[i].ns));
        *vec_push(&out->side[i].runs) =
            mem_printf("%zu %s%s, %s each", x->side[i].units.n, kind, unit_plural(kind), each);
        for (int l = 0; l < COMPARISON_LEVELS; l++)
            out->level[l].weight[i] = x->side[i].ns;
    }
    for (int l = 0; l < COMPARISON_LEVELS; l++)
        out->level[l].unit = COMPARISON_NS;
    build(&out->tree, x, &s->store);
}
