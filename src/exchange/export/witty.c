/* SPDX-License-Identifier: Apache-2.0 */
/* A topology as witty-profiler's graph.json (see import/witty.c). What it has no class for is left out and
 * counted. */
#include "exchange/export/export.h"

#include "base/json.h"
#include "base/log.h"
#include "model/graph_ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 8 };

/* The fields of their classes, in their order; '#': a whole number, -1 where it is not known. */
static const struct type {
    enum graph_kind kind;
    const char *name;
    const char *field[FIELDS_MAX];
} types[] = {
    {GRAPH_PROCESS, "ProcessEntity", {"#pid", "#ppid", "name", "cmdline"}},
    {GRAPH_THREAD, "ThreadEntity", {"#tid", "process", "name"}},
    {GRAPH_SOCKET,
     "SocketEntity",
     {"socket_type", "socket_addr", "#socket_port", "socket_thread", "socket_process"}},
    {GRAPH_SHM, "SharedMemoryEntity", {"device_id", "device_type", "shm_name", "#shm_size"}},
    {GRAPH_CONTAINER, "ContainerEntity", {"container_id", "container_name", "container_type"}},
    {GRAPH_POD, "PodEntity", {"pod_id"}},
    {GRAPH_NUMA,
     "NumaEntity",
     {"#numa_id", "cpu_set", "memory_set", "numa_stats", "mem_info", "distance_to_all_numa"}},
    {GRAPH_NUMA_SET, "NumaSetEntity", {"numa_id_str"}},
    {GRAPH_GPU,
     "GPUEntity",
     {"device_id", "device_type", "pci_bus_id", "#id", "cpu_affinity", "numa_affinity"}},
    {GRAPH_NPU, "NPUEntity", {"device_id", "device_type", "pci_bus_id", "#id", "cpu_affinity"}},
    {GRAPH_RDMA_DEVICE, "RdmaDevice", {"dev"}},
    {GRAPH_RDMA_ENDPOINT, "RdmaQueuePairEndpoint", {"#qpn"}},
    {GRAPH_RDMA_QP, "RdmaLocalQueuePair", {"#qpn", "#pid", "#pdn", "dev", "#port", "#rqpn"}},
    {GRAPH_RDMA_PD, "RdmaProtectionDomain", {"#pdn", "#pid", "dev"}},
    {GRAPH_RDMA_MR, "RdmaMemoryRegion", {"#lkey", "#rkey", "#mrlen", "#pdn", "#pid"}},
    {GRAPH_RDMA_RATES,
     "RdmaStatisticPerSecond",
     {"dev", "#port", "send_pkts", "recv_pkts", "dupl_pkts", "rdma_sends", "rdma_recvs"}},
};

static const struct type *type_of(enum graph_kind kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (types[i].kind == kind)
            return &types[i];
    return NULL;
}

static int is_theirs(const char *source)
{
    return !strcmp(source, "witty");
}

static void write_node(struct json_writer *w, const char *key, const struct graph *g,
                       const struct graph_node *n);

static void write_f64(struct json_writer *w, const char *key, double v)
{
    struct json_value number = {.type = JSON_NUMBER, .number = v};

    json_copy(w, key, &number); /* 1.0 stays one */
}

static void write_attr(struct json_writer *w, const struct graph_attr *a)
{
    struct json_doc *doc;

    switch (a->type) {
    case GRAPH_STR:
        json_str(w, a->name, a->str);
        break;
    case GRAPH_INT:
        json_i64(w, a->name, a->i);
        break;
    case GRAPH_F64:
        write_f64(w, a->name, a->f);
        break;
    case GRAPH_BOOL:
        json_bool(w, a->name, (int)a->i);
        break;
    case GRAPH_NULL:
        json_null(w, a->name);
        break;
    case GRAPH_JSON: /* laid out as the rest */
        doc = json_parse(a->str, strlen(a->str), NULL);
        if (doc)
            json_copy(w, a->name, json_root(doc));
        json_free(doc);
        break;
    }
}

