/* SPDX-License-Identifier: Apache-2.0 */
/* TCP, UDP and unix sockets: who listens, who is connected to whom, how much went where. */
#include "model/strtab.h"
#include "topo/sockets.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

struct job {
    struct topo_ctx *ctx;
    struct graph *g;
    struct sockets s;
    uint64_t small;     /* flows below the limits */
    uint64_t elsewhere; /* connected to another machine, or to a namespace that was not reached */
};

/* ---- nodes ---- */

/* "10.0.0.1", "[fe80::1]" */
static void address_text(const struct net_socket *n, int peer, char out[INET6_ADDRSTRLEN + 2])
{
    const uint8_t *a = peer ? n->peer_addr : n->addr;
    char text[INET6_ADDRSTRLEN] = "?";

    inet_ntop(n->family, a, text, sizeof(text));
    snprintf(out, INET6_ADDRSTRLEN + 2, n->family == AF_INET6 ? "[%s]" : "%s", text);
}

static struct graph_node *inet_node(struct job *j, size_t i, int peer)
{
    const struct net_socket *n = &j->s.all.list.a[i];
    uint64_t net = j->s.spaces.a[j->s.space_of.a[i]].net;
    char addr[INET6_ADDRSTRLEN + 2], port[8], instance[24];

    address_text(n, peer, addr);
    snprintf(port, sizeof(port), "%u", peer ? n->peer_port : n->port);
    snprintf(instance, sizeof(instance), "%" PRIu64, net);
    return graph_add(j->g,
                     &(struct graph_id){.kind = GRAPH_SOCKET,
                                        .instance = net && !peer ? instance : NULL,
                                        .field = {addr, port, n->protocol == IPPROTO_UDP ? "UDP" : "TCP"}});
}

static const char *unix_type(const struct net_socket *n)
{
    return n->protocol == SOCK_DGRAM ? "dgram" : n->protocol == SOCK_SEQPACKET ? "seqpacket" : "stream";
}

static struct graph_node *unix_node(struct job *j, const struct net_socket *n)
{
    struct graph_node *node = graph_numbered(j->g, GRAPH_UNIX_SOCKET, n->ino);

    if (*n->path)
        graph_set_str(j->g, &node->attrs, "name", n->path);
    graph_set_str(j->g, &node->attrs, "type", unix_type(n));
    return node;
}

static struct graph_node *holder_node(struct job *j, const struct scan_fd *f)
{
    return topo_process(j->ctx, j->g, j->ctx->scan->processes.a[f->process].pid);
}

/* ---- what a socket is to the processes that have it ---- */

static void own(struct job *j, size_t i, struct graph_node *node, enum graph_relation kind)
{
    size_t n;
    const struct scan_fd *const *held = sockets_holders(&j->s, i, &n);

    for (size_t k = 0; k < n; k++)
        graph_edge(j->g, kind, holder_node(j, held[k]), node);
}

/* A unix socket is a node where others can find it: those of a connection have the name of the listener. */
static int is_place(const struct net_socket *n)
{
    return n->state == NET_LISTEN || (*n->path && n->protocol == SOCK_DGRAM);
}

static void add_socket(struct job *j, size_t i)
{
    const struct net_socket *n = &j->s.all.list.a[i];
    enum graph_relation kind = n->state == NET_LISTEN ? GRAPH_EDGE_LISTEN : GRAPH_EDGE_OWN;
    struct graph_node *node;

    if (n->family == AF_UNIX) {
        if (is_place(n))
            own(j, i, unix_node(j, n), kind);
        return;
    }
    if (!n->ino) /* closed, the kernel keeps the port for a while */
        return;
    node = inet_node(j, i, 0);
    if (n->state == NET_LISTEN)
        graph_set_str(j->g, &node->attrs, "state", "listen");
    own(j, i, node, kind);
}

/* ---- connections ---- */

/* What went from i to the other end, from whichever end knows. */
static uint64_t sent(const struct net_socket *from, const struct net_socket *to)
{
    return from->counted ? from->sent : to && to->counted ? to->received : 0;
}

static uint64_t segments(const struct net_socket *from, const struct net_socket *to)
{
    return from->counted ? from->segments_out : to && to->counted ? to->segments_in : 0;
}

struct flow {
    uint64_t ab, ba, segments_ab, segments_ba;
};

