/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph.h"

#include "base/hash.h"
#include "model/graph_store.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_SEPARATOR = 0x1f };

void graph_init(struct graph *g)
{
    *g = (struct graph){.store = graph_store_new()};
    g->ns = graph_text(g, GRAPH_LOCAL);
    g->host = graph_text(g, "");
    g->source = g->host;
}

void graph_release(struct graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++)
        vec_release(&g->nodes.a[i]->attrs.list);
    for (size_t i = 0; i < g->edges.n; i++)
        vec_release(&g->edges.a[i]->attrs.list);
    for (size_t i = 0; i < g->texts.n; i++)
        free(g->texts.a[i]);
    graph_store_free(g->store);
    vec_release(&g->nodes);
    vec_release(&g->edges);
    vec_release(&g->groups);
    vec_release(&g->coverage);
    vec_release(&g->texts);
    index_release(&g->node_index);
    index_release(&g->edge_index);
    index_release(&g->text_index);
    *g = (struct graph){0};
}

/* ---- texts ---- */

struct text_wanted {
    const struct graph *g;
    const char *s;
};

static int text_equal(const void *ctx, uint32_t id)
{
    const struct text_wanted *w = ctx;

    return !strcmp(w->g->texts.a[id - 1], w->s);
}

/* NULL: the graph does not have it. */
static const char *find_text(const struct graph *g, const char *s)
{
    uint32_t id =
        index_find(&g->text_index, hash_bytes(s, strlen(s)), text_equal, &(struct text_wanted){g, s});

    return id ? g->texts.a[id - 1] : NULL;
}

const char *graph_text(struct graph *g, const char *s)
{
    uint64_t hash = hash_bytes(s, strlen(s));
    uint32_t id = index_find(&g->text_index, hash, text_equal, &(struct text_wanted){g, s});

    if (id)
        return g->texts.a[id - 1];
    *vec_push(&g->texts) = mem_strdup(s);
    index_add(&g->text_index, hash, (uint32_t)g->texts.n);
    return g->texts.a[g->texts.n - 1];
}

/* ---- attributes ---- */

static struct graph_attr *attr_of(const struct graph_attrs *of, const char *name)
{
    for (size_t i = 0; i < of->list.n; i++)
        if (of->list.a[i].name == name || !strcmp(of->list.a[i].name, name))
            return &of->list.a[i];
    return NULL;
}

const struct graph_attr *graph_attr(const struct graph_attrs *of, const char *name)
{
    return attr_of(of, name);
}

const char *graph_attr_str(const struct graph_attrs *of, const char *name, const char *otherwise)
{
    const struct graph_attr *a = attr_of(of, name);

    return a && a->type == GRAPH_STR ? a->str : otherwise;
}

int64_t graph_attr_int(const struct graph_attrs *of, const char *name, int64_t otherwise)
{
    const struct graph_attr *a = attr_of(of, name);

    return a && a->type == GRAPH_INT ? a->i : otherwise;
}

static struct graph_attr *set(struct graph *g, struct graph_attrs *to, const char *name, enum graph_type type)
{
    struct graph_attr *a = attr_of(to, name);

    if (!a) {
        if (!to->list.cap) { /* most have a few, and there are many of them */
            to->list.a = mem_alloc(4 * sizeof(*to->list.a));
            to->list.cap = 4;
        }
        a = vec_push(&to->list);
        a->name = graph_text(g, name);
    }
    a->type = type;
    return a;
}

void graph_set_str(struct graph *g, struct graph_attrs *to, const char *name, const char *v)
{
    const char *text = v ? graph_text(g, v) : NULL;

    set(g, to, name, v ? GRAPH_STR : GRAPH_NULL)->str = text;
}

void graph_set_int(struct graph *g, struct graph_attrs *to, const char *name, int64_t v)
{
    set(g, to, name, GRAPH_INT)->i = v;
}

void graph_set_f64(struct graph *g, struct graph_attrs *to, const char *name, double v)
{
    set(g, to, name, GRAPH_F64)->f = v;
}

void graph_set_bool(struct graph *g, struct graph_attrs *to, const char *name, int v)
{
    set(g, to, name, GRAPH_BOOL)->i = v != 0;
}

