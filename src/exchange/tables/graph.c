/* SPDX-License-Identifier: Apache-2.0 */
/* The topology. */
#include "exchange/tables/job.h"

#include "base/json.h"
#include "model/graph_json.h"

#include <math.h>

static void attributes(struct tables_cell *c, const struct graph_attrs *attrs)
{
    struct json_writer w = {.out = c->text};

    buf_clear(c->text);
    graph_attrs_json(&w, NULL, attrs);
    tables_text(c, buf_str(c->text));
}

static void weight(struct tables_cell *c, double v)
{
    if (!isnan(v))
        tables_real(c, v);
}

static void node_value(struct tables_cell *c)
{
    const struct graph_node *n = c->in->graph.nodes.a[c->row];

    buf_clear(c->text);
    switch (c->column) {
    case COLUMN_nodes_kind:
        tables_text(c, graph_kind(n->kind)->name);
        break;
    case COLUMN_nodes_name:
        graph_node_id(n, c->text);
        tables_text(c, buf_str(c->text));
        break;
    case COLUMN_nodes_label:
        graph_node_label(n, c->text);
        tables_text(c, buf_str(c->text));
        break;
    case COLUMN_nodes_namespace:
        tables_text(c, n->ns);
        break;
    case COLUMN_nodes_source:
        tables_text(c, n->source);
        break;
    case COLUMN_nodes_weight:
        weight(c, n->weight);
        break;
    case COLUMN_nodes_attributes:
        attributes(c, &n->attrs);
        break;
    default:
        break;
    }
}

static void edge_value(struct tables_cell *c)
{
    const struct graph_edge *e = c->in->graph.edges.a[c->row];

    switch (c->column) {
    case COLUMN_edges_kind:
        tables_text(c, graph_relation(e->kind)->name);
        break;
    case COLUMN_edges_a:
        tables_int(c, (int64_t)e->a->index + 1);
        break;
    case COLUMN_edges_b:
        tables_int(c, (int64_t)e->b->index + 1);
        break;
    case COLUMN_edges_directed:
        tables_int(c, graph_relation(e->kind)->directed);
        break;
    case COLUMN_edges_bytes_ab:
        tables_int(c, (int64_t)e->bytes_ab);
        break;
    case COLUMN_edges_bytes_ba:
        tables_int(c, (int64_t)e->bytes_ba);
        break;
    case COLUMN_edges_messages_ab:
        tables_int(c, (int64_t)e->messages_ab);
        break;
    case COLUMN_edges_messages_ba:
        tables_int(c, (int64_t)e->messages_ba);
        break;
    case COLUMN_edges_source:
        tables_text(c, e->source);
        break;
    case COLUMN_edges_weight:
        weight(c, e->weight);
        break;
    case COLUMN_edges_attributes:
        attributes(c, &e->attrs);
        break;
    default:
        break;
    }
}

void tables_graph_value(struct tables_cell *c)
{
    if (tables_column_info(c->column)->table == TABLE_nodes)
        node_value(c);
    else
        edge_value(c);
}
