/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph_json.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/templates.h"
#include "model/graph_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION_MAJOR = 1 };

/* ---- writing ---- */

static void write_attr(struct json_writer *w, const struct graph_attr *a)
{
    switch (a->type) {
    case GRAPH_STR:
        json_str(w, a->name, a->str);
        break;
    case GRAPH_INT:
        json_i64(w, a->name, a->i);
        break;
    case GRAPH_F64: /* 1.0 stays one */
        json_copy(w, a->name, &(struct json_value){.type = JSON_NUMBER, .number = a->f});
        break;
    case GRAPH_BOOL:
        json_bool(w, a->name, (int)a->i);
        break;
    case GRAPH_NULL:
        json_null(w, a->name);
        break;
    case GRAPH_JSON:
        json_raw(w, a->name, a->str);
        break;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct graph_attr *const *)a)->name, (*(const struct graph_attr *const *)b)->name);
}

void graph_attrs_json(struct json_writer *w, const char *key, const struct graph_attrs *attrs)
{
    size_t n = attrs->list.n;
    const struct graph_attr **sorted = mem_alloc(n * sizeof(struct graph_attr *));

    for (size_t i = 0; i < n; i++)
        sorted[i] = &attrs->list.a[i];
    if (n)
        qsort(sorted, n, sizeof(struct graph_attr *), by_name);
    json_object(w, key);
    for (size_t i = 0; i < n; i++)
        write_attr(w, sorted[i]);
    json_end_object(w);
    free(sorted);
}

static void write_seen(struct json_writer *w, const char *source, uint64_t first, uint64_t last,
                       double weight, double confidence)
{
    json_str(w, "source", source);
    if (first)
        json_u64(w, "first_seen_ns", first);
    if (last)
        json_u64(w, "last_seen_ns", last);
    if (!isnan(weight))
        json_f64(w, "weight", weight);
    json_f64(w, "confidence", confidence);
}

static void write_node(struct json_writer *w, const struct graph_node *n, const char *id)
{
    struct buf label = {0};

    graph_node_label(n, &label);
    json_object(w, NULL);
    json_str(w, "id", id);
    json_str(w, "kind", graph_kind(n->kind)->name);
    json_str(w, "label", buf_str(&label));
    json_str(w, "namespace", n->ns);
    if (*n->instance)
        json_str(w, "instance", n->instance);
    write_seen(w, n->source, n->first_ns, n->last_ns, n->weight, n->confidence);
    graph_attrs_json(w, "attrs", &n->attrs);
    json_end_object(w);
    buf_release(&label);
}

static void write_edge(struct json_writer *w, const struct graph_edge *e, const struct graph_order *o)
{
    int swapped = graph_order_swapped(o, e);

    json_object(w, NULL);
    json_str(w, "kind", graph_relation(e->kind)->name);
    json_str(w, "a", graph_order_id(o, swapped ? e->b : e->a));
    json_str(w, "b", graph_order_id(o, swapped ? e->a : e->b));
    json_bool(w, "directed", graph_relation(e->kind)->directed);
    json_u64(w, "bytes_ab", swapped ? e->bytes_ba : e->bytes_ab);
    json_u64(w, "bytes_ba", swapped ? e->bytes_ab : e->bytes_ba);
    json_u64(w, "messages_ab", swapped ? e->messages_ba : e->messages_ab);
    json_u64(w, "messages_ba", swapped ? e->messages_ab : e->messages_ba);
    write_seen(w, e->source, e->first_ns, e->last_ns, e->weight, e->confidence);
    if (e->attrs.list.n)
        graph_attrs_json(w, "attrs", &e->attrs);
    json_end_object(w);
}

static void write_coverage(struct json_writer *w, const struct graph_coverage *c)
{
    json_object(w, NULL);
    json_str(w, "source", c->source);
    json_str(w, "state", c->state);
    json_str(w, "detail", c->detail);
    json_u64(w, "seen", c->seen);
    json_u64(w, "denied", c->denied);
    json_u64(w, "vanished", c->vanished);
    json_u64(w, "duration_ns", c->duration_ns);
    json_end_object(w);
}

void graph_json_write(const struct graph *g, int indent, struct buf *out)
{
    struct json_writer w = {.out = out, .indent = indent};
    struct graph_order o;

    graph_order_init(&o, g);
    json_object(&w, NULL);
    json_str(&w, "format", "wprof-topology");
    json_u64(&w, "version", VERSION_MAJOR);
    json_str(&w, "host", g->host);
    json_u64(&w, "time_ns", g->time_ns);
    json_array(&w, "nodes");
    for (size_t i = 0; i < o.nodes.n; i++)
        write_node(&w, o.nodes.a[i], graph_order_id(&o, o.nodes.a[i]));
    json_end_array(&w);
    json_array(&w, "edges");
    for (size_t i = 0; i < o.edges.n; i++)
        write_edge(&w, o.edges.a[i], &o);
    json_end_array(&w);
    json_array(&w, "coverage");
    for (size_t i = 0; i < g->coverage.n; i++)
        write_coverage(&w, &g->coverage.a[i]);
    json_end_array(&w);
    json_end_object(&w);
    graph_order_release(&o);
}