void graph_set_json(struct graph *g, struct graph_attrs *to, const char *name, const char *text)
{
    const char *own = graph_text(g, text);

    set(g, to, name, GRAPH_JSON)->str = own;
}

/* ---- nodes ---- */

/* A number in its usual spelling, so that "007" and "7" are one; 0 where s is none. */
static int as_number(const char *s, int64_t *v)
{
    char *end;

    errno = 0;
    *v = strtoll(s, &end, 10);
    return *s && !*end && !errno;
}

static void add_key(struct buf *key, const struct graph_id *id)
{
    for (unsigned i = 0; i < graph_kind(id->kind)->nkey; i++) {
        const char *f = id->field[i] ? id->field[i] : "";
        int64_t v;

        if (i)
            buf_addch(key, KEY_SEPARATOR);
        if (graph_field_is_number(id->kind, i) && as_number(f, &v))
            buf_addf(key, "%" PRId64, v);
        else
            buf_addstr(key, f);
    }
}

struct node_wanted {
    const struct graph *g;
    enum graph_kind kind;
    const char *ns, *key;
};

static int node_equal(const void *ctx, uint32_t id)
{
    const struct node_wanted *w = ctx;
    const struct graph_node *n = w->g->nodes.a[id - 1];

    return n->kind == w->kind && n->ns == w->ns && !strcmp(n->key, w->key);
}

static uint64_t node_hash(const struct node_wanted *w)
{
    return hash_mix(hash_bytes(w->key, strlen(w->key)), (uint64_t)(uintptr_t)w->ns + (uint64_t)w->kind);
}

/* The one of the twins that is meant; NULL: none of them. */
static struct graph_node *of_instance(struct graph_node *first, const char *instance)
{
    struct graph_node *newest = first;

    for (struct graph_node *n = first; n; n = n->twin) {
        if (instance && *instance && !strcmp(n->instance, instance))
            return n;
        newest = n;
    }
    return !instance || !*instance ? newest : NULL;
}

static struct graph_node *first_of(const struct graph *g, const struct node_wanted *w)
{
    uint32_t id = index_find(&g->node_index, node_hash(w), node_equal, w);

    return id ? g->nodes.a[id - 1] : NULL;
}

struct graph_node *graph_find(const struct graph *g, const struct graph_id *id)
{
    struct node_wanted w = {g, id->kind, id->ns ? find_text(g, id->ns) : g->ns, NULL};
    struct graph_node *first, *n = NULL;
    struct buf key = {0};

    add_key(&key, id);
    w.key = buf_str(&key);
    first = w.ns ? first_of(g, &w) : NULL;
    if (first) {
        n = of_instance(first, id->instance);
        if (!n && !first->twin && !*first->instance) /* as adding it would find it */
            n = first;
    }
    buf_release(&key);
    return n;
}

static void set_field(struct graph *g, struct graph_node *n, unsigned i, const char *text)
{
    const char *name = graph_field(n->kind, i);
    int64_t v;

    if (graph_attr(&n->attrs, name))
        return;
    if (graph_field_is_number(n->kind, i) && as_number(text, &v))
        graph_set_int(g, &n->attrs, name, v);
    else
        graph_set_str(g, &n->attrs, name, text);
}

/* Its name in libcgraph: the id as far as it is known now, made unique. */
static void store_name(const struct graph_id *id, const struct node_wanted *w, const struct graph_node *twin,
                       const char *instance, struct buf *out)
{
    buf_addf(out, "%s(", graph_kind(id->kind)->abbr);
    if (strcmp(w->ns, GRAPH_LOCAL) != 0)
        buf_addf(out, "ns=%s,", w->ns);
    for (const char *k = w->key; *k; k++)
        buf_addch(out, *k == KEY_SEPARATOR ? ',' : *k);
    if (twin)
        buf_addf(out, ",%s", instance);
    buf_addch(out, ')');
}

static struct graph_node *new_node(struct graph *g, const struct graph_id *id, const struct node_wanted *w,
                                   struct graph_node *first)
{
    const char *instance = graph_text(g, id->instance ? id->instance : "");
    struct graph_node *n;
    struct buf name = {0};

