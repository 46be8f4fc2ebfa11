/* SPDX-License-Identifier: Apache-2.0 */
/* Rows 35, 38, 39, 40, 48 and 53: what the topology tells of the machine. */
#include "analyze/rules/check.h"

#include <stdlib.h>

static double attr_f64(const struct graph_attrs *of, const char *name, double otherwise)
{
    const struct graph_attr *a = graph_attr(of, name);

    return a && a->type == GRAPH_F64 ? a->f : a && a->type == GRAPH_INT ? (double)a->i : otherwise;
}

static size_t count(const struct graph *g, enum graph_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nodes.n; i++)
        n += g->nodes.a[i]->kind == kind;
    return n;
}

static void label(char **to, const struct graph_node *n)
{
    struct buf b = {0};

    graph_node_label(n, &b);
    *to = buf_detach(&b);
}

/* ---- NUMA ---- */

static const struct graph_node *other_end(const struct graph *g, const struct graph_node *n,
                                          enum graph_relation kind, enum graph_kind what)
{
    for (size_t i = 0; i < g->edges.n; i++)
        if (g->edges.a[i]->kind == kind && g->edges.a[i]->a == n && g->edges.a[i]->b->kind == what)
            return g->edges.a[i]->b;
    return NULL;
}

/* A process that has a GPU open which is next to another node than it runs on. */
static void check_gpu_node(struct rule_run *r, const struct graph *g, const struct graph_edge *e)
{
    const struct graph_node *at = other_end(g, e->a, GRAPH_EDGE_NUMA_ACCESS, GRAPH_NUMA);
    const struct graph_node *of = other_end(g, e->b, GRAPH_EDGE_NUMA_AFFINITY, GRAPH_NUMA);
    struct finding *x;

    if (!at || !of || at == of || e->confidence < 1)
        return;
    x = rule_found(r);
    label(&x->process, e->a);
    label(&x->device, e->b);
    x->severity = FINDING_MEDIUM;
    x->title = mem_printf("%s runs on another NUMA node than its GPU is at", x->process);
    x->evidence = mem_printf("It runs on node %lld, the GPU is next to node %lld.",
                             (long long)graph_attr_int(&at->attrs, "numa_id", -1),
                             (long long)graph_attr_int(&of->attrs, "numa_id", -1));
    x->advice = mem_printf("numactl --cpunodebind=%lld --membind=%lld",
                           (long long)graph_attr_int(&of->attrs, "numa_id", -1),
                           (long long)graph_attr_int(&of->attrs, "numa_id", -1));
    x->why = mem_strdup("what it costs is not measured");
    x->certainty = FINDING_LIKELY;
}

void check_numa_remote(struct rule_run *r, const struct rule_data *d)
{
    const struct graph *g = d->topology;
    size_t nodes = count(g, GRAPH_NUMA);

    if (nodes < 2) {
        rule_note(r, "%s", nodes ? "the machine has one NUMA node" : "the topology has no NUMA nodes");
        return;
    }
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];
        double remote = attr_f64(&e->attrs, "remote_share", 0);
        struct words w = {0};
        struct finding *x;

        if (e->kind == GRAPH_EDGE_ACCESS && e->b->kind == GRAPH_GPU && e->a->kind == GRAPH_PROCESS)
            check_gpu_node(r, g, e);
        if (e->kind != GRAPH_EDGE_NUMA_ACCESS || remote <= rule_threshold(r, "remote"))
            continue;
        x = rule_found(r);
        label(&x->process, e->a);
        x->severity = FINDING_LOW;
        x->title = mem_printf("%s uses memory of another NUMA node", x->process);
        x->evidence = mem_printf("%s of its accesses go to another node, if all its pages are used alike.",
                                 words_share(&w, remote));
        x->advice =
            mem_strdup("numactl --cpunodebind=N --membind=N, or have each thread touch first what it uses.");
        x->certainty = FINDING_LIKELY;
        x->why =
            mem_strdup("worked out from where its pages and its time are; what it costs is not measured");
    }
}

/* ---- PCIe ---- */

