/* SPDX-License-Identifier: Apache-2.0 */
/* A graph as bytes, on its way from a source's process. */
#include "model/graph_json.h"
#include "model/graph_ops.h"

#include <stdlib.h>
#include <string.h>

/* ---- packing ---- */

static void add_text(struct buf *out, const char *s)
{
    size_t n = strlen(s);

    buf_add_varint(out, n);
    buf_add(out, s, n);
}

static void add_f64(struct buf *out, double v)
{
    buf_add(out, &v, sizeof(v));
}

static void add_attrs(struct buf *out, const struct graph_attrs *attrs)
{
    buf_add_varint(out, attrs->list.n);
    for (size_t i = 0; i < attrs->list.n; i++) {
        const struct graph_attr *a = &attrs->list.a[i];

        add_text(out, a->name);
        buf_add_varint(out, a->type);
        if (a->type == GRAPH_STR || a->type == GRAPH_JSON)
            add_text(out, a->str);
        else if (a->type == GRAPH_F64)
            add_f64(out, a->f);
        else if (a->type != GRAPH_NULL)
            buf_add_svarint(out, a->i);
    }
}

static void add_seen(struct buf *out, const char *source, uint64_t first, uint64_t last, double weight,
                     double confidence)
{
    add_text(out, source);
    buf_add_varint(out, first);
    buf_add_varint(out, last);
    add_f64(out, weight);
    add_f64(out, confidence);
}

static void add_coverage(struct buf *out, const struct graph_coverage *c)
{
    add_text(out, c->source);
    add_text(out, c->state);
    add_text(out, c->detail);
    buf_add_varint(out, c->seen);
    buf_add_varint(out, c->denied);
    buf_add_varint(out, c->vanished);
    buf_add_varint(out, c->duration_ns);
}

void graph_pack(const struct graph *g, struct buf *out)
{
    add_text(out, g->host);
    buf_add_varint(out, g->time_ns);
    buf_add_varint(out, g->nodes.n);
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct graph_node *n = g->nodes.a[i];

        buf_add_varint(out, n->kind);
        add_text(out, n->ns);
        add_text(out, n->instance);
        add_seen(out, n->source, n->first_ns, n->last_ns, n->weight, n->confidence);
        add_attrs(out, &n->attrs);
    }
    buf_add_varint(out, g->edges.n);
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];

        buf_add_varint(out, e->kind);
        buf_add_varint(out, e->a->index);
        buf_add_varint(out, e->b->index);
        buf_add_varint(out, e->bytes_ab);
        buf_add_varint(out, e->bytes_ba);
        buf_add_varint(out, e->messages_ab);
        buf_add_varint(out, e->messages_ba);
        add_seen(out, e->source, e->first_ns, e->last_ns, e->weight, e->confidence);
        add_attrs(out, &e->attrs);
    }
    buf_add_varint(out, g->coverage.n);
    for (size_t i = 0; i < g->coverage.n; i++)
        add_coverage(out, &g->coverage.a[i]);
}

/* ---- unpacking ---- */

static const char *get_text(struct graph *g, struct cursor *c)
{
    size_t n = (size_t)cursor_varint(c);
    const char *p = cursor_bytes(c, n), *own;
    char *s;

    if (!p)
        return graph_text(g, "");
    s = mem_strndup(p, n);
    own = graph_text(g, s);
    free(s);
    return own;
}

static double get_f64(struct cursor *c)
{
    const void *p = cursor_bytes(c, sizeof(double));
    double v = 0;

    if (p)
        memcpy(&v, p, sizeof(v));
    return v;
}

static void get_attrs(struct graph *g, struct graph_attrs *to, struct cursor *c)
{
    for (uint64_t n = cursor_varint(c); n && !c->bad; n--) {
        const char *name = get_text(g, c);

        switch (cursor_varint(c)) {
        case GRAPH_STR:
            graph_set_str(g, to, name, get_text(g, c));
            break;
        case GRAPH_INT:
            graph_set_int(g, to, name, cursor_svarint(c));
            break;
        case GRAPH_F64:
            graph_set_f64(g, to, name, get_f64(c));
            break;
        case GRAPH_BOOL:
            graph_set_bool(g, to, name, (int)cursor_svarint(c));
            break;
        case GRAPH_NULL:
            graph_set_str(g, to, name, NULL);
            break;
        case GRAPH_JSON:
            graph_set_json(g, to, name, get_text(g, c));
            break;
        default:
            c->bad = 1;
        }
    }
}

