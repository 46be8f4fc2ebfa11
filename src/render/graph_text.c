/* SPDX-License-Identifier: Apache-2.0 */
#include "render/graph_text.h"

#include "base/units.h"
#include "model/graph_ops.h"
#include "render/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Their name of the relation: OwnEdge is "Own". Ours where they have none. */
static void add_relation(enum graph_relation kind, struct buf *out)
{
    const struct graph_relation_info *r = graph_relation(kind);
    size_t n = strlen(r->witty), cut = strlen("Edge");

    if (r->class == GRAPH_CLASS_FLOW && !strcmp(r->witty, "IPCEdge"))
        buf_addf(out, "IPC[%s]", r->name);
    else if (kind == GRAPH_EDGE_LISTEN) /* another edge than "Own" beside it */
        buf_addf(out, "%.*s[%s]", (int)(n - cut), r->witty, r->name);
    else if (n > cut && !strcmp(r->witty + n - cut, "Edge"))
        buf_add(out, r->witty, n - cut);
    else if (!strcmp(r->witty, "Edge"))
        buf_addstr(out, r->name);
    else
        buf_addstr(out, r->witty);
}

static void add_flow(const char *arrow, uint64_t bytes, uint64_t messages, struct buf *out)
{
    char size[32], count[32];

    if (!bytes && !messages)
        return;
    buf_addf(out, "  %s %s", arrow, units_size(size, sizeof(size), bytes));
    if (messages)
        buf_addf(out, " in %s", units_count(count, sizeof(count), messages));
}

static void add_node(const struct graph_node *n, const char *id, struct buf *out)
{
    const char *name = graph_attr_str(&n->attrs, "name", ""),
               *line = graph_attr_str(&n->attrs, "cmdline", "");

    buf_addstr(out, "  - ");
    text_clean(id, 0, out);
    if (*line || *name) {
        buf_addstr(out, "  ");
        text_clean(*line ? line : name, 120, out);
    }
    if (n->kind == GRAPH_PROCESS && graph_attr_int(&n->attrs, "rank", -1) >= 0)
        buf_addf(out, "  rank %" PRId64, graph_attr_int(&n->attrs, "rank", -1));
    buf_addch(out, '\n');
}

static void add_edge(const struct graph_edge *e, const struct graph_order *o, struct buf *out)
{
    int swapped = graph_order_swapped(o, e);

    buf_addstr(out, "  - relation: ");
    text_clean(graph_order_id(o, swapped ? e->b : e->a), 0, out);
    buf_addch(out, ' ');
    add_relation(e->kind, out);
    buf_addch(out, ' ');
    text_clean(graph_order_id(o, swapped ? e->a : e->b), 0, out);
    add_flow("->", swapped ? e->bytes_ba : e->bytes_ab, swapped ? e->messages_ba : e->messages_ab, out);
    add_flow("<-", swapped ? e->bytes_ab : e->bytes_ba, swapped ? e->messages_ab : e->messages_ba, out);
    if (!isnan(e->weight))
        buf_addf(out, "  weight %g", e->weight);
    if (e->confidence < 1)
        buf_addf(out, "  confidence %.2g", e->confidence);
    buf_addch(out, '\n');
}

static void add_coverage(const struct graph_coverage *c, struct buf *out)
{
    buf_addf(out, "  - %s: %s", c->source, c->state);
    if (strcmp(c->state, "off") != 0)
        buf_addf(out, ", %" PRIu64 " seen, %" PRIu64 " denied, %" PRIu64 " vanished", c->seen, c->denied,
                 c->vanished);
    if (*c->detail) {
        buf_addstr(out, " (");
        text_clean(c->detail, 0, out);
        buf_addch(out, ')');
    }
    buf_addch(out, '\n');
}

void graph_text_render(const struct graph *g, struct buf *out)
{
    struct graph_order o;

    graph_order_init(&o, g);
    buf_addf(out, "Graph with %zu nodes and %zu edges\n", g->nodes.n, g->edges.n);
    buf_addstr(out, "Nodes:\n");
    for (size_t i = 0; i < o.nodes.n; i++)
        add_node(o.nodes.a[i], graph_order_id(&o, o.nodes.a[i]), out);
    buf_addstr(out, "Edges:\n");
    for (size_t i = 0; i < o.edges.n; i++)
        add_edge(o.edges.a[i], &o, out);
    if (g->coverage.n)
        buf_addstr(out, "Sources:\n");
    for (size_t i = 0; i < g->coverage.n; i++)
        add_coverage(&g->coverage.a[i], out);
    graph_order_release(&o);
}
