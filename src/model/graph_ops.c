/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph_ops.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- merging ---- */

static void copy_attrs(struct graph *g, struct graph_attrs *to, const struct graph_attrs *from,
                       enum graph_merge how)
{
    for (size_t i = 0; i < from->list.n; i++) {
        const struct graph_attr *a = &from->list.a[i];
        const struct graph_attr *have = graph_attr(to, a->name);

        if (have && have->type != GRAPH_NULL && how == GRAPH_BESIDE)
            continue;
        switch (a->type) {
        case GRAPH_STR:
            graph_set_str(g, to, a->name, a->str);
            break;
        case GRAPH_INT:
            graph_set_int(g, to, a->name, a->i);
            break;
        case GRAPH_F64:
            graph_set_f64(g, to, a->name, a->f);
            break;
        case GRAPH_BOOL:
            graph_set_bool(g, to, a->name, (int)a->i);
            break;
        case GRAPH_NULL:
            if (!have)
                graph_set_str(g, to, a->name, NULL);
            break;
        case GRAPH_JSON:
            graph_set_json(g, to, a->name, a->str);
            break;
        }
    }
}

static void widen(uint64_t *first, uint64_t *last, uint64_t other_first, uint64_t other_last)
{
    if (other_first && (!*first || other_first < *first))
        *first = other_first;
    if (other_last > *last)
        *last = other_last;
}

/* What is already known was seen when it was: the time and source of `into` are not those of what it takes.
 */
struct outside {
    uint64_t time_ns;
    const char *source;
};

static struct outside outside_begin(struct graph *g)
{
    struct outside was = {g->time_ns, g->source};

    g->time_ns = 0;
    g->source = graph_text(g, "");
    return was;
}

static void outside_end(struct graph *g, struct outside was)
{
    g->time_ns = was.time_ns;
    g->source = was.source;
}

/* A node's identity in another graph: what of it is numbers. */
struct id_text {
    char field[GRAPH_FIELDS][24];
};

static void id_of(const struct graph_node *n, struct graph_id *id, struct id_text *text)
{
    *id = (struct graph_id){.kind = n->kind, .ns = n->ns, .instance = *n->instance ? n->instance : NULL};
    for (unsigned i = 0; graph_field(n->kind, i); i++) {
        const struct graph_attr *a = graph_attr(&n->attrs, graph_field(n->kind, i));

        if (!a || a->type == GRAPH_NULL)
            continue;
        if (a->type == GRAPH_STR || a->type == GRAPH_JSON) {
            id->field[i] = a->str;
            continue;
        }
        if (a->type == GRAPH_F64)
            snprintf(text->field[i], sizeof(text->field[i]), "%g", a->f);
        else
            snprintf(text->field[i], sizeof(text->field[i]), "%lld", (long long)a->i);
        id->field[i] = text->field[i];
    }
}

struct graph_node *graph_merge_node(struct graph *into, const struct graph_node *n, enum graph_merge how,
                                    const char *ns)
{
    struct id_text text;
    struct graph_id id;
    struct outside was = outside_begin(into);
    struct graph_node *to;
    int is_new;

    id_of(n, &id, &text);
    if (ns && !strcmp(n->ns, GRAPH_LOCAL))
        id.ns = ns;
    is_new = !graph_find(into, &id);
    to = graph_add(into, &id);
    copy_attrs(into, &to->attrs, &n->attrs, how);
    to->source = graph_sources_joined(into, to->source, n->source);
    widen(&to->first_ns, &to->last_ns, n->first_ns, n->last_ns);
    if (!isnan(n->weight) && (how == GRAPH_LATER || isnan(to->weight)))
        to->weight = n->weight;
    if (is_new || n->confidence > to->confidence)
        to->confidence = n->confidence;
    outside_end(into, was);
    return to;
}

static uint64_t merged(uint64_t have, uint64_t other, enum graph_merge how)
{
    return how == GRAPH_LATER ? other : have + other;
}

