/* SPDX-License-Identifier: Apache-2.0 */
/*
 * witty-profiler's graph.json: {"nodes": [...], "edges": [...]}. A node has entity_namespace, entity_type and
 * its own fields; an edge has edge_type, weight, its own fields, and both nodes as a whole, as source_node
 * and target_node, or in a list `nodes`. Every field is kept as an attribute, so that export gives it all
 * back.
 */
#include "exchange/import/import.h"

#include "base/json.h"
#include "model/graph_json.h"
#include "model/graph_ops.h"

#include <math.h>
#include <string.h>

/* "ProcessEntity" and "Process" are the kind whose abbreviation is that; what we don't know is OTHER. */
static enum graph_kind kind_of(const char *type)
{
    size_t n = strlen(type), cut = strlen("Entity");
    char abbr[64];
    int kind;

    if (n > cut && !strcmp(type + n - cut, "Entity"))
        n -= cut;
    if (n >= sizeof(abbr))
        return GRAPH_OTHER;
    memcpy(abbr, type, n);
    abbr[n] = '\0';
    kind = graph_kind_find(abbr);
    return kind < 0 ? GRAPH_OTHER : (enum graph_kind)kind;
}

/* Several of our kinds of edges are one of theirs: then it is the general one. */
static enum graph_relation relation_of(const char *type)
{
    if (!strcmp(type, graph_relation(GRAPH_EDGE_IPC)->witty))
        return GRAPH_EDGE_IPC;
    for (unsigned r = 0; r < GRAPH_RELATIONS; r++)
        if (!strcmp(graph_relation((enum graph_relation)r)->witty, type) && strcmp(type, "Edge") != 0)
            return (enum graph_relation)r;
    return GRAPH_EDGE_OTHER;
}

static int among(const char *key, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(key, *names))
            return 1;
    return 0;
}

static void take_fields(struct graph *g, struct graph_attrs *to, const struct json_value *v,
                        const char *const *but)
{
    for (const struct json_value *c = v->child; c; c = c->next)
        if (!among(c->key, but))
            graph_attr_from_json(g, to, c->key, c);
}

/* What a node of a kind that we don't know is identified by: all that it says. */
static void name_other(struct graph *g, struct graph_node *n, const char *type, const struct json_value *v)
{
    struct buf text = {0};
    struct json_writer w = {.out = &text};

    json_copy(&w, NULL, v);
    graph_set_str(g, &n->attrs, "entity_type", type);
    graph_set_str(g, &n->attrs, "entity_id", buf_str(&text));
    buf_release(&text);
}

static struct graph_node *take_node(struct graph *g, const struct json_value *v, struct err *e)
{
    static const char *const not_fields[] = {"entity_namespace", "entity_type", NULL};
    const char *type = json_get_str(v, "entity_type", NULL);
    struct graph_node like = {.weight = NAN, .confidence = 1}, *n = NULL;

    if (!type) {
        err_set(e, "a node without entity_type");
        return NULL;
    }
    like.kind = kind_of(type);
    like.ns = graph_text(g, json_get_str(v, "entity_namespace", GRAPH_LOCAL));
    like.instance = graph_text(g, "");
    like.source = g->source;
    take_fields(g, &like.attrs, v, not_fields);
    if (like.kind == GRAPH_OTHER)
        name_other(g, &like, type, v);
    for (unsigned i = 0; i < graph_kind(like.kind)->nkey; i++) {
        if (graph_attr(&like.attrs, graph_field(like.kind, i)))
            continue;
        err_set(e, "a %s without %s", type, graph_field(like.kind, i));
        vec_release(&like.attrs.list);
        return NULL;
    }
    n = graph_merge_node(g, &like, GRAPH_BESIDE, NULL);
    vec_release(&like.attrs.list);
    return n;
}