void check_pcie_width(struct rule_run *r, const struct rule_data *d)
{
    const struct graph *g = d->topology;

    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct graph_node *n = g->nodes.a[i];
        int64_t width = graph_attr_int(&n->attrs, "pcie_width", 0),
                most = graph_attr_int(&n->attrs, "pcie_max_width", 0);
        struct finding *x;

        /* A bridge has as many lanes as what is behind it takes. */
        if ((n->kind != GRAPH_GPU && n->kind != GRAPH_PCI) || width <= 0 || width >= most ||
            (n->kind == GRAPH_PCI && !graph_attr(&n->attrs, "driver")))
            continue;
        x = rule_found(r);
        label(&x->device, n);
        x->severity = n->kind == GRAPH_GPU ? FINDING_MEDIUM : FINDING_LOW;
        x->title =
            mem_printf("%s uses %lld of its %lld PCIe lanes", x->device, (long long)width, (long long)most);
        x->evidence = mem_printf("The link is up with %lld lanes, the device has %lld.", (long long)width,
                                 (long long)most);
        x->advice = mem_strdup("Reseat it, or see the slot's lanes and the BIOS's bifurcation; a slot may "
                               "have fewer by design.");
        x->certainty = FINDING_LIKELY;
        x->why = mem_strdup("what it costs is not measured");
    }
}

/* ---- RDMA ---- */

static const char *env(const struct meta *m, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < m->env.n; i++)
        if (!strncmp(m->env.a[i], name, n) && m->env.a[i][n] == '=')
            return m->env.a[i] + n + 1;
    return NULL;
}

static const struct graph_node *active_infiniband(const struct graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct graph_attr *ports = graph_attr(&g->nodes.a[i]->attrs, "ports");

        if (g->nodes.a[i]->kind == GRAPH_RDMA_DEVICE && ports && ports->type == GRAPH_JSON &&
            strstr(ports->str, "ACTIVE"))
            return g->nodes.a[i];
    }
    return NULL;
}

void check_nccl_tcp(struct rule_run *r, const struct rule_data *d)
{
    const struct graph_node *ib = active_infiniband(d->topology);
    const char *off = env(&d->s->meta, "NCCL_IB_DISABLE"), *net = env(&d->s->meta, "NCCL_NET");
    struct finding *x;

    if (!ib) {
        rule_note(r, "the machine has no RDMA port that is active");
        return;
    }
    if (!(off && strcmp(off, "0")) && !(net && !strcasecmp(net, "socket"))) {
        rule_note(r, "nothing in the environment keeps NCCL from using it; its own choice is not seen");
        return;
    }
    x = rule_found(r);
    label(&x->device, ib);
    x->severity = FINDING_MEDIUM;
    x->title = mem_strdup("NCCL is told to use TCP although an RDMA port is active");
    x->evidence = mem_printf("%s=%s, and %s has an active port.",
                             off && strcmp(off, "0") ? "NCCL_IB_DISABLE" : "NCCL_NET",
                             off && strcmp(off, "0") ? off : net, x->device);
    x->advice = mem_strdup(
        "Unset it, and see NCCL_DEBUG=INFO for what NCCL then chooses; NCCL_IB_HCA names the ports.");
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("what it costs is not measured");
}

/* A process that has a GPU and the device open. */
static const struct graph_node *uses_both(const struct graph *g, const struct graph_node *rdma)
{
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];

        if (e->kind == GRAPH_EDGE_ACCESS && e->b == rdma && e->a->kind == GRAPH_PROCESS &&
            other_end(g, e->a, GRAPH_EDGE_ACCESS, GRAPH_GPU))
            return e->a;
    }
    return NULL;
}

void check_rdma_no_peer(struct rule_run *r, const struct rule_data *d)
{
    const struct graph_node *ib = active_infiniband(d->topology), *p;
    const struct graph_attr *direct = ib ? graph_attr(&ib->attrs, "gpu_direct") : NULL;
    struct finding *x;

    if (!ib) {
        rule_note(r, "the machine has no RDMA port that is active");
        return;
    }
    if (!direct || direct->type != GRAPH_STR) {
        rule_not_checked(r, "needs the GPU driver's modules, which the topology does not tell");
        return;
    }
    p = uses_both(d->topology, ib);
    if (strcmp(direct->str, "none") || !p)
        return;
    x = rule_found(r);
    label(&x->process, p);
    label(&x->device, ib);
    x->severity = FINDING_MEDIUM;
    x->title = mem_printf("%s has no direct access to GPU memory", x->device);
    x->evidence =
        mem_printf("%s has a GPU and the device open; neither nvidia_peermem is loaded nor is the GPU's "
                   "driver the open one, which lends its memory (dma-buf).",
                   x->process);
    x->advice =
        mem_strdup("modprobe nvidia_peermem, or the open kernel modules; NCCL_DEBUG=INFO then says GDRDMA.");
    x->certainty = FINDING_LIKELY;
    x->why = mem_strdup("what it costs is not measured");
}