void graph_merge_edge(struct graph *into, const struct graph_edge *e, struct graph_node *a,
                      struct graph_node *b, enum graph_merge how)
{
    int is_new = !graph_find_edge(into, e->kind, a, b), swapped;
    struct outside was = outside_begin(into);
    struct graph_edge *to = graph_edge(into, e->kind, a, b);

    swapped = to->a != a;
    copy_attrs(into, &to->attrs, &e->attrs, how);
    to->source = graph_sources_joined(into, to->source, e->source);
    widen(&to->first_ns, &to->last_ns, e->first_ns, e->last_ns);
    to->bytes_ab = merged(to->bytes_ab, swapped ? e->bytes_ba : e->bytes_ab, how);
    to->bytes_ba = merged(to->bytes_ba, swapped ? e->bytes_ab : e->bytes_ba, how);
    to->messages_ab = merged(to->messages_ab, swapped ? e->messages_ba : e->messages_ab, how);
    to->messages_ba = merged(to->messages_ba, swapped ? e->messages_ab : e->messages_ba, how);
    if (how == GRAPH_LATER && !isnan(e->weight))
        to->weight = e->weight;
    else if (how == GRAPH_BESIDE)
        graph_edge_weight(to, e->weight);
    if (is_new || e->confidence > to->confidence)
        to->confidence = e->confidence;
    outside_end(into, was);
}

void graph_merge(struct graph *into, const struct graph *from, enum graph_merge how, const char *ns)
{
    struct graph_node **map = mem_calloc(from->nodes.n + 1, sizeof(*map));

    for (size_t i = 0; i < from->nodes.n; i++)
        map[i] = graph_merge_node(into, from->nodes.a[i], how, ns);
    for (size_t i = 0; i < from->edges.n; i++) {
        const struct graph_edge *e = from->edges.a[i];

        graph_merge_edge(into, e, map[e->a->index], map[e->b->index], how);
    }
    for (size_t i = 0; i < from->coverage.n; i++)
        graph_cover(into, &from->coverage.a[i]);
    if (from->time_ns > into->time_ns)
        into->time_ns = from->time_ns;
    if (!*into->host)
        into->host = graph_text(into, from->host);
    free(map);
}

/* ---- membership ---- */

struct graph_node *graph_node_in(const struct graph *g, const struct graph_node *n)
{
    struct id_text text;
    struct graph_id id;

    id_of(n, &id, &text);
    return graph_find(g, &id);
}

struct graph_edge *graph_edge_in(const struct graph *g, const struct graph_edge *e)
{
    struct graph_node *a = graph_node_in(g, e->a), *b = a ? graph_node_in(g, e->b) : NULL;

    return b ? graph_find_edge(g, e->kind, a, b) : NULL;
}

int graph_subset(const struct graph *a, const struct graph *b)
{
    for (size_t i = 0; i < a->nodes.n; i++)
        if (!graph_node_in(b, a->nodes.a[i]))
            return 0;
    for (size_t i = 0; i < a->edges.n; i++)
        if (!graph_edge_in(b, a->edges.a[i]))
            return 0;
    return 1;
}

int graph_equal(const struct graph *a, const struct graph *b)
{
    return a->nodes.n == b->nodes.n && a->edges.n == b->edges.n && graph_subset(a, b) && graph_subset(b, a);
}

/* ---- new graphs ---- */

void graph_copy_about(struct graph *out, const struct graph *g)
{
    out->host = graph_text(out, g->host);
    out->ns = graph_text(out, g->ns);
    for (size_t i = 0; i < g->coverage.n; i++)
        graph_cover(out, &g->coverage.a[i]);
    out->time_ns = g->time_ns;
}

void graph_union(struct graph *out, const struct graph *a, const struct graph *b)
{
    graph_merge(out, a, GRAPH_BESIDE, NULL);
    graph_merge(out, b, GRAPH_BESIDE, NULL);
}