/* The ends: two members, or a list of two. 0: there are none. */
static int ends_of(const struct json_value *v, const struct json_value **a, const struct json_value **b)
{
    const struct json_value *list = json_get(v, "nodes");

    *a = json_get(v, "source_node");
    *b = json_get(v, "target_node");
    if (list && list->type == JSON_ARRAY && list->len == 2) {
        *a = list->child;
        *b = list->child->next;
    }
    return *a && *b;
}

static int take_edge(struct graph *g, const struct json_value *v, struct err *e)
{
    static const char *const not_fields[] = {"edge_type",   "weight", "source_node",
                                             "target_node", "nodes",  NULL};
    const char *type = json_get_str(v, "edge_type", NULL);
    const struct json_value *a, *b, *flow = json_get(v, "data_flow");
    struct graph_edge like = {.weight = json_get_f64(v, "weight", NAN), .confidence = 1, .source = g->source};

    if (!type || !ends_of(v, &a, &b))
        return err_set(e, "an edge without edge_type, or without two nodes");
    like.a = take_node(g, a, e);
    like.b = like.a ? take_node(g, b, e) : NULL;
    if (!like.b)
        return err_wrap(e, "an edge of type %s", type);
    like.kind = relation_of(type);
    take_fields(g, &like.attrs, v, not_fields);
    if (like.kind == GRAPH_EDGE_OTHER || json_get(v, "nodes"))
        graph_set_str(g, &like.attrs, "edge_type", type);
    if (json_get(v, "nodes"))
        graph_set_bool(g, &like.attrs, "undirected", 1);
    like.first_ns = json_get_u64(flow, "start_time", 0);
    like.last_ns = json_get_u64(flow, "end_time", 0);
    like.bytes_ab = json_get_u64(flow, "data_size", 0);
    like.messages_ab = json_get_u64(flow, "packets_cnt", 0);
    graph_merge_edge(g, &like, like.a, like.b, GRAPH_BESIDE);
    vec_release(&like.attrs.list);
    return 0;
}

static const struct json_value *list_of(const struct json_value *root, const char *name)
{
    const struct json_value *list = json_get(root, name);

    return list && list->type == JSON_ARRAY ? list : NULL;
}

static int take_all(struct graph *g, const struct json_value *root, struct err *e)
{
    const struct json_value *nodes, *edges;

    if (json_get(root, "data")) /* as their subscribers post it */
        root = json_get(root, "data");
    nodes = list_of(root, "nodes");
    edges = list_of(root, "edges");
    if (!nodes || !edges)
        return err_set(e, "no graph of witty-profiler's: lists \"nodes\" and \"edges\" are wanted");
    for (const struct json_value *v = nodes->child; v; v = v->next)
        if (!take_node(g, v, e))
            return -1;
    for (const struct json_value *v = edges->child; v; v = v->next)
        if (take_edge(g, v, e))
            return -1;
    return 0;
}

int import_witty_graph(struct graph *g, const char *text, size_t n, struct err *e)
{
    struct json_doc *doc = json_parse(text, n, e);
    const char *before = g->source;
    int rc;

    if (!doc)
        return -1;
    g->source = graph_text(g, "witty");
    rc = take_all(g, json_root(doc), e);
    g->source = before;
    json_free(doc);
    return rc;
}

static int run(struct input *in, struct graph *g, struct import_stats *st, struct err *e)
{
    struct buf text = {0};
    int rc = input_read_all(in, &text, e);

    if (!rc)
        rc = import_witty_graph(g, buf_str(&text), text.len, e);
    buf_release(&text);
    return rc;
}

/* Any other JSON: what it lacks, run() says. */
static int probe(const char *head, size_t n)
{
    return import_first(head) == '{' &&
           (import_holds(head, n, "\"nodes\"") || import_holds(head, n, "\"edges\""));
}

const struct importer import_witty = {
    .name = "witty",
    .summary = "graph.json of witty-profiler",
    .probe = probe,
    .graph = run,
};
