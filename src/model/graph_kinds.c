/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds, and the ids and labels that are made after it. */
#include "model/graph.h"

#include <inttypes.h>
#include <string.h>

static const struct graph_kind_info kinds[] = {
#define NODE(id, name, abbr, class, color, shape, nkey, instance, format, ...)                               \
    [GRAPH_##id] = {name, abbr, GRAPH_CLASS_##class, color, shape, nkey, instance, format, {__VA_ARGS__}},
#define EDGE(...)
#include "model/graph_kinds.def"
#undef NODE
#undef EDGE
};

static const struct graph_relation_info relations[] = {
#define NODE(...)
#define EDGE(id, name, witty, class, directed, color, meaning)                                               \
    [GRAPH_EDGE_##id] = {name, witty, GRAPH_CLASS_##class, directed, color, meaning},
#include "model/graph_kinds.def"
#undef NODE
#undef EDGE
};

const struct graph_kind_info *graph_kind(enum graph_kind k)
{
    return &kinds[k];
}

const struct graph_relation_info *graph_relation(enum graph_relation r)
{
    return &relations[r];
}

const char *graph_field(enum graph_kind k, unsigned i)
{
    const char *f = i < GRAPH_FIELDS ? kinds[k].field[i] : NULL;

    return f ? f + (*f == '#') : NULL;
}

int graph_field_is_number(enum graph_kind k, unsigned i)
{
    return kinds[k].field[i][0] == '#';
}

int graph_kind_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (!strcmp(kinds[i].name, name) || !strcmp(kinds[i].abbr, name))
            return (int)i;
    return -1;
}

int graph_relation_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(relations); i++)
        if (!strcmp(relations[i].name, name))
            return (int)i;
    return -1;
}

static void add_field(const struct graph_node *n, unsigned i, struct buf *out)
{
    const char *name = graph_field(n->kind, i);
    const struct graph_attr *a = name ? graph_attr(&n->attrs, name) : NULL;

    if (!a || a->type == GRAPH_NULL)
        buf_addch(out, '?');
    else if (a->type == GRAPH_INT || a->type == GRAPH_BOOL)
        buf_addf(out, "%" PRId64, a->i);
    else if (a->type == GRAPH_F64)
        buf_addf(out, "%g", a->f);
    else
        buf_addstr(out, a->str);
}

static void add_unique(const struct graph_node *n, struct buf *out)
{
    unsigned field = 0;

    for (const char *f = kinds[n->kind].format; *f; f++) {
        if (*f == '%')
            add_field(n, field++, out);
        else
            buf_addch(out, *f);
    }
}

/* Whether another node would read the same without its instance. */
static int ambiguous(const struct graph_node *n)
{
    return n->first_twin != n || n->twin;
}

void graph_node_id(const struct graph_node *n, struct buf *out)
{
    const struct graph_kind_info *k = &kinds[n->kind];

    buf_addstr(out, k->abbr);
    buf_addch(out, '(');
    if (strcmp(n->ns, GRAPH_LOCAL) != 0)
        buf_addf(out, "ns=%s,", n->ns);
    add_unique(n, out);
    if (ambiguous(n) && *k->instance)
        buf_addf(out, ",%s=%s", k->instance, *n->instance ? n->instance : "?");
    buf_addch(out, ')');
}

void graph_node_label(const struct graph_node *n, struct buf *out)
{
    const char *name = graph_attr_str(&n->attrs, "name", "");

    if (n->kind == GRAPH_OTHER && !*name)
        name = graph_attr_str(&n->attrs, "entity_id", "");
    if (n->kind == GRAPH_PROCESS || n->kind == GRAPH_THREAD) {
        buf_addf(out, "%s%s", name, *name ? " " : "");
        buf_addch(out, '(');
        add_field(n, 0, out);
        buf_addch(out, ')');
    } else if (*name) {
        buf_addstr(out, name);
    } else {
        buf_addf(out, "%s ", kinds[n->kind].abbr);
        add_unique(n, out);
    }
}