/* Nodes whose byte in `nodes` is not 0, edges whose byte in `edges` is not (NULL: all between such nodes). */
void graph_chosen(struct graph *out, const struct graph *g, const uint8_t *nodes, const uint8_t *edges)
{
    struct graph_node **map = mem_calloc(g->nodes.n + 1, sizeof(*map));

    for (size_t i = 0; i < g->nodes.n; i++)
        if (nodes[i])
            map[i] = graph_merge_node(out, g->nodes.a[i], GRAPH_BESIDE, NULL);
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];

        if (map[e->a->index] && map[e->b->index] && (!edges || edges[i]))
            graph_merge_edge(out, e, map[e->a->index], map[e->b->index], GRAPH_BESIDE);
    }
    graph_copy_about(out, g);
    free(map);
}

void graph_difference(struct graph *out, const struct graph *a, const struct graph *b)
{
    uint8_t *nodes = mem_calloc(a->nodes.n + 1, 1), *edges = mem_calloc(a->edges.n + 1, 1);

    for (size_t i = 0; i < a->nodes.n; i++)
        nodes[i] = !graph_node_in(b, a->nodes.a[i]);
    for (size_t i = 0; i < a->edges.n; i++) {
        const struct graph_edge *e = a->edges.a[i];

        edges[i] = !graph_edge_in(b, e);
        if (edges[i])
            nodes[e->a->index] = nodes[e->b->index] = 1;
    }
    graph_chosen(out, a, nodes, edges);
    free(nodes);
    free(edges);
}

void graph_filter(struct graph *out, const struct graph *g, graph_keep *keep, void *arg)
{
    uint8_t *nodes = mem_calloc(g->nodes.n + 1, 1);

    for (size_t i = 0; i < g->nodes.n; i++)
        nodes[i] = keep(arg, g->nodes.a[i]) != 0;
    graph_chosen(out, g, nodes, NULL);
    free(nodes);
}

static int fits(const char *text, const char *pattern)
{
    return strpbrk(pattern, "*?[") ? !fnmatch(pattern, text, 0) : strstr(text, pattern) != NULL;
}

static int keep_fitting(void *arg, const struct graph_node *n)
{
    struct buf text = {0};
    int yes;

    graph_node_id(n, &text);
    yes = fits(buf_str(&text), arg);
    if (!yes) {
        buf_clear(&text);
        graph_node_label(n, &text);
        yes = fits(buf_str(&text), arg);
    }
    buf_release(&text);
    return yes;
}

size_t graph_match(struct graph *out, const struct graph *g, const char *pattern)
{
    size_t before = out->nodes.n;

    graph_filter(out, g, keep_fitting, (void *)pattern);
    return out->nodes.n - before;
}

/* ---- neighbourhood ---- */

/* Everything is next to these: going on from them would reach all. */
static int is_hub(const struct graph_node *n)
{
    return n->kind == GRAPH_HOST || n->kind == GRAPH_NUMA || n->kind == GRAPH_NUMA_SET ||
           graph_kind(n->kind)->class == GRAPH_CLASS_HARDWARE;
}

/* Whether the edge leads from a process to its parent, or from anything to what it is in: siblings are no
 * neighbours. */
static int goes_up(const struct graph_edge *e, const struct graph_node *from)
{
    switch (e->kind) {
    case GRAPH_EDGE_OWN:
        return from == e->b && e->a->kind == GRAPH_PROCESS &&
               (from->kind == GRAPH_PROCESS || from->kind == GRAPH_THREAD);
    case GRAPH_EDGE_HOST:
        return from == e->b;
    case GRAPH_EDGE_RUN_ON:
        return from == e->a;
    case GRAPH_EDGE_BELONG:
        return from == e->a && from->kind == GRAPH_THREAD;
    default:
        return 0;
    }
}

struct walk {
    uint32_t *distance; /* + 1; 0: not reached */
    uint8_t *ends;      /* reached by going up: nobody goes on from there but further out */
};

