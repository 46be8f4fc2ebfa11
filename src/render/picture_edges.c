/* SPDX-License-Identifier: Apache-2.0 */
/* A picture's edges: one for each pair of shown nodes and relation, both directions together. */
#include "base/hash.h"
#include "base/map.h"
#include "base/units.h"
#include "render/picture_build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewer nodes than that still get the edges of so many. */
#define LEAST_NODES 60

/* An edge of the graph as it is drawn: "belong" is "own" the other way round. */
struct drawn {
    enum graph_relation kind;
    uint32_t a, b;
    int turned; /* a is the graph's b */
};

static int as_drawn(const struct picture_build *b, const struct graph_edge *e, struct drawn *d)
{
    uint32_t x = b->node_of[b->crowd.rep[e->a->index]], y = b->node_of[b->crowd.rep[e->b->index]];
    int turned = e->kind == GRAPH_EDGE_BELONG || e->kind == GRAPH_EDGE_RUN_ON;

    if (x == PICTURE_NONE || y == PICTURE_NONE || x == y || (!b->flat && crowd_is_nesting(&b->crowd, e)))
        return 0;
    d->kind = e->kind == GRAPH_EDGE_BELONG ? GRAPH_EDGE_OWN : turned ? GRAPH_EDGE_HOST : e->kind;
    if (!graph_relation(d->kind)->directed)
        turned = x > y;
    *d = (struct drawn){d->kind, turned ? y : x, turned ? x : y, turned};
    return 1;
}

/* The same for both directions. */
static uint64_t pair_key(enum graph_relation kind, uint32_t a, uint32_t b)
{
    uint64_t low = a < b ? a : b, high = a < b ? b : a;

    return (uint64_t)kind << 56 | low << 28 | high;
}

/* How long the graph's a, or b, waited for the other. */
static uint64_t waited(const struct graph_edge *e, int a)
{
    if (e->kind == GRAPH_EDGE_WAIT)
        return a && e->weight > 0 ? (uint64_t)e->weight : 0;
    return (uint64_t)graph_attr_int(&e->attrs, a ? "waited_a_ns" : "waited_b_ns", 0);
}

static void add_up(struct picture_edge *to, const struct graph_edge *e, int turned)
{
    to->bytes_ab += turned ? e->bytes_ba : e->bytes_ab;
    to->bytes_ba += turned ? e->bytes_ab : e->bytes_ba;
    to->messages_ab += turned ? e->messages_ba : e->messages_ab;
    to->messages_ba += turned ? e->messages_ab : e->messages_ba;
    if (to->count < PICTURE_EDGE_OF)
        to->of[to->count] = e;
    to->count++;
    to->waited_a_ns += waited(e, !turned);
    to->waited_b_ns += waited(e, turned);
    if (!isnan(e->weight))
        to->weight = isnan(to->weight) ? e->weight : to->weight + e->weight;
    if (e->first_ns && (!to->first_ns || e->first_ns < to->first_ns))
        to->first_ns = e->first_ns;
    if (e->last_ns > to->last_ns)
        to->last_ns = e->last_ns;
}

static void collect(struct picture_build *b, struct map *at)
{
    for (size_t i = 0; i < b->order.edges.n; i++) {
        const struct graph_edge *e = b->order.edges.a[i];
        struct picture_edge *to;
        struct drawn d;
        uint64_t *slot;

        if (!as_drawn(b, e, &d))
            continue;
        slot = map_put(at, pair_key(d.kind, d.a, d.b));
        if (!*slot) {
            *vec_push(&b->p->edges) = (struct picture_edge){
                .kind = d.kind, .a = d.a, .b = d.b, .both = !graph_relation(d.kind)->directed, .weight = NAN};
            *slot = b->p->edges.n;
        }
        to = &b->p->edges.a[*slot - 1];
        if (to->a != d.a) { /* the other way */
            to->both = 1;
            d.turned = !d.turned;
        }
        add_up(to, e, d.turned);
    }
}

/* Who sends by a socket has it: no line of its own for that. */
static void drop_implied(struct picture *p)
{
    struct map flows = {0};
    size_t kept = 0;

    for (size_t i = 0; i < p->edges.n; i++)
        if (graph_relation(p->edges.a[i].kind)->class == GRAPH_CLASS_FLOW)
            map_put(&flows, pair_key(0, p->edges.a[i].a, p->edges.a[i].b));
    for (size_t i = 0; i < p->edges.n; i++) {
        const struct picture_edge *e = &p->edges.a[i];
        enum graph_kind to = p->nodes.a[e->b].of->kind;

        if (e->kind == GRAPH_EDGE_OWN && graph_kind(to)->class == GRAPH_CLASS_CHANNEL &&
            map_get(&flows, pair_key(0, e->a, e->b)))
            continue;
        p->edges.a[kept++] = *e;
    }
    p->edges.n = kept;
    map_release(&flows);
}

