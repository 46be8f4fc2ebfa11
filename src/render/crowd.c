/* SPDX-License-Identifier: Apache-2.0 */
#include "render/crowd.h"

#include "base/map.h"
#include "render/crowd_worth.h"

#include <stdlib.h>
#include <string.h>

/* Nodes with more neighbours than that are nobody's equal. */
#define MAX_DEGREE 64

static int is_place(const struct graph_node *n)
{
    return graph_kind(n->kind)->class == GRAPH_CLASS_PLACE;
}

void crowd_name(const struct graph_node *n, struct buf *out)
{
    const char *name = graph_attr_str(&n->attrs, "name", "");

    if (n->kind == GRAPH_SOCKET)
        name = graph_attr_str(&n->attrs, "socket_addr", "");
    else if (n->kind == GRAPH_OTHER)
        name = graph_attr_str(&n->attrs, "entity_type", "");
    buf_addstr(out, *name ? name : graph_kind(n->kind)->abbr);
}

/* ---- what is in what ---- */

/* How narrow a place is: of several that a node is in, the narrowest is drawn around it. */
static int narrowness(const struct graph_node *n)
{
    switch (n->kind) {
    case GRAPH_PROCESS:
        return 5;
    case GRAPH_CONTAINER:
        return 4;
    case GRAPH_POD:
        return 3;
    case GRAPH_JOB:
        return 2;
    case GRAPH_HOST:
        return 1;
    default:
        return 0;
    }
}

/* Whether the edge puts `in` into `outer`. A process's children are beside it. */
static int nests(const struct graph_edge *e, const struct graph_node **in, const struct graph_node **outer)
{
    int down = e->kind == GRAPH_EDGE_OWN || e->kind == GRAPH_EDGE_HOST;

    if (!down && e->kind != GRAPH_EDGE_BELONG && e->kind != GRAPH_EDGE_RUN_ON)
        return 0;
    *outer = down ? e->a : e->b;
    *in = down ? e->b : e->a;
    if ((*outer)->kind == GRAPH_PROCESS)
        return (*in)->kind == GRAPH_THREAD;
    return is_place(*outer) && narrowness(*in) != narrowness(*outer) &&
           (!narrowness(*in) || narrowness(*in) > narrowness(*outer));
}

static void find_parents(struct crowd *c)
{
    const struct graph *g = c->g;

    for (size_t i = 0; i < g->nodes.n; i++)
        c->parent[i] = CROWD_NONE;
    for (size_t i = 0; i < c->order->edges.n; i++) {
        const struct graph_node *in, *outer;
        uint32_t *have;

        if (!nests(c->order->edges.a[i], &in, &outer))
            continue;
        have = &c->parent[in->index];
        if (*have == CROWD_NONE || narrowness(g->nodes.a[*have]) < narrowness(outer))
            *have = outer->index;
    }
}

/* The first thread of a process has its id; that is enough where nothing else joins them. */
static void find_first_threads(struct crowd *c)
{
    struct map process = {0};

    for (uint32_t i = 0; i < c->g->nodes.n; i++) {
        const struct graph_node *n = c->g->nodes.a[i];

        if (n->kind == GRAPH_PROCESS && !strcmp(n->ns, c->g->ns) && !n->twin)
            *map_put(&process, (uint64_t)graph_attr_int(&n->attrs, "pid", 0)) = i;
    }
    for (uint32_t i = 0; i < c->g->nodes.n; i++) {
        const struct graph_node *n = c->g->nodes.a[i];
        uint64_t *of;

        if (n->kind != GRAPH_THREAD || c->parent[i] != CROWD_NONE || strcmp(n->ns, c->g->ns) != 0)
            continue;
        of = map_get(&process, (uint64_t)graph_attr_int(&n->attrs, "tid", 0));
        if (of)
            c->parent[i] = (uint32_t)*of;
    }
    map_release(&process);
}