static void get_seen(struct graph *g, struct cursor *c, const char **source, uint64_t *first, uint64_t *last,
                     double *weight, double *confidence)
{
    *source = get_text(g, c);
    *first = cursor_varint(c);
    *last = cursor_varint(c);
    *weight = get_f64(c);
    *confidence = get_f64(c);
}

static int has_key(const struct graph_node *n)
{
    for (unsigned i = 0; i < graph_kind(n->kind)->nkey; i++)
        if (!graph_attr(&n->attrs, graph_field(n->kind, i)))
            return 0;
    return 1;
}

static struct graph_node *get_node(struct graph *g, struct cursor *c)
{
    struct graph_node n = {.kind = (enum graph_kind)cursor_varint(c)}, *added = NULL;

    if (c->bad || n.kind >= GRAPH_KINDS) {
        c->bad = 1;
        return NULL;
    }
    n.ns = get_text(g, c);
    n.instance = get_text(g, c);
    get_seen(g, c, &n.source, &n.first_ns, &n.last_ns, &n.weight, &n.confidence);
    get_attrs(g, &n.attrs, c);
    if (!c->bad && has_key(&n))
        added = graph_merge_node(g, &n, GRAPH_BESIDE, NULL);
    else
        c->bad = 1;
    vec_release(&n.attrs.list);
    return added;
}

struct node_list {
    VEC(struct graph_node *) list;
};

static void get_edge(struct graph *g, struct cursor *c, const struct node_list *nodes)
{
    struct graph_edge e = {.kind = (enum graph_relation)cursor_varint(c)};
    uint64_t a = cursor_varint(c), b = cursor_varint(c);

    e.bytes_ab = cursor_varint(c);
    e.bytes_ba = cursor_varint(c);
    e.messages_ab = cursor_varint(c);
    e.messages_ba = cursor_varint(c);
    get_seen(g, c, &e.source, &e.first_ns, &e.last_ns, &e.weight, &e.confidence);
    get_attrs(g, &e.attrs, c);
    if (!c->bad && e.kind < GRAPH_RELATIONS && a < nodes->list.n && b < nodes->list.n)
        graph_merge_edge(g, &e, nodes->list.a[a], nodes->list.a[b], GRAPH_BESIDE);
    else
        c->bad = 1;
    vec_release(&e.attrs.list);
}

static void get_coverage(struct graph *g, struct cursor *c)
{
    struct graph_coverage cover = {.source = get_text(g, c)};

    cover.state = get_text(g, c);
    cover.detail = get_text(g, c);
    cover.seen = cursor_varint(c);
    cover.denied = cursor_varint(c);
    cover.vanished = cursor_varint(c);
    cover.duration_ns = cursor_varint(c);
    if (!c->bad)
        graph_cover(g, &cover);
}

int graph_unpack(struct graph *g, const void *p, size_t n, struct err *e)
{
    struct cursor c = cursor_init(p, n);
    const char *host = get_text(g, &c);
    uint64_t time_ns = cursor_varint(&c);
    struct node_list nodes = {0};

    for (uint64_t left = cursor_varint(&c); left && !c.bad; left--)
        *vec_push(&nodes.list) = get_node(g, &c);
    for (uint64_t left = cursor_varint(&c); left && !c.bad; left--)
        get_edge(g, &c, &nodes);
    for (uint64_t left = cursor_varint(&c); left && !c.bad; left--)
        get_coverage(g, &c);
    vec_release(&nodes.list);
    if (c.bad || c.p != c.end)
        return err_set(e, "a graph of %zu bytes makes no sense", n);
    if (!*g->host)
        g->host = host;
    if (time_ns > g->time_ns)
        g->time_ns = time_ns;
    return 0;
}