/* What tells most: flows, and of them the heaviest, first; then waits, wires, uses; then who made whom. */
static int importance(const struct picture_edge *e)
{
    switch (graph_relation(e->kind)->class) {
    case GRAPH_CLASS_WAIT:
        return 4;
    case GRAPH_CLASS_FLOW:
        return 3;
    case GRAPH_CLASS_LINK:
        return 2;
    case GRAPH_CLASS_USE:
        return 1;
    default:
        return 0;
    }
}

static int importance_cmp(const void *a, const void *b)
{
    const struct picture_edge *x = a, *y = b;
    uint64_t bx = x->bytes_ab + x->bytes_ba, by = y->bytes_ab + y->bytes_ba;
    uint64_t kx, ky;

    if (bx != by)
        return bx > by ? -1 : 1;
    if (importance(x) != importance(y))
        return importance(x) > importance(y) ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    kx = pair_key(x->kind, x->a, x->b);
    ky = pair_key(y->kind, y->a, y->b);
    return kx < ky ? -1 : kx > ky;
}

static int place_cmp(const void *a, const void *b)
{
    const struct picture_edge *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

/* Puts first, by importance, what a node would be alone without. */
static void spare_the_last(struct picture *p)
{
    struct picture_edge *sorted = mem_calloc(p->edges.n, sizeof(*sorted));
    uint8_t *has_one = mem_calloc(p->nodes.n + 1, 1), *taken = mem_calloc(p->edges.n, 1);
    size_t n = 0;

    for (size_t i = 0; i < p->edges.n; i++) {
        const struct picture_edge *e = &p->edges.a[i];

        if (has_one[e->a] && has_one[e->b])
            continue;
        has_one[e->a] = has_one[e->b] = taken[i] = 1;
        sorted[n++] = *e;
    }
    for (size_t i = 0; i < p->edges.n; i++)
        if (!taken[i])
            sorted[n++] = p->edges.a[i];
    memcpy(p->edges.a, sorted, n * sizeof(*sorted));
    free(sorted);
    free(has_one);
    free(taken);
}

static void thin(struct picture *p, size_t too_many)
{
    char count[32];

    if (too_many) {
        qsort(p->edges.a, p->edges.n, sizeof(*p->edges.a), importance_cmp);
        spare_the_last(p);
        picture_note(p, "%s edges, those that tell least, are not drawn",
                     units_count(count, sizeof(count), too_many));
        p->edges.n -= too_many;
    }
    if (p->edges.n)
        qsort(p->edges.a, p->edges.n, sizeof(*p->edges.a), place_cmp);
}

/* Bytes of both directions, the greater first where one arrow tells them; "" where none were seen. */
static char *make_label(const struct picture_edge *e)
{
    char ab[32], ba[32];

    if (!e->bytes_ab && !e->bytes_ba)
        return mem_strdup("");
    units_size(ab, sizeof(ab), e->bytes_ab);
    units_size(ba, sizeof(ba), e->bytes_ba);
    if (!e->bytes_ba)
        return mem_strdup(ab);
    return e->bytes_ab ? mem_printf("%s → %s ←", ab, ba) : mem_printf("%s ←", ba);
}

size_t picture_build_edges(struct picture_build *b)
{
    struct picture *p = b->p;
    size_t max = (p->nodes.n > LEAST_NODES ? p->nodes.n : LEAST_NODES) * PICTURE_EDGES_A_NODE;
    struct map at = {0};

    collect(b, &at);
    map_release(&at);
    drop_implied(p);
    return p->edges.n > max ? p->edges.n - max / 2 : 0;
}

void picture_finish_edges(struct picture_build *b, size_t too_many)
{
    thin(b->p, too_many);
    for (size_t i = 0; i < b->p->edges.n; i++)
        b->p->edges.a[i].label = make_label(&b->p->edges.a[i]);
}

static void add_direction(const char *arrow, uint64_t bytes, uint64_t messages, struct buf *out)
{
    char size[32], count[32];

    if (!bytes && !messages)
        return;
    buf_addf(out, ", %s %s", arrow, units_size(size, sizeof(size), bytes));
    if (messages)
        buf_addf(out, " in %s message%s", units_count(count, sizeof(count), messages),
                 messages > 1 ? "s" : "");
}

void picture_edge_text(const struct picture_edge *e, struct buf *out)
{
    char count[32];

    buf_addstr(out, graph_relation(e->kind)->name);
    if (e->count > 1)
        buf_addf(out, " ×%s", units_count(count, sizeof(count), e->count));
    add_direction("→", e->bytes_ab, e->messages_ab, out);
    add_direction("←", e->bytes_ba, e->messages_ba, out);
    if (!isnan(e->weight))
        buf_addf(out, ", weight %g", e->weight);
}