/* A field that the node does not have as an attribute. */
static void write_missing(struct json_writer *w, const struct graph *g, const struct graph_node *n,
                          const char *field)
{
    const struct graph_attr *pid = graph_attr(&n->attrs, "pid");
    const struct graph_node *process = NULL;
    char text[24];

    if (*field == '#') {
        json_i64(w, field + 1, -1);
    } else if (n->kind == GRAPH_THREAD && !strcmp(field, "process") && pid && pid->type == GRAPH_INT) {
        snprintf(text, sizeof(text), "%lld", (long long)pid->i);
        process = graph_find(g, &(struct graph_id){.kind = GRAPH_PROCESS, .ns = n->ns, .field = {text}});
        if (process)
            write_node(w, field, g, process);
        else
            json_null(w, field);
    } else if (!strcmp(field, "numa_stats") || !strcmp(field, "mem_info") ||
               !strcmp(field, "distance_to_all_numa")) {
        json_raw(w, field, "{}");
    } else {
        json_null(w, field);
    }
}

static int is_field(const struct type *t, const char *name)
{
    for (size_t i = 0; t && i < FIELDS_MAX && t->field[i]; i++)
        if (!strcmp(t->field[i] + (t->field[i][0] == '#'), name))
            return 1;
    return 0;
}

/* What we know beyond their fields: in `details`, unless it was theirs. */
static void write_others(struct json_writer *w, const struct type *t, const struct graph_node *n)
{
    for (size_t i = 0; i < n->attrs.list.n; i++) {
        const char *name = n->attrs.list.a[i].name;

        if (is_field(t, name) || !strcmp(name, "details") ||
            (n->kind == GRAPH_OTHER && (!strcmp(name, "entity_type") || !strcmp(name, "entity_id"))))
            continue;
        write_attr(w, &n->attrs.list.a[i]);
    }
}

static void write_details(struct json_writer *w, const struct type *t, const struct graph_node *n)
{
    const struct graph_attr *details = graph_attr(&n->attrs, "details");

    if (details) {
        write_attr(w, details);
        return;
    }
    json_object(w, "details");
    if (!is_theirs(n->source))
        write_others(w, t, n);
    json_end_object(w);
}

static void write_node(struct json_writer *w, const char *key, const struct graph *g,
                       const struct graph_node *n)
{
    const struct type *t = type_of(n->kind);

    json_object(w, key);
    json_str(w, "entity_namespace", n->ns);
    json_str(w, "entity_type", t ? t->name : graph_attr_str(&n->attrs, "entity_type", "Entity"));
    write_details(w, t, n);
    for (size_t i = 0; t && i < FIELDS_MAX && t->field[i]; i++) {
        const struct graph_attr *a = graph_attr(&n->attrs, t->field[i] + (t->field[i][0] == '#'));

        if (a)
            write_attr(w, a);
        else if (!is_theirs(n->source))
            write_missing(w, g, n, t->field[i]);
    }
    if (is_theirs(n->source))
        write_others(w, t, n);
    json_end_object(w);
}

/* ---- edges ---- */

static const char *edge_type(const struct graph_edge *e)
{
    return graph_attr_str(&e->attrs, "edge_type", graph_relation(e->kind)->witty);
}

static void write_flow(struct json_writer *w, const struct graph_edge *e)
{
    json_str(w, "connection_type", graph_attr_str(&e->b->attrs, "socket_type", "TCP"));
    json_object(w, "data_flow");
    json_u64(w, "start_time", e->first_ns);
    json_u64(w, "end_time", e->last_ns);
    json_u64(w, "data_size", e->bytes_ab);
    json_u64(w, "packets_cnt", e->messages_ab);
    json_end_object(w);
}