/* 1: `to` was not reached before. */
static int reach(const struct walk *w, const struct graph_edge *e, const struct graph_node *from,
                 const struct graph_node *to, uint32_t round)
{
    int up = goes_up(e, from);

    if (w->distance[from->index] != round || (round > 1 && is_hub(from)))
        return 0;
    if (round > 1 && w->ends[from->index] && !(up && e->kind == GRAPH_EDGE_HOST)) /* what it is in: further */
        return 0;
    if (w->distance[to->index]) {
        if (!up && w->distance[to->index] == round + 1)
            w->ends[to->index] = 0;
        return 0;
    }
    w->distance[to->index] = round + 1;
    w->ends[to->index] = (uint8_t)up;
    return 1;
}

void graph_around(struct graph *out, const struct graph *g, const struct graph_nodes *seeds, unsigned hops)
{
    struct walk w = {mem_calloc(g->nodes.n + 1, sizeof(uint32_t)), mem_calloc(g->nodes.n + 1, 1)};
    uint8_t *nodes = mem_calloc(g->nodes.n + 1, 1);

    for (size_t i = 0; i < seeds->list.n; i++)
        w.distance[seeds->list.a[i]->index] = 1;
    for (uint32_t round = 1, more = 1; more && round <= hops; round++) {
        more = 0;
        for (size_t i = 0; i < g->edges.n; i++) {
            const struct graph_edge *e = g->edges.a[i];

            more |= (uint32_t)reach(&w, e, e->a, e->b, round);
            more |= (uint32_t)reach(&w, e, e->b, e->a, round);
        }
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        nodes[i] = w.distance[i] != 0;
    graph_chosen(out, g, nodes, NULL);
    free(nodes);
    free(w.distance);
    free(w.ends);
}

/* How well a text names a node: 0 not at all, 1 its label holds it, 2 its label or name is it, 3 its id. */
static int names(const struct graph_node *n, const char *text)
{
    struct buf b = {0};
    int how = 0;

    graph_node_id(n, &b);
    if (!strcmp(buf_str(&b), text))
        how = 3;
    buf_clear(&b);
    graph_node_label(n, &b);
    if (!how && (!strcmp(buf_str(&b), text) || !strcmp(graph_attr_str(&n->attrs, "name", ""), text)))
        how = 2;
    if (!how && n->kind == GRAPH_PROCESS && !strcmp(n->key, strncmp(text, "pid=", 4) ? text : text + 4))
        how = 2;
    if (!how && strstr(buf_str(&b), text))
        how = 1;
    buf_release(&b);
    return how;
}

static void ambiguous_name(const struct graph *g, const char *id, int how, struct err *e)
{
    struct buf b = {0};
    unsigned n = 0;

    for (size_t i = 0; i < g->nodes.n && n < 4; i++) {
        if (names(g->nodes.a[i], id) != how)
            continue;
        buf_addstr(&b, n ? ", " : "");
        if (n++ < 3)
            graph_node_id(g->nodes.a[i], &b);
        else
            buf_addstr(&b, "...");
    }
    err_set(e, "'%s' is several nodes: %s", id, buf_str(&b));
    buf_release(&b);
}

const struct graph_node *graph_named_node(const struct graph *g, const char *id, struct err *e)
{
    const struct graph_node *best = NULL;
    int how = 0, same = 0;

    for (size_t i = 0; i < g->nodes.n; i++) {
        int h = names(g->nodes.a[i], id);

        if (h > how) {
            best = g->nodes.a[i];
            how = h;
            same = 1;
        } else if (h == how) {
            same++;
        }
    }
    if (!how) {
        err_set(e, "no node '%s' in this topology (an id as the text format shows it, a name, or a pid)", id);
        return NULL;
    }
    if (same > 1) {
        ambiguous_name(g, id, how, e);
        return NULL;
    }
    return best;
}