static struct flow flow_of(const struct net_socket *a, const struct net_socket *b)
{
    if (b)
        return (struct flow){sent(a, b), sent(b, a), segments(a, b), segments(b, a)};
    return (struct flow){a->sent, a->received, a->segments_out, a->segments_in};
}

/* Below one of the limits it is noise. Only what is counted can be below. */
static int is_small(const struct job *j, const struct net_socket *n, const struct flow *f)
{
    const struct topo_limits *l = &j->ctx->limits;

    return n->counted && (f->ab + f->ba < l->min_bytes || f->segments_ab + f->segments_ba < l->min_messages);
}

static void add_flow(struct graph_edge *e, const struct graph_node *a, const struct graph_node *b,
                     const struct flow *f)
{
    graph_edge_flow(e, a, f->ab, f->segments_ab);
    graph_edge_flow(e, b, f->ba, f->segments_ba);
    graph_edge_weight(e, 1); /* connections */
}

/* The addresses of the first connection, whose end i is a's. */
static void tell_sockets(struct job *j, struct graph_edge *e, size_t i)
{
    const struct net_socket *n = &j->s.all.list.a[i];
    char addr[2][INET6_ADDRSTRLEN + 2], text[2 * sizeof(addr[0]) + 16];

    if (n->family == AF_UNIX || !n->peer_port || graph_attr(&e->attrs, "sockets"))
        return;
    address_text(n, 0, addr[0]);
    address_text(n, 1, addr[1]);
    snprintf(text, sizeof(text), "%s:%u - %s:%u", addr[0], n->port, addr[1], n->peer_port);
    graph_set_str(j->g, &e->attrs, "sockets", text);
}

/*
 * Processes at both ends. Where a descriptor was inherited there are several, and which of them talks is not
 * known: the latest in the list (the youngest, as a rule) gets the bytes, all get the doubt.
 */
static void join_processes(struct job *j, size_t a, size_t b, enum graph_relation kind, const struct flow *f)
{
    size_t na, nb;
    const struct scan_fd *const *ha = sockets_holders(&j->s, a, &na);
    const struct scan_fd *const *hb = sockets_holders(&j->s, b, &nb);
    double confidence;

    if (!na || !nb || (uint64_t)na * nb > j->ctx->limits.max_pairs)
        return;
    confidence = 1.0 / (double)(na * nb);
    for (size_t x = na; x-- > 0;) {
        for (size_t y = nb; y-- > 0;) {
            struct graph_node *p = holder_node(j, ha[x]), *q = holder_node(j, hb[y]);
            struct graph_edge *e;

            if (p == q)
                continue;
            e = graph_find_edge(j->g, kind, p, q);
            if (!e) {
                e = graph_edge(j->g, kind, p, q);
                e->confidence = confidence;
            } else if (confidence > e->confidence) {
                e->confidence = confidence;
            }
            if (x == na - 1 && y == nb - 1) {
                add_flow(e, p, q, f);
                tell_sockets(j, e, e->a == p ? a : b);
            } else
                graph_edge_weight(e, 1);
        }
    }
}

static void connect_inet(struct job *j, size_t i)
{
    const struct net_socket *n = &j->s.all.list.a[i], *other;
    int64_t peer;
    int server;
    struct flow f;
    struct graph_node *a, *b;
    struct graph_edge *e;

    if (!n->peer_port || !n->ino)
        return;
    peer = sockets_peer(&j->s, i);
    other = peer < 0 ? NULL : &j->s.all.list.a[peer];
    server = sockets_is_server(&j->s, i);
    /* Each connection once: from the client's end; where that does not tell, from the first. */
    if (other && other->peer_port && (size_t)peer != i) {
        int peer_server = sockets_is_server(&j->s, (size_t)peer);

        if (server != peer_server ? server : (size_t)peer < i)
            return;
        server = 0;
    }
    f = flow_of(n, other);
    if (is_small(j, n, &f)) {
        j->small++;
        return;
    }
    a = inet_node(j, i, 0);
    b = other ? inet_node(j, (size_t)peer, 0) : inet_node(j, i, 1);
    e = graph_edge(j->g, GRAPH_EDGE_CONNECT, server ? b : a, server ? a : b);
    add_flow(e, a, b, &f);
    if (!other && n->rtt_us)
        graph_set_int(j->g, &e->attrs, "rtt_us", n->rtt_us);
    j->elsewhere += !other;
    if (other)
        join_processes(j, i, (size_t)peer, n->protocol == IPPROTO_UDP ? GRAPH_EDGE_UDP : GRAPH_EDGE_TCP, &f);
}