void check_rdma_retransmit(struct rule_run *r, const struct rule_data *d)
{
    const struct graph *g = d->topology;
    size_t n = count(g, GRAPH_RDMA_RATES);
    struct words w = {0};

    if (!n) {
        rule_note(r, "the topology has no RDMA ports that count");
        return;
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct graph_attrs *a = &g->nodes.a[i]->attrs;
        double sent = attr_f64(a, "send_pkts", 0), got = attr_f64(a, "recv_pkts", 0);
        double again = attr_f64(a, "dupl_pkts", 0) + attr_f64(a, "out_of_sequence", 0), share;
        struct finding *x;

        if (g->nodes.a[i]->kind != GRAPH_RDMA_RATES || sent + got <= 0)
            continue;
        share = again / (sent + got);
        if (share <= rule_threshold(r, "share"))
            continue;
        x = rule_found(r);
        label(&x->device, g->nodes.a[i]);
        x->severity = FINDING_MEDIUM;
        x->title = mem_printf("%s sends and gets packets again", x->device);
        x->evidence = mem_printf("%.0f duplicate or out of sequence packets/s of %.0f packets/s (%s).", again,
                                 sent + got, words_share(&w, share));
        x->advice =
            mem_strdup("See cables, the switch's pause frames and ECN; RoCE needs a fabric without loss.");
        x->why = mem_strdup("what it costs is not measured");
    }
}

/* ---- the network ---- */

/* The slowest of the connections to other machines. */
static const struct graph_edge *slowest(const struct graph *g, int64_t *us)
{
    const struct graph_edge *found = NULL;

    *us = 0;
    for (size_t i = 0; i < g->edges.n; i++) {
        int64_t rtt = graph_attr_int(&g->edges.a[i]->attrs, "rtt_us", 0);

        if (g->edges.a[i]->kind != GRAPH_EDGE_CONNECT || rtt <= *us)
            continue;
        *us = rtt;
        found = g->edges.a[i];
    }
    return found;
}

/* By a process of this machine. */
static int is_held(const struct graph *g, const struct graph_node *socket)
{
    for (size_t i = 0; i < g->edges.n; i++)
        if (g->edges.a[i]->kind == GRAPH_EDGE_OWN && g->edges.a[i]->b == socket)
            return 1;
    return 0;
}

/* What the main thread waits for at sockets is what it may cost. */
void check_network_latency(struct rule_run *r, const struct rule_data *d)
{
    struct words w = {0};
    struct lead_time t;
    int64_t us;
    const struct graph_edge *e = slowest(d->topology, &us);
    struct finding *x;

    if (!e) {
        rule_note(r, "no TCP connection to another machine was seen that tells how long answers take");
        return;
    }
    lead_time_init(&t, d);
    for (size_t i = 0; i < d->lead.spans.n; i++) {
        const struct wait *wait = lead_wait(d, &d->lead.spans.a[i]);

        if (wait && (wait->reason == WAIT_SOCKET || wait->reason == WAIT_POLL))
            lead_time_wait(&t, d, i);
    }
    if ((double)us * 1e-6 > rule_threshold(r, "time") &&
        lead_time_share(&t, d) > rule_threshold(r, "share")) {
        x = rule_found(r);
        finding_of_lead(x, &t, d);
        x->weight = RULE_WEIGHT_LAST;
        label(&x->device, is_held(d->topology, e->a) ? e->b : e->a);
        x->title = mem_printf("%s waits for the network, which answers slowly", lead_noun(d));
        x->evidence = mem_printf("It waited %s at sockets, in %s. An answer of %s takes %s there and back.",
                                 words_ns(&w, t.ns), words_plural(&w, t.waits, "wait"), x->device,
                                 words_ns(&w, (uint64_t)us * 1000));
        x->advice =
            mem_strdup("Fewer and larger messages, several requests under way at a time, what is asked for "
                       "again kept; TCP_NODELAY; a nearer machine.");
        x->certainty = FINDING_GUESS;
        x->why =
            mem_strdup("which waits were for that connection is not known, nor how long the other end took");
    }
    lead_time_release(&t);
}