    store_name(id, w, first, instance, &name);
    n = graph_store_node(g->store, buf_str(&name));
    buf_release(&name);
    n->kind = id->kind;
    n->ns = w->ns;
    n->key = graph_text(g, w->key);
    n->instance = instance;
    n->source = graph_text(g, "");
    n->weight = NAN;
    n->index = (uint32_t)g->nodes.n;
    *vec_push(&g->nodes) = n;
    n->first_twin = first ? first : n;
    if (first) {
        while (first->twin)
            first = first->twin;
        first->twin = n;
    } else {
        index_add(&g->node_index, node_hash(w), (uint32_t)g->nodes.n);
    }
    return n;
}

/* "process,socket" with one more, once. */
static const char *add_source(struct graph *g, const char *have, const char *more)
{
    size_t n = strlen(more);
    struct buf b = {0};
    const char *all;

    if (!n || have == more)
        return have;
    if (!*have)
        return graph_text(g, more);
    for (const char *p = have; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, more, n) && (p[n] == ',' || !p[n]))
            return have;
    buf_addf(&b, "%s,%s", have, more);
    all = graph_text(g, buf_str(&b));
    buf_release(&b);
    return all;
}

const char *graph_sources_joined(struct graph *g, const char *have, const char *more)
{
    char *list = mem_strdup(more), *rest = list, *one;

    while ((one = strsep(&rest, ",")))
        have = add_source(g, have, one);
    free(list);
    return have;
}

static void seen(struct graph *g, const char **source, uint64_t *first, uint64_t *last, double *confidence)
{
    *source = add_source(g, *source, g->source);
    if (g->time_ns) {
        if (!*first || g->time_ns < *first)
            *first = g->time_ns;
        if (g->time_ns > *last)
            *last = g->time_ns;
    }
    if (*confidence == 0)
        *confidence = 1;
}

struct graph_node *graph_add(struct graph *g, const struct graph_id *id)
{
    struct node_wanted w = {g, id->kind, id->ns ? graph_text(g, id->ns) : g->ns, NULL};
    struct graph_node *first, *n = NULL;
    struct buf key = {0};

    add_key(&key, id);
    w.key = buf_str(&key);
    first = first_of(g, &w);
    if (first) {
        n = of_instance(first, id->instance);
        if (!n && !first->twin && !*first->instance) { /* now we know which one it is */
            n = first;
            n->instance = graph_text(g, id->instance);
        }
    }
    if (!n)
        n = new_node(g, id, &w, first);
    buf_release(&key);
    for (unsigned i = 0; graph_field(id->kind, i); i++)
        if (id->field[i])
            set_field(g, n, i, id->field[i]);
    seen(g, &n->source, &n->first_ns, &n->last_ns, &n->confidence);
    return n;
}

struct graph_node *graph_process(struct graph *g, int64_t pid, int64_t ppid, uint64_t start)
{
    char p[24], pp[24], s[24];

    snprintf(p, sizeof(p), "%" PRId64, pid);
    snprintf(pp, sizeof(pp), "%" PRId64, ppid);
    snprintf(s, sizeof(s), "%" PRIu64, start);
    return graph_add(g, &(struct graph_id){.kind = GRAPH_PROCESS,
                                           .instance = start ? s : NULL,
                                           .field = {p, ppid < 0 ? NULL : pp}});
}

struct graph_node *graph_thread(struct graph *g, int64_t tid, uint64_t start)
{
    char t[24], s[24];

    snprintf(t, sizeof(t), "%" PRId64, tid);
    snprintf(s, sizeof(s), "%" PRIu64, start);
    return graph_add(g, &(struct graph_id){.kind = GRAPH_THREAD, .instance = start ? s : NULL, .field = {t}});
}

struct graph_node *graph_numbered(struct graph *g, enum graph_kind kind, int64_t number)
{
    char n[24];

    snprintf(n, sizeof(n), "%" PRId64, number);
    return graph_add(g, &(struct graph_id){.kind = kind, .field = {n}});
}