/* The clients of a named one are joined to it too. */
static void access_place(struct job *j, size_t client, size_t server, struct graph_node *const *by_name)
{
    struct graph_node *place = by_name[server];
    size_t n;
    const struct scan_fd *const *held = sockets_holders(&j->s, client, &n);

    for (size_t k = 0; place && k < n; k++)
        graph_edge(j->g, GRAPH_EDGE_ACCESS, holder_node(j, held[k]), place);
}

static void connect_unix(struct job *j, size_t i, struct graph_node *const *places)
{
    const struct net_socket *n = &j->s.all.list.a[i], *other;
    int64_t peer = sockets_peer(&j->s, i);
    struct flow none = {0};

    if (peer < 0 || (size_t)peer == i)
        return;
    other = &j->s.all.list.a[peer];
    access_place(j, i, (size_t)peer, places);
    if (other->peer == n->ino && (size_t)peer < i)
        return;
    join_processes(j, i, (size_t)peer, GRAPH_EDGE_UNIX, &none);
}

/* Of every unix socket with a name, the node of the one that listens there; owned by the caller. */
static struct graph_node **find_places(struct job *j)
{
    const struct net_sockets *all = &j->s.all;
    struct graph_node **places = mem_calloc(all->list.n + 1, sizeof(struct graph_node *));
    struct strtab names = {0};
    struct map by_name = {0}; /* string -> index of the socket + 1 */

    for (size_t i = 0; i < all->list.n; i++)
        if (all->list.a[i].family == AF_UNIX && *all->list.a[i].path && is_place(&all->list.a[i]))
            *map_put(&by_name, strtab_add(&names, all->list.a[i].path)) = i + 1;
    for (size_t i = 0; i < all->list.n; i++) {
        const struct net_socket *n = &all->list.a[i];
        uint32_t name = n->family == AF_UNIX ? strtab_find(&names, n->path) : 0;
        const uint64_t *place = name ? map_get(&by_name, name) : NULL;

        places[i] = place ? unix_node(j, &all->list.a[*place - 1]) : NULL;
    }
    map_release(&by_name);
    strtab_release(&names);
    return places;
}

static void say(struct job *j)
{
    struct buf d = {0};

    buf_addf(&d, "%zu network namespace%s", j->s.spaces.n, j->s.spaces.n == 1 ? "" : "s");
    if (j->s.unreached)
        buf_addf(&d, ", %" PRIu64 " not reached", j->s.unreached);
    if (j->elsewhere)
        buf_addf(&d, "; %" PRIu64 " connection%s to elsewhere", j->elsewhere, j->elsewhere == 1 ? "" : "s");
    if (j->small)
        buf_addf(&d, "; %" PRIu64 " flows too small", j->small);
    if (j->s.bad_lines)
        buf_addf(&d, "; %" PRIu64 " lines of /proc/PID/net make no sense", j->s.bad_lines);
    snprintf(j->ctx->detail, sizeof(j->ctx->detail), "%s", buf_str(&d));
    buf_release(&d);
}

static int collect(struct topo_ctx *ctx, struct graph *g, struct err *e)
{
    struct job j = {.ctx = ctx, .g = g};
    struct graph_node **places;

    if (sockets_read(&j.s, ctx, e))
        return -1;
    for (size_t i = 0; i < j.s.all.list.n; i++)
        add_socket(&j, i);
    places = find_places(&j);
    for (size_t i = 0; i < j.s.all.list.n; i++) {
        if (j.s.all.list.a[i].family == AF_UNIX)
            connect_unix(&j, i, places);
        else
            connect_inet(&j, i);
    }
    free(places);
    ctx->seen = j.s.all.list.n;
    ctx->denied += ctx->scan->denied + j.s.unreached;
    say(&j);
    sockets_release(&j.s);
    return 0;
}

const struct topo_source topo_source_socket = {
    .name = "socket",
    .summary = "TCP, UDP and unix sockets of every network namespace, and who is at both ends",
    .on_by_default = 1,
    .needs_scan = 1,
    .goes_away = 1,
    .witty = "Socket",
    .collect = collect,
};
