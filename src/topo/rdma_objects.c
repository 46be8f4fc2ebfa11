/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs, memory regions, protection domains: whose they are, and which queue pairs are two ends. */
#include "topo/rdma.h"

#include <stdio.h>
#include <string.h>

/* enum ib_qp_type and ib_qp_state of include/rdma/ib_verbs.h. */
static const char *const types[] = {"SMI",       "GSI",           "RC", "UC",         "UD",
                                    "raw IPv6",  "raw Ethertype", "",   "raw packet", "XRC initiator",
                                    "XRC target"};
static const char *const states[] = {"reset",      "init", "ready to receive", "ready to send", "draining",
                                     "send error", "error"};

static struct graph_node *process_of(struct topo_ctx *ctx, struct graph *g, uint32_t pid)
{
    struct graph_node *n = ctx->scan ? topo_process(ctx, g, (int)pid) : NULL;

    return n ? n : graph_process(g, pid, -1, 0);
}

static struct graph_node *add(struct graph *g, enum graph_kind kind, const struct rdma_object *o, uint32_t a,
                              uint32_t b, uint32_t c)
{
    char text[3][16];

    snprintf(text[0], sizeof(text[0]), "%u", a);
    snprintf(text[1], sizeof(text[1]), "%u", b);
    snprintf(text[2], sizeof(text[2]), "%u", c);
    return graph_add(g, &(struct graph_id){.kind = kind,
                                           .instance = o->dev,
                                           .field = {text[0], graph_kind(kind)->nkey > 1 ? text[1] : NULL,
                                                     graph_kind(kind)->nkey > 2 ? text[2] : NULL}});
}

static struct graph_node *domain(struct graph *g, const struct rdma_object *o)
{
    struct graph_node *pd = add(g, GRAPH_RDMA_PD, o, o->pid, o->pdn, 0);

    graph_set_str(g, &pd->attrs, "dev", o->dev);
    graph_edge(g, GRAPH_EDGE_ACCESS, pd, graph_named(g, GRAPH_RDMA_DEVICE, o->dev));
    return pd;
}

/* The queue pair of this device that is the other end; NULL: it is elsewhere. */
static const struct rdma_object *other_end(const struct rdma_objects *r, const struct rdma_object *o)
{
    for (size_t i = 0; i < r->list.n; i++) {
        const struct rdma_object *x = &r->list.a[i];

        if (x->kind == RDMA_QP && x->pid && x->qpn == o->remote_qpn && x->has_remote &&
            x->remote_qpn == o->qpn && !strcmp(x->dev, o->dev))
            return x;
    }
    return NULL;
}

static void add_qp(struct topo_ctx *ctx, struct graph *g, const struct rdma_objects *r,
                   const struct rdma_object *o)
{
    struct graph_node *qp = add(g, GRAPH_RDMA_QP, o, o->pid, o->qpn, 0),
                      *process = process_of(ctx, g, o->pid);
    const struct rdma_object *other = o->has_remote && o->remote_qpn ? other_end(r, o) : NULL;

    graph_set_str(g, &qp->attrs, "dev", o->dev);
    graph_set_int(g, &qp->attrs, "port", o->port);
    if (o->type < ARRAY_SIZE(types))
        graph_set_str(g, &qp->attrs, "type", types[o->type]);
    if (o->state < ARRAY_SIZE(states))
        graph_set_str(g, &qp->attrs, "state", states[o->state]);
    graph_edge(g, GRAPH_EDGE_OWN, process, qp);
    graph_edge(g, GRAPH_EDGE_ACCESS, qp, graph_named(g, GRAPH_RDMA_DEVICE, o->dev));
    if (o->has_pdn) {
        graph_set_int(g, &qp->attrs, "pdn", o->pdn);
        graph_edge(g, GRAPH_EDGE_BELONG, qp, domain(g, o));
    }
    if (!o->has_remote || !o->remote_qpn)
        return;
    graph_set_int(g, &qp->attrs, "rqpn", o->remote_qpn);
    if (!other) {
        graph_edge(g, GRAPH_EDGE_RDMA, qp, add(g, GRAPH_RDMA_ENDPOINT, o, o->remote_qpn, 0, 0));
    } else if (o <= other) { /* each pair once */
        graph_edge(g, GRAPH_EDGE_RDMA, qp, add(g, GRAPH_RDMA_QP, other, other->pid, other->qpn, 0));
        if (other->pid != o->pid)
            graph_edge_weight(graph_edge(g, GRAPH_EDGE_RDMA, process, process_of(ctx, g, other->pid)), 1);
    }
}

static void add_mr(struct topo_ctx *ctx, struct graph *g, const struct rdma_object *o)
{
    struct graph_node *mr = add(g, GRAPH_RDMA_MR, o, o->pid, o->pdn, o->lkey);

    graph_set_int(g, &mr->attrs, "mrlen", (int64_t)o->length);
    if (o->has_keys)
        graph_set_int(g, &mr->attrs, "rkey", o->rkey);
    graph_edge(g, GRAPH_EDGE_OWN, process_of(ctx, g, o->pid), mr);
    graph_edge(g, GRAPH_EDGE_BELONG, mr, domain(g, o));
}

uint64_t rdma_add_objects(struct topo_ctx *ctx, struct graph *g, const struct rdma_objects *r)
{
    uint64_t of_kernel = 0;

    for (size_t i = 0; i < r->list.n; i++) {
        const struct rdma_object *o = &r->list.a[i];

        if (o->kind == RDMA_DEVICE)
            continue;
        if (!o->pid) {
            of_kernel++;
            continue;
        }
        if (o->kind == RDMA_QP)
            add_qp(ctx, g, r, o);
        else if (o->kind == RDMA_MR)
            add_mr(ctx, g, o);
        else
            graph_edge(g, GRAPH_EDGE_OWN, process_of(ctx, g, o->pid), domain(g, o));
        ctx->seen++;
    }
    return of_kernel;
}