struct graph_node *graph_named(struct graph *g, enum graph_kind kind, const char *name)
{
    return graph_add(g, &(struct graph_id){.kind = kind, .field = {name}});
}

/* ---- edges ---- */

struct edge_wanted {
    const struct graph *g;
    enum graph_relation kind;
    const struct graph_node *a, *b;
};

static int edge_equal(const void *ctx, uint32_t id)
{
    const struct edge_wanted *w = ctx;
    const struct graph_edge *e = w->g->edges.a[id - 1];

    return e->kind == w->kind && e->a == w->a && e->b == w->b;
}

static uint64_t edge_hash(const struct edge_wanted *w)
{
    return hash_u64(((uint64_t)w->a->index << 32 | w->b->index) ^ hash_u64(w->kind));
}

static struct edge_wanted edge_key(const struct graph *g, enum graph_relation kind, struct graph_node *a,
                                   struct graph_node *b)
{
    int swapped = !graph_relation(kind)->directed && a->index > b->index;

    return (struct edge_wanted){g, kind, swapped ? b : a, swapped ? a : b};
}

struct graph_edge *graph_find_edge(const struct graph *g, enum graph_relation kind, struct graph_node *a,
                                   struct graph_node *b)
{
    struct edge_wanted w = edge_key(g, kind, a, b);
    uint32_t id = index_find(&g->edge_index, edge_hash(&w), edge_equal, &w);

    return id ? g->edges.a[id - 1] : NULL;
}

struct graph_edge *graph_edge(struct graph *g, enum graph_relation kind, struct graph_node *a,
                              struct graph_node *b)
{
    struct edge_wanted w = edge_key(g, kind, a, b);
    uint32_t id = index_find(&g->edge_index, edge_hash(&w), edge_equal, &w);
    struct graph_edge *e;

    if (id) {
        e = g->edges.a[id - 1];
    } else {
        e = graph_store_edge(g->store, w.a, w.b);
        e->kind = kind;
        e->a = (struct graph_node *)w.a;
        e->b = (struct graph_node *)w.b;
        e->source = graph_text(g, "");
        e->weight = NAN;
        e->index = (uint32_t)g->edges.n;
        *vec_push(&g->edges) = e;
        index_add(&g->edge_index, edge_hash(&w), (uint32_t)g->edges.n);
    }
    seen(g, &e->source, &e->first_ns, &e->last_ns, &e->confidence);
    return e;
}

void graph_edge_flow(struct graph_edge *e, const struct graph_node *from, uint64_t bytes, uint64_t messages)
{
    if (from == e->a) {
        e->bytes_ab += bytes;
        e->messages_ab += messages;
    } else {
        e->bytes_ba += bytes;
        e->messages_ba += messages;
    }
}

void graph_edge_weight(struct graph_edge *e, double w)
{
    if (!isnan(w))
        e->weight = isnan(e->weight) ? w : e->weight + w;
}

/* ---- groups, coverage ---- */

struct graph_group *graph_group(struct graph *g, struct graph_group *parent, const char *name,
                                const char *label)
{
    const char *own = graph_text(g, name);
    struct graph_group *group;

    for (size_t i = 0; i < g->groups.n; i++)
        if (g->groups.a[i]->name == own) /* equal texts are one */
            return g->groups.a[i];
    group = graph_store_group(g->store, parent, name);
    group->name = own;
    group->label = graph_text(g, label);
    group->parent = parent;
    *vec_push(&g->groups) = group;
    return group;
}

void graph_group_put(struct graph *g, struct graph_group *group, struct graph_node *n)
{
    n->group = group;
    graph_store_put(group, n);
}

void graph_cover(struct graph *g, const struct graph_coverage *c)
{
    struct graph_coverage own = *c;
    size_t i = 0;

    own.source = graph_text(g, c->source);
    own.state = graph_text(g, c->state);
    own.detail = graph_text(g, c->detail ? c->detail : "");
    while (i < g->coverage.n && strcmp(g->coverage.a[i].source, own.source) != 0)
        i++;
    if (i == g->coverage.n)
        vec_push(&g->coverage);
    g->coverage.a[i] = own;
}