const char *graph_json_schema(size_t *len)
{
    return template_get("topology.schema.json", len);
}

/* ---- reading ---- */

void graph_attr_from_json(struct graph *g, struct graph_attrs *to, const char *name,
                          const struct json_value *v)
{
    struct json_writer w = {0};
    struct buf text = {0};

    switch (v->type) {
    case JSON_NULL:
        graph_set_str(g, to, name, NULL);
        break;
    case JSON_BOOL:
        graph_set_bool(g, to, name, v->boolean);
        break;
    case JSON_NUMBER:
        if (v->is_integer)
            graph_set_int(g, to, name, v->integer);
        else
            graph_set_f64(g, to, name, v->number);
        break;
    case JSON_STRING:
        graph_set_str(g, to, name, v->str);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        w.out = &text;
        json_copy(&w, NULL, v);
        graph_set_json(g, to, name, buf_str(&text));
        buf_release(&text);
        break;
    }
}

struct reader {
    struct graph *g;
    struct index ids; /* hash of an id -> index in `nodes` + 1 */
    VEC(struct graph_node *) nodes;
    VEC(const char *) names; /* their ids in the file */
};

struct id_wanted {
    const struct reader *r;
    const char *id;
};

static int id_equal(const void *ctx, uint32_t i)
{
    const struct id_wanted *w = ctx;

    return !strcmp(w->r->names.a[i - 1], w->id);
}

static struct graph_node *node_of(const struct reader *r, const char *id)
{
    uint32_t i = index_find(&r->ids, hash_bytes(id, strlen(id)), id_equal, &(struct id_wanted){r, id});

    return i ? r->nodes.a[i - 1] : NULL;
}

static void read_attrs(struct graph *g, struct graph_attrs *to, const struct json_value *v)
{
    const struct json_value *attrs = json_get(v, "attrs");

    for (const struct json_value *c = attrs && attrs->type == JSON_OBJECT ? attrs->child : NULL; c;
         c = c->next)
        graph_attr_from_json(g, to, c->key, c);
}

/* What its kind's key asks for; of a kind that we don't know, what it is called. */
static int complete(struct graph *g, struct graph_node *n, const char *kind, const char *id, struct err *e)
{
    if (n->kind == GRAPH_OTHER) {
        if (!graph_attr(&n->attrs, "entity_type"))
            graph_set_str(g, &n->attrs, "entity_type", kind);
        if (!graph_attr(&n->attrs, "entity_id"))
            graph_set_str(g, &n->attrs, "entity_id", id);
    }
    for (unsigned i = 0; i < graph_kind(n->kind)->nkey; i++) {
        const char *field = graph_field(n->kind, i);

        if (!graph_attr(&n->attrs, field))
            return err_set(e, "node '%s' of kind %s has no %s in its attrs", id, kind, field);
    }
    return 0;
}

static int read_node(struct reader *r, const struct json_value *v, struct err *e)
{
    const char *id = json_get_str(v, "id", NULL), *kind = json_get_str(v, "kind", NULL);
    struct graph_node like = {.weight = json_get_f64(v, "weight", NAN),
                              .confidence = json_get_f64(v, "confidence", 1),
                              .first_ns = json_get_u64(v, "first_seen_ns", 0),
                              .last_ns = json_get_u64(v, "last_seen_ns", 0)};
    int known = kind ? graph_kind_find(kind) : -1;
    int rc;

    if (!id || !kind)
        return err_set(e, "a node without id or kind");
    if (node_of(r, id))
        return err_set(e, "two nodes have the id '%s'", id);
    like.kind = known < 0 ? GRAPH_OTHER : (enum graph_kind)known;
    like.ns = graph_text(r->g, json_get_str(v, "namespace", GRAPH_LOCAL));
    like.instance = graph_text(r->g, json_get_str(v, "instance", ""));
    like.source = graph_text(r->g, json_get_str(v, "source", ""));
    read_attrs(r->g, &like.attrs, v);
    rc = complete(r->g, &like, kind, id, e);
    if (!rc) {
        *vec_push(&r->names) = graph_text(r->g, id);
        *vec_push(&r->nodes) = graph_merge_node(r->g, &like, GRAPH_BESIDE, NULL);
        index_add(&r->ids, hash_bytes(id, strlen(id)), (uint32_t)r->names.n);
    }
    vec_release(&like.attrs.list);
    return rc;
}