static void write_edge(struct json_writer *w, const struct graph *g, const struct graph_edge *e)
{
    int is_list = graph_attr(&e->attrs, "undirected") != NULL;

    json_object(w, NULL);
    json_str(w, "edge_type", edge_type(e));
    if (isnan(e->weight))
        json_null(w, "weight");
    else
        write_f64(w, "weight", e->weight);
    if (is_list)
        json_array(w, "nodes");
    write_node(w, is_list ? NULL : "source_node", g, e->a);
    write_node(w, is_list ? NULL : "target_node", g, e->b);
    if (is_list)
        json_end_array(w);
    for (size_t i = 0; is_theirs(e->source) && i < e->attrs.list.n; i++)
        if (strcmp(e->attrs.list.a[i].name, "edge_type") != 0 &&
            strcmp(e->attrs.list.a[i].name, "undirected") != 0)
            write_attr(w, &e->attrs.list.a[i]);
    if (!is_theirs(e->source) && e->kind == GRAPH_EDGE_SEND)
        write_flow(w, e);
    json_end_object(w);
}

/* ---- all, in their order: by the text of ids ---- */

struct item {
    char *id;
    const void *of;
};

struct items {
    VEC(struct item) list;
};

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->id, ((const struct item *)b)->id);
}

static void items_sort(struct items *x)
{
    if (x->list.n)
        qsort(x->list.a, x->list.n, sizeof(*x->list.a), by_id);
}

static void items_release(struct items *x)
{
    for (size_t i = 0; i < x->list.n; i++)
        free(x->list.a[i].id);
    vec_release(&x->list);
}

static int has_class(const struct graph_node *n)
{
    return type_of(n->kind) || is_theirs(n->source);
}

static size_t write_nodes(struct json_writer *w, const struct graph *g)
{
    struct items x = {0};
    size_t left_out;

    for (size_t i = 0; i < g->nodes.n; i++) {
        struct buf id = {0};

        if (!has_class(g->nodes.a[i]))
            continue;
        graph_node_id(g->nodes.a[i], &id);
        *vec_push(&x.list) = (struct item){buf_detach(&id), g->nodes.a[i]};
    }
    items_sort(&x);
    for (size_t i = 0; i < x.list.n; i++)
        write_node(w, NULL, g, x.list.a[i].of);
    left_out = g->nodes.n - x.list.n;
    items_release(&x);
    return left_out;
}

static size_t write_edges(struct json_writer *w, const struct graph *g)
{
    struct items x = {0};
    size_t left_out;

    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];
        const char *type = edge_type(e);
        size_t n = strlen(type), cut = n > 4 && !strcmp(type + n - 4, "Edge") ? 4 : 0;
        struct buf id = {0};

        if (!has_class(e->a) || !has_class(e->b) || (!strcmp(type, "Edge") && !is_theirs(e->source)))
            continue;
        buf_addstr(&id, "relation: ");
        graph_node_id(e->a, &id);
        buf_addf(&id, " %.*s ", (int)(n - cut), type);
        graph_node_id(e->b, &id);
        *vec_push(&x.list) = (struct item){buf_detach(&id), e};
    }
    items_sort(&x);
    for (size_t i = 0; i < x.list.n; i++)
        write_edge(w, g, x.list.a[i].of);
    left_out = g->edges.n - x.list.n;
    items_release(&x);
    return left_out;
}

static int run(const struct export_input *in, struct buf *out, struct err *e)
{
    struct json_writer w = {.out = out, .indent = 2};
    size_t nodes, edges;

    json_object(&w, NULL);
    json_array(&w, "nodes");
    nodes = write_nodes(&w, in->topology);
    json_end_array(&w);
    json_array(&w, "edges");
    edges = write_edges(&w, in->topology);
    json_end_array(&w);
    json_end_object(&w);
    buf_addch(out, '\n');
    if (nodes || edges)
        log_warn("left out, for witty-profiler has no class for them: %zu node%s and %zu edge%s", nodes,
                 nodes == 1 ? "" : "s", edges, edges == 1 ? "" : "s");
    return 0;
}

const struct exporter export_witty = {
    .name = "witty",
    .summary = "graph.json of witty-profiler",
    .wants_topology = 1,
    .run = run,
};