int crowd_is_nesting(const struct crowd *c, const struct graph_edge *e)
{
    const struct graph_node *in, *outer;

    for (uint32_t at = nests(e, &in, &outer) ? in->index : CROWD_NONE; at != CROWD_NONE; at = c->parent[at])
        if (c->parent[at] == outer->index)
            return 1;
    return 0;
}

/* The innermost place, which is no process, that a node is in. */
static uint32_t place_of(const struct crowd *c, uint32_t i)
{
    uint32_t at = c->parent[i];

    while (at != CROWD_NONE && !is_place(c->g->nodes.a[at]))
        at = c->parent[at];
    return at == CROWD_NONE ? at : c->rep[at];
}

/* ---- neighbours ---- */

struct neighbours {
    VEC(uint64_t) list; /* relation, direction, the other's representative */
};

static void add_neighbour(struct neighbours *n, const struct graph_edge *e, int out, uint32_t other)
{
    if (n->list.n <= MAX_DEGREE)
        *vec_push(&n->list) = (uint64_t)e->kind << 40 | (uint64_t)out << 33 | other;
}

static int u64_cmp(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static struct neighbours *neighbours_new(const struct crowd *c)
{
    struct neighbours *all = mem_calloc(c->g->nodes.n, sizeof(*all));

    for (size_t i = 0; i < c->g->edges.n; i++) {
        const struct graph_edge *e = c->g->edges.a[i];
        uint32_t a = c->rep[e->a->index], b = c->rep[e->b->index];
        int directed = graph_relation(e->kind)->directed;

        add_neighbour(&all[a], e, directed, b);
        add_neighbour(&all[b], e, 0, a);
    }
    for (size_t i = 0; i < c->g->nodes.n; i++)
        if (all[i].list.n)
            qsort(all[i].list.a, all[i].list.n, sizeof(*all[i].list.a), u64_cmp);
    return all;
}

static void neighbours_free(struct neighbours *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        vec_release(&all[i].list);
    free(all);
}

/* ---- keys: what has the same one is folded ---- */

static void add_plain_name(const struct graph_node *n, struct buf *out)
{
    size_t from = out->len, to = from;

    crowd_name(n, out);
    for (size_t i = from; i < out->len; i++) { /* each run of digits is one '#' */
        int digit = out->data[i] >= '0' && out->data[i] <= '9';

        if (digit && to > from && out->data[to - 1] == '#')
            continue;
        out->data[to++] = digit ? '#' : out->data[i];
    }
    out->len = to;
    if (out->data)
        out->data[to] = '\0';
}

static void key_equal(const struct crowd *c, const struct neighbours *all, uint32_t i, struct buf *out)
{
    const struct neighbours *n = &all[i];

    if (is_place(c->g->nodes.a[i]) || n->list.n > MAX_DEGREE || !n->list.n)
        return;
    buf_addf(out, "%u %u ", c->g->nodes.a[i]->kind, c->parent[i]);
    add_plain_name(c->g->nodes.a[i], out);
    for (size_t k = 0; k < n->list.n; k++)
        buf_addf(out, " %llx", (unsigned long long)n->list.a[k]);
}

/* Appends the key of node i for the step; nothing where it is not to be folded. */
static void add_key(const struct crowd *c, enum crowd_step step, const struct neighbours *all, uint32_t i,
                    struct buf *out)
{
    const struct graph_node *n = c->g->nodes.a[i];

    switch (step) {
    case CROWD_EQUAL:
        key_equal(c, all, i, out);
        break;
    case CROWD_THREADS:
        if (n->kind == GRAPH_THREAD && c->parent[i] != CROWD_NONE)
            buf_addf(out, "%u", c->rep[c->parent[i]]);
        else if (n->kind == GRAPH_PROCESS)
            buf_addf(out, "%u", i);
        break;
    case CROWD_NAMES:
        if (is_place(n))
            break;
        buf_addf(out, "%u %u ", n->kind, place_of(c, i));
        add_plain_name(n, out);
        break;
    case CROWD_PLACES:
        if (is_place(n))
            buf_addf(out, "%u %u", n->kind, place_of(c, i));
        break;
    case CROWD_KINDS:
        if (!is_place(n))
            buf_addf(out, "%u %u", n->kind, place_of(c, i));
        break;
    default:
        buf_addf(out, "%u", n->kind);
    }
}

/* ---- folding ---- */

struct member {
    char *key;
    uint32_t node, rank;
};

struct set { /* of members with one key: first..first + n */
    size_t first, n;
};

struct members {
    VEC(struct member) list;
    VEC(struct set) sets;
};

static int member_cmp(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int c = strcmp(x->key, y->key);

    return c ? c : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The largest first. */
static int set_cmp(const void *a, const void *b)
{
    const struct set *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static void collect(const struct crowd *c, enum crowd_step step, struct members *m)
{
    struct neighbours *all = step == CROWD_EQUAL ? neighbours_new(c) : NULL;

    for (uint32_t i = 0; i < c->g->nodes.n; i++) {
        struct buf key = {0};

        if (c->rep[i] == i)
            add_key(c, step, all, i, &key);
        if (key.len) {
            uint32_t rank = c->order->ranks.a[i]; /* a process stands for its threads, whatever their order */

            *vec_push(&m->list) = (struct member){buf_detach(&key), i, rank};
        }
        buf_release(&key);
    }
    if (all)
        neighbours_free(all, c->g->nodes.n);
    if (m->list.n)
        qsort(m->list.a, m->list.n, sizeof(*m->list.a), member_cmp);
    for (size_t i = 0, k; i < m->list.n; i = k) {
        for (k = i + 1; k < m->list.n && !strcmp(m->list.a[i].key, m->list.a[k].key);)
            k++;
        if (k - i > 1)
            *vec_push(&m->sets) = (struct set){i, k - i};
    }
    if (m->sets.n)
        qsort(m->sets.a, m->sets.n, sizeof(*m->sets.a), set_cmp);
}

static void members_release(struct members *m)
{
    for (size_t i = 0; i < m->list.n; i++)
        free(m->list.a[i].key);
    vec_release(&m->list);
    vec_release(&m->sets);
}

/* The first of the set stands for the others. It is in what all of them are in. */
static void fold_set(struct crowd *c, const struct member *list, size_t n)
{
    uint32_t first = list[0].node, place = place_of(c, first), in = c->parent[first];
    int one_parent = 1, one_place = 1;

    for (size_t i = 1; i < n; i++) {
        uint32_t at = list[i].node, parent = c->parent[at];

        /* a thread that goes into its process has that for a parent */
        one_parent = one_parent && (parent == in || (parent != CROWD_NONE && c->rep[parent] == first));
        one_place = one_place && place_of(c, at) == place;
        c->rep[at] = first;
    }
    if (!one_parent)
        c->parent[first] = one_place ? place : CROWD_NONE;
}

static void flatten(struct crowd *c)
{
    for (uint32_t i = 0; i < c->g->nodes.n; i++)
        while (c->rep[c->rep[i]] != c->rep[i])
            c->rep[i] = c->rep[c->rep[i]];
}

/* Folds sets, the largest first, until at most max nodes are shown; only those that `may`, where that is not
 * NULL. */
static void fold_some(struct crowd *c, enum crowd_step step, size_t max,
                      int (*may)(const struct graph_node *first, size_t n))
{
    struct members m = {0};

    collect(c, step, &m);
    for (size_t i = 0; i < m.sets.n && c->shown > max; i++) {
        const struct set *s = &m.sets.a[i];

        if (may && !may(c->g->nodes.a[m.list.a[s->first].node], s->n))
            continue;
        fold_set(c, m.list.a + s->first, s->n);
        c->folded[step] += s->n - 1;
        c->shown -= s->n - 1;
    }
    flatten(c);
    members_release(&m);
}

static void fold(struct crowd *c, enum crowd_step step, size_t max)
{
    fold_some(c, step, max, NULL);
}

/* ---- only as many as needed: those that tell least ---- */

struct candidate {
    const struct crowd_worth *worth;
    uint32_t rank;
    size_t member; /* in members.list */
    size_t set;
};

struct candidates {
    VEC(struct candidate) list;
};

static int candidate_cmp(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    int c = crowd_worth_cmp(x->worth, y->worth);

    return c ? c : x->rank > y->rank ? -1 : x->rank < y->rank;
}

/* Of a set the chosen ones, in their order. */
static void fold_chosen(struct crowd *c, const struct members *m, const struct set *s, const uint8_t *chosen)
{
    VEC(struct member) of = {0};

    for (size_t i = s->first; i < s->first + s->n; i++)
        if (chosen[i])
            *vec_push(&of) = m->list.a[i];
    if (of.n > 1)
        fold_set(c, of.a, of.n);
    vec_release(&of);
}

/* The first of a set that is chosen stands for those that follow. */
static void fold_worst(struct crowd *c, enum crowd_step step, const struct members *m, struct candidates *all,
                       size_t max)
{
    uint8_t *chosen = mem_calloc(m->list.n + 1, 1), *begun = mem_calloc(m->sets.n + 1, 1);

    if (all->list.n)
        qsort(all->list.a, all->list.n, sizeof(*all->list.a), candidate_cmp);
    for (size_t i = 0; i < all->list.n && c->shown > max; i++) {
        const struct candidate *k = &all->list.a[i];

        chosen[k->member] = 1;
        c->shown -= begun[k->set];
        c->folded[step] += begun[k->set];
        begun[k->set] = 1;
    }
    for (size_t i = 0; i < m->sets.n; i++)
        fold_chosen(c, m, &m->sets.a[i], chosen);
    free(chosen);
    free(begun);
}

static void fold_least(struct crowd *c, enum crowd_step step, size_t max)
{
    struct crowd_worth *worths = crowd_worths(c);
    struct candidates all = {0};
    struct members m = {0};

    collect(c, step, &m);
    for (size_t i = 0; i < m.sets.n; i++)
        for (size_t k = m.sets.a[i].first; k < m.sets.a[i].first + m.sets.a[i].n; k++)
            *vec_push(&all.list) = (struct candidate){&worths[m.list.a[k].node], m.list.a[k].rank, k, i};
    fold_worst(c, step, &m, &all, max);
    flatten(c);
    members_release(&m);
    vec_release(&all.list);
    free(worths);
}

/* Two are as soon read as one that says so. */
static int is_small_fry(const struct graph_node *first, size_t n)
{
    return n > 2 && first->kind != GRAPH_PROCESS;
}

void crowd_fold_equals(struct crowd *c)
{
    fold_some(c, CROWD_EQUAL, 0, is_small_fry);
}

/* In a place that stands for many, what was apart only by its place is one. */
static void fold_step(struct crowd *c, enum crowd_step step, size_t max)
{
    size_t before = c->folded[step];

    if (step == CROWD_KINDS || step == CROWD_ALL)
        fold_least(c, step, max); /* what they have in common tells little: as few as will do */
    else
        fold(c, step, max);
    if (step == CROWD_PLACES && c->folded[step] > before) {
        fold(c, CROWD_THREADS, 0);
        fold(c, CROWD_NAMES, 0);
    }
}

void crowd_init(struct crowd *c, const struct graph *g, const struct graph_order *o, size_t max)
{
    static const enum crowd_step steps[] = {CROWD_EQUAL,  CROWD_THREADS, CROWD_NAMES,
                                            CROWD_PLACES, CROWD_KINDS,   CROWD_ALL};

    *c = (struct crowd){.g = g, .order = o, .shown = g->nodes.n};
    c->rep = mem_calloc(g->nodes.n, sizeof(*c->rep));
    c->parent = mem_calloc(g->nodes.n, sizeof(*c->parent));
    for (uint32_t i = 0; i < g->nodes.n; i++)
        c->rep[i] = i;
    find_parents(c);
    find_first_threads(c);
    for (size_t i = 0; max && i < ARRAY_SIZE(steps) && c->shown > max; i++)
        fold_step(c, steps[i], max);
}

void crowd_release(struct crowd *c)
{
    free(c->rep);
    free(c->parent);
}