static int read_edge(struct reader *r, const struct json_value *v, struct err *e)
{
    const char *kind = json_get_str(v, "kind", NULL);
    const char *a = json_get_str(v, "a", NULL), *b = json_get_str(v, "b", NULL);
    struct graph_edge like = {.weight = json_get_f64(v, "weight", NAN),
                              .confidence = json_get_f64(v, "confidence", 1),
                              .first_ns = json_get_u64(v, "first_seen_ns", 0),
                              .last_ns = json_get_u64(v, "last_seen_ns", 0),
                              .bytes_ab = json_get_u64(v, "bytes_ab", 0),
                              .bytes_ba = json_get_u64(v, "bytes_ba", 0),
                              .messages_ab = json_get_u64(v, "messages_ab", 0),
                              .messages_ba = json_get_u64(v, "messages_ba", 0)};
    int known = kind ? graph_relation_find(kind) : -1;

    if (!kind || !a || !b)
        return err_set(e, "an edge without kind, a or b");
    like.kind = known < 0 ? GRAPH_EDGE_OTHER : (enum graph_relation)known;
    like.a = node_of(r, a);
    like.b = node_of(r, b);
    if (!like.a || !like.b)
        return err_set(e, "an edge ends at '%s', which is no node", like.a ? b : a);
    like.source = graph_text(r->g, json_get_str(v, "source", ""));
    read_attrs(r->g, &like.attrs, v);
    if (known < 0)
        graph_set_str(r->g, &like.attrs, "relation", kind);
    graph_merge_edge(r->g, &like, like.a, like.b, GRAPH_BESIDE);
    vec_release(&like.attrs.list);
    return 0;
}

static void read_coverage(struct graph *g, const struct json_value *v)
{
    struct graph_coverage c = {.source = json_get_str(v, "source", ""),
                               .state = json_get_str(v, "state", ""),
                               .detail = json_get_str(v, "detail", ""),
                               .seen = json_get_u64(v, "seen", 0),
                               .denied = json_get_u64(v, "denied", 0),
                               .vanished = json_get_u64(v, "vanished", 0),
                               .duration_ns = json_get_u64(v, "duration_ns", 0)};

    graph_cover(g, &c);
}

static const struct json_value *first_of(const struct json_value *root, const char *name)
{
    const struct json_value *list = json_get(root, name);

    return list && list->type == JSON_ARRAY ? list->child : NULL;
}

static int read_all(struct reader *r, const struct json_value *root, struct err *e)
{
    for (const struct json_value *v = first_of(root, "nodes"); v; v = v->next)
        if (read_node(r, v, e))
            return -1;
    for (const struct json_value *v = first_of(root, "edges"); v; v = v->next)
        if (read_edge(r, v, e))
            return -1;
    for (const struct json_value *v = first_of(root, "coverage"); v; v = v->next)
        read_coverage(r->g, v);
    if (!*r->g->host)
        r->g->host = graph_text(r->g, json_get_str(root, "host", ""));
    if (json_get_u64(root, "time_ns", 0) > r->g->time_ns)
        r->g->time_ns = json_get_u64(root, "time_ns", 0);
    return 0;
}

static int check(const struct json_value *root, struct err *e)
{
    const char *format = json_get_str(root, "format", NULL);
    uint64_t version = json_get_u64(root, "version", 0);

    if (!format || strcmp(format, "wprof-topology") != 0)
        return err_set(e, "not a topology of wprof's: \"format\" is %s%s%s and should be \"wprof-topology\"",
                       format ? "\"" : "", format ? format : "missing", format ? "\"" : "");
    if (version != VERSION_MAJOR)
        return err_set(e, "a topology of version %llu: this wprof reads version %d, please update it",
                       (unsigned long long)version, VERSION_MAJOR);
    return 0;
}

int graph_json_read(struct graph *g, const char *text, size_t n, struct err *e)
{
    struct json_doc *doc = json_parse(text, n, e);
    struct reader r = {.g = g};
    int rc;

    if (!doc)
        return -1;
    rc = check(json_root(doc), e);
    if (!rc)
        rc = read_all(&r, json_root(doc), e);
    json_free(doc);
    index_release(&r.ids);
    vec_release(&r.nodes);
    vec_release(&r.names);
    return rc;
}

static int read_line(struct graph *g, const char *line, size_t n, struct err *e)
{
    struct graph one;
    int rc;

    graph_init(&one);
    rc = graph_json_read(&one, line, n, e);
    if (!rc)
        graph_merge(g, &one, GRAPH_LATER, NULL);
    graph_release(&one);
    return rc;
}

int graph_json_read_lines(struct graph *g, const char *text, size_t n, struct err *e)
{
    const char *const end = text + n;
    unsigned number = 0;

    for (const char *line = text, *next; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        if (!next) {
            if (number)
                return 0;
            next = end; /* one that lacks its newline may be whole */
        }
        number++;
        if (read_line(g, line, (size_t)(next - line), e))
            return err_wrap(e, "line %u", number);
    }
    return number ? 0 : err_set(e, "no look in it");
}

int graph_json_is_lines(const char *text, size_t n)
{
    const char *first = memchr(text, '\n', n), *next = first ? first + 1 : NULL;

    return first && first > text && first[-1] == '}' && next < text + n && *text == '{' && *next == '{';
}
