/* SPDX-License-Identifier: Apache-2.0 */
/* The edges that flows give: between processes, between sockets, from threads to what they send by. */
#include "record/topology.h"
#include "record/topology_ends.h"

#include "model/graph_ops.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* A process at an end, and what it moved there. */
struct party {
    struct graph_node *node;
    const struct bpfside_flow *flows; /* of its threads */
    size_t n;
    uint64_t bytes[2], messages[2];
};

struct parties {
    VEC(struct party) list;
    size_t main; /* who moves most: where several have one socket the other end's data are put down to it */
};

struct teller {
    struct graph *g;
    const struct flows_limits *limits;
    struct flows_told *told;
    struct ends ends;
    struct map touched;   /* edges that have been counted from 0, by address */
    struct map listening; /* ports */
};

/* ---- helpers ---- */

static void seen_edge(struct teller *t, struct graph_edge *e, const struct end *of)
{
    topology_seen(&e->first_ns, &e->last_ns, of->first + t->limits->offset, of->last + t->limits->offset);
}

static struct graph_node *seen_node(struct teller *t, struct graph_node *n, const struct end *of)
{
    topology_seen(&n->first_ns, &n->last_ns, of->first + t->limits->offset, of->last + t->limits->offset);
    return n;
}

/* What a look told of it is of another time: from here on it is what was counted. */
static struct graph_edge *edge(struct teller *t, enum graph_relation kind, struct graph_node *a,
                               struct graph_node *b, const struct end *of)
{
    struct graph_edge *e = graph_edge(t->g, kind, a, b);
    uint64_t *touched = map_put(&t->touched, (uint64_t)(uintptr_t)e);

    if (!*touched) {
        *touched = 1;
        e->bytes_ab = e->bytes_ba = e->messages_ab = e->messages_ba = 0;
        e->weight = NAN;
        e->confidence = 1;
    }
    seen_edge(t, e, of);
    return e;
}

static void flow(struct graph_edge *e, const struct graph_node *from, const uint64_t bytes[2],
                 const uint64_t messages[2], int direction)
{
    graph_edge_flow(e, from, bytes[direction], messages[direction]);
}

static void parties_of(struct teller *t, const struct end *e, struct parties *out)
{
    uint64_t most = 0;

    for (size_t i = 0; i < e->n; i++) {
        const struct wire_task *who = &e->flows[i].flow.task;
        struct party *p = out->list.n ? &out->list.a[out->list.n - 1] : NULL;

        if (!p || p->flows->flow.task.tgid != who->tgid ||
            p->flows->flow.task.leader_start != who->leader_start) {
            p = vec_push(&out->list);
            *p = (struct party){.flows = &e->flows[i]};
            p->node = topology_process(t->g, who->ns_tgid ? who->ns_tgid : who->tgid, -1, who->leader_start);
            seen_node(t, p->node, e);
            if (who->tid == who->tgid || !graph_attr(&p->node->attrs, "name"))
                graph_set_str(t->g, &p->node->attrs, "name", who->comm);
        }
        p->n++;
        for (int d = 0; d < 2; d++) {
            p->bytes[d] += e->flows[i].flow.bytes[d];
            p->messages[d] += e->flows[i].flow.messages[d];
        }
        if (p->bytes[0] + p->bytes[1] > most) {
            most = p->bytes[0] + p->bytes[1];
            out->main = out->list.n - 1;
        }
    }
}

static const char *address_text(const struct end *e, int peer, char out[INET6_ADDRSTRLEN + 2])
{
    char text[INET6_ADDRSTRLEN] = "?";

    inet_ntop(e->family, peer ? e->peer_addr : e->addr, text, sizeof(text));
    snprintf(out, INET6_ADDRSTRLEN + 2, e->family == AF_INET6 ? "[%s]" : "%s", text);
    return out;
}

static struct graph_node *socket_node(struct teller *t, const struct end *e, int peer)
{
    char addr[INET6_ADDRSTRLEN + 2], port[8], net[16];

    address_text(e, peer, addr);
    snprintf(port, sizeof(port), "%u", peer ? e->f->peer_port : e->f->port);
    snprintf(net, sizeof(net), "%u", e->f->net);
    return seen_node(
        t,
        graph_add(t->g,
                  &(struct graph_id){.kind = GRAPH_SOCKET,
                                     .instance = peer || !e->f->net ? NULL : net,
                                     .field = {addr, port, e->f->protocol == IPPROTO_UDP ? "UDP" : "TCP"}}),
        e);
}

static int has_choice(const struct party *p)
{
    return p->n > 1 || p->flows->flow.task.tid != p->flows->flow.task.tgid;
}

/* Which of a process's threads it was is told where there is a choice. */
static void tell_threads(struct teller *t, const struct party *p, const struct end *e, struct graph_node *by)
{
    for (size_t i = 0; has_choice(p) && i < p->n; i++) {
        const struct wire_flow *f = &p->flows[i].flow;
        const struct wire_task *who = &f->task;
        struct graph_node *n;
        struct graph_edge *send;

        n = seen_node(t, graph_thread(t->g, who->ns_tid ? who->ns_tid : who->tid, who->start / 10000000u), e);
        if (!graph_attr(&n->attrs, "name"))
            graph_set_str(t->g, &n->attrs, "name", who->comm);
        graph_set_int(t->g, &n->attrs, "pid", who->ns_tgid ? who->ns_tgid : who->tgid);
        seen_edge(t, graph_edge(t->g, GRAPH_EDGE_OWN, p->node, n), e);
        send = edge(t, GRAPH_EDGE_SEND, n, by, e);
        graph_edge_flow(send, n, f->bytes[WIRE_FLOW_OUT], f->messages[WIRE_FLOW_OUT]);
        graph_edge_flow(send, by, f->bytes[WIRE_FLOW_IN], f->messages[WIRE_FLOW_IN]);
    }
}

/* The same where the channel has no node of its own. */
static void note_threads(struct teller *t, const struct party *p, struct graph_edge *to)
{
    for (size_t i = 0; has_choice(p) && i < p->n; i++) {
        const struct wire_flow *f = &p->flows[i].flow;
        char name[32];

        if (!f->bytes[WIRE_FLOW_OUT])
            continue;
        snprintf(name, sizeof(name), "sent_by_%u", f->task.ns_tid ? f->task.ns_tid : f->task.tid);
        graph_set_int(t->g, &to->attrs, name,
                      graph_attr_int(&to->attrs, name, 0) + (int64_t)f->bytes[WIRE_FLOW_OUT]);
    }
}

/* ---- between processes ---- */

static void path_text(const struct end *e, char path[WIRE_FLOW_PATH + 2])
{
    size_t n = e->f->path_len < WIRE_FLOW_PATH ? e->f->path_len : WIRE_FLOW_PATH;

    memcpy(path, e->f->path, n);
    path[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (!path[i] && (i == 0 || i + 1 < n)) /* abstract */
            path[i] = '@';
}

static void set_path(struct teller *t, struct graph_edge *e, const struct end *a)
{
    char path[WIRE_FLOW_PATH + 2];

    path_text(a, path);
    if (*path)
        graph_set_str(t->g, &e->attrs, "name", path);
}

/* What the parties of one end sent, to the other's main one. */
static void send_all(struct teller *t, enum graph_relation kind, const struct end *from,
                     const struct parties *a, const struct parties *b)
{
    struct graph_node *to = b->list.a[b->main].node;

    for (size_t i = 0; i < a->list.n; i++) {
        const struct party *p = &a->list.a[i];
        struct graph_edge *e;

        if (p->node == to || !p->bytes[WIRE_FLOW_OUT])
            continue;
        e = edge(t, kind, p->node, to, from);
        set_path(t, e, from);
        flow(e, p->node, p->bytes, p->messages, WIRE_FLOW_OUT);
        if (from->family == AF_UNIX)
            note_threads(t, p, e);
        if (a->list.n > 1 || b->list.n > 1)
            e->confidence = 0.5; /* which of them it was for is not known */
    }
}

static enum graph_relation relation_of(const struct end *e)
{
    return e->family == AF_UNIX            ? GRAPH_EDGE_UNIX
           : e->f->protocol == IPPROTO_UDP ? GRAPH_EDGE_UDP
                                           : GRAPH_EDGE_TCP;
}

/* Two that are connected to nobody and send to each other are told in two ways, and one. */
static void count_connection(struct teller *t, enum graph_relation kind, const struct parties *a,
                             const struct parties *b, int one_way)
{
    struct graph_edge *e = graph_find_edge(t->g, kind, a->list.a[a->main].node, b->list.a[b->main].node);

    if (e && !(one_way && !isnan(e->weight)))
        graph_edge_weight(e, 1);
}

static int is_small(struct teller *t, uint64_t bytes, uint64_t messages)
{
    if (bytes >= t->limits->min_bytes && messages >= t->limits->min_messages)
        return 0;
    t->told->small++;
    return 1;
}

/* A socket of an address, and whose it is. */
static struct graph_node *own_node(struct teller *t, const struct end *e, const struct parties *p)
{
    struct graph_node *n;

    if (e->family == AF_UNIX)
        return NULL;
    n = socket_node(t, e, 0);
    for (size_t i = 0; i < p->list.n; i++) {
        seen_edge(t, graph_edge(t->g, GRAPH_EDGE_OWN, p->list.a[i].node, n), e);
        tell_threads(t, &p->list.a[i], e, n);
    }
    return n;
}

/* Ports that a look has found somebody listening at. */
static void find_listening(struct teller *t)
{
    for (size_t i = 0; i < t->g->edges.n; i++) {
        const struct graph_edge *e = t->g->edges.a[i];

        if (e->kind == GRAPH_EDGE_LISTEN && e->b->kind == GRAPH_SOCKET)
            *map_put(&t->listening, (uint64_t)graph_attr_int(&e->b->attrs, "socket_port", 0)) = 1;
    }
}

/* Whether socket a, of e, was asked for the connection with b, of `other` where that is known. What the
 * command's processes did not ask for they accepted; of others that were there before it is told by looks, or
 * guessed: a server has the lower port. */
static int is_server(const struct teller *t, const struct end *e, const struct end *other,
                     struct graph_node *a, struct graph_node *b)
{
    int mine = map_get(&t->listening, e->f->port) != NULL,
        its = map_get(&t->listening, e->f->peer_port) != NULL;

    if (e->f->active || (other && other->f->active))
        return !e->f->active;
    if (graph_find_edge(t->g, GRAPH_EDGE_CONNECT, b, a))
        return 1;
    if (graph_find_edge(t->g, GRAPH_EDGE_CONNECT, a, b))
        return 0;
    if (t->limits->launched && e->f->protocol == IPPROTO_TCP)
        return 1;
    return mine != its ? mine : e->f->port < e->f->peer_port;
}

static void set_time(struct teller *t, struct graph_edge *c, const char *name, uint64_t ns)
{
    if (ns)
        graph_set_int(t->g, &c->attrs, name, (int64_t)ns);
}

/* When the first and the last message each way had gone, by this host's CLOCK_MONOTONIC, and which end that
 * is of: with the other end's host's it tells how far the clocks are apart (wprof merge). forth: this end is
 * the edge's a. */
static void tell_times(struct teller *t, struct graph_edge *c, const struct end *e, int forth)
{
    int ab = forth ? WIRE_FLOW_OUT : WIRE_FLOW_IN, ba = forth ? WIRE_FLOW_IN : WIRE_FLOW_OUT;

    graph_set_int(t->g, &c->attrs, "near_end", forth ? 0 : 1);
    set_time(t, c, "first_ab_ns", e->begun[ab]);
    set_time(t, c, "last_ab_ns", e->ended[ab]);
    set_time(t, c, "first_ba_ns", e->begun[ba]);
    set_time(t, c, "last_ba_ns", e->ended[ba]);
}

/* What came to e is what `other` sent, where that is known: it may be read in other pieces. */
static void tell_connection(struct teller *t, const struct end *e, const struct end *other,
                            struct graph_node *a, struct graph_node *b)
{
    int mine_is_server = is_server(t, e, other, a, b);
    struct graph_edge *c;

    c = edge(t, GRAPH_EDGE_CONNECT, mine_is_server ? b : a, mine_is_server ? a : b, e);
    flow(c, a, e->bytes, e->messages, WIRE_FLOW_OUT);
    if (other && other->peer >= 0)
        flow(c, b, other->bytes, other->messages, WIRE_FLOW_OUT);
    else
        flow(c, b, e->bytes, e->messages, WIRE_FLOW_IN);
    if (!other && e->f->protocol == IPPROTO_TCP)
        tell_times(t, c, e, c->a == a);
    if (!end_is_sent(e) || isnan(c->weight))
        graph_edge_weight(c, 1);
}

/* Their addresses at the edge between the processes, too, of the first connection. */
static void tell_sockets(struct teller *t, const struct end *e, const struct parties *a,
                         const struct parties *b)
{
    struct graph_node *mine = a->list.a[a->main].node;
    struct graph_edge *to = graph_find_edge(t->g, relation_of(e), mine, b->list.a[b->main].node);
    char addr[2][INET6_ADDRSTRLEN + 2], text[2 * sizeof(addr[0]) + 16];
    int turned = to && to->a != mine;

    if (!to || graph_attr(&to->attrs, "sockets"))
        return;
    address_text(e, turned, addr[0]);
    address_text(e, !turned, addr[1]);
    snprintf(text, sizeof(text), "%s:%u - %s:%u", addr[0], turned ? e->f->peer_port : e->f->port, addr[1],
             turned ? e->f->port : e->f->peer_port);
    graph_set_str(t->g, &to->attrs, "sockets", text);
}

static void tell_pair(struct teller *t, const struct end *e, const struct end *other)
{
    enum graph_relation kind = relation_of(e);
    struct parties a = {0}, b = {0};
    struct graph_node *x, *y;

    parties_of(t, e, &a);
    parties_of(t, other, &b);
    send_all(t, kind, e, &a, &b);
    if (other->peer >= 0) {
        send_all(t, kind, other, &b, &a);
    } else if (e->bytes[WIRE_FLOW_IN] && a.list.a[a.main].node != b.list.a[b.main].node) {
        flow(edge(t, kind, a.list.a[a.main].node, b.list.a[b.main].node, e), b.list.a[b.main].node, e->bytes,
             e->messages, WIRE_FLOW_IN); /* a socket for all: what it answered whom the client knows */
    }
    count_connection(t, kind, &a, &b, end_is_sent(e));
    x = own_node(t, e, &a);
    y = own_node(t, other, &b);
    if (x && y) {
        tell_connection(t, e, other, x, y);
        tell_sockets(t, e, &a, &b);
    }
    vec_release(&a.list);
    vec_release(&b.list);
}

/* The processes that a look has found at the other end. */
static int tell_known(struct teller *t, const struct end *e, const struct parties *a, struct graph_node *peer)
{
    struct graph_node *mine = a->list.a[a->main].node;
    int found = 0;

    for (size_t i = 0, n = t->g->edges.n; i < n && !found; i++) {
        const struct graph_edge *own = t->g->edges.a[i];
        struct graph_edge *to;

        if (own->kind != GRAPH_EDGE_OWN || own->b != peer || own->a->kind != GRAPH_PROCESS || own->a == mine)
            continue;
        to = edge(t, relation_of(e), mine, own->a, e);
        flow(to, mine, e->bytes, e->messages, WIRE_FLOW_OUT);
        flow(to, own->a, e->bytes, e->messages, WIRE_FLOW_IN);
        graph_edge_weight(to, 1);
        found = 1;
    }
    return found;
}

/* All that came to a socket that takes from everybody. */
static int is_told_elsewhere(const struct end *e)
{
    return e->known && e->known >= e->bytes[WIRE_FLOW_IN] && !e->bytes[WIRE_FLOW_OUT] && e->peer < 0;
}

/* Whoever listens at the path that datagrams are sent to: a look knows. */
static int tell_path(struct teller *t, const struct end *e, const struct parties *a)
{
    struct graph_node *mine = a->list.a[a->main].node;
    char path[WIRE_FLOW_PATH + 2];

    path_text(e, path);
    for (size_t i = 0, n = t->g->edges.n; i < n; i++) {
        const struct graph_edge *own = t->g->edges.a[i];
        struct graph_edge *to;

        if (own->a->kind != GRAPH_PROCESS || own->b->kind != GRAPH_UNIX_SOCKET || own->a == mine ||
            (own->kind != GRAPH_EDGE_OWN && own->kind != GRAPH_EDGE_LISTEN) ||
            strcmp(graph_attr_str(&own->b->attrs, "name", ""), path) != 0)
            continue;
        to = edge(t, GRAPH_EDGE_UNIX, mine, own->a, e);
        set_path(t, to, e);
        flow(to, mine, e->bytes, e->messages, WIRE_FLOW_OUT);
        graph_edge_weight(to, 1);
        return 1;
    }
    return 0;
}

static void tell_unix_alone(struct teller *t, const struct end *e, const struct parties *a)
{
    struct graph_node *x;

    if (end_is_sent(e) && tell_path(t, e, a))
        return;
    x = seen_node(t, graph_numbered(t->g, GRAPH_UNIX_SOCKET, (int64_t)e->flows->key.ino), e);
    for (size_t i = 0; i < a->list.n; i++) {
        const struct party *p = &a->list.a[i];
        struct graph_edge *use = edge(t, GRAPH_EDGE_ACCESS, p->node, x, e);

        set_path(t, use, e);
        flow(use, p->node, p->bytes, p->messages, WIRE_FLOW_OUT);
        flow(use, x, p->bytes, p->messages, WIRE_FLOW_IN);
    }
    t->told->alone += !is_told_elsewhere(e);
}

/* It takes from everybody; what came from whom is told at the other ends that we know. */
static void tell_open(struct teller *t, const struct end *e, const struct parties *a, struct graph_node *x)
{
    for (size_t i = 0; i < a->list.n; i++) {
        const struct party *p = &a->list.a[i];
        struct graph_edge *own = edge(t, GRAPH_EDGE_OWN, p->node, x, e);

        flow(own, p->node, p->bytes, p->messages, WIRE_FLOW_OUT);
        flow(own, x, p->bytes, p->messages, WIRE_FLOW_IN);
    }
    t->told->alone += !is_told_elsewhere(e);
}

static void tell_alone(struct teller *t, const struct end *e)
{
    struct parties a = {0};
    struct graph_node *x, *y;

    parties_of(t, e, &a);
    x = own_node(t, e, &a);
    if (e->family == AF_UNIX) {
        tell_unix_alone(t, e, &a);
    } else if (e->f->peer_port) {
        y = socket_node(t, e, 1);
        tell_connection(t, e, NULL, x, y);
        t->told->alone += !tell_known(t, e, &a, y);
    } else {
        tell_open(t, e, &a, x);
    }
    vec_release(&a.list);
}

/* Channels that anybody may read who has them open. */
static enum graph_relation channel_edge(const struct end *e)
{
    switch (e->f->kind) {
    case WIRE_FLOW_FIFO:
        return GRAPH_EDGE_FIFO;
    case WIRE_FLOW_EVENTFD:
        return GRAPH_EDGE_EVENTFD;
    case WIRE_FLOW_MQUEUE:
        return GRAPH_EDGE_MQUEUE;
    case WIRE_FLOW_SYSV_MSG:
        return GRAPH_EDGE_SYSV_MSG;
    case WIRE_FLOW_SYSV_SEM:
        return GRAPH_EDGE_SYSV_SEM;
    default:
        return GRAPH_EDGE_PIPE;
    }
}

static struct graph_node *channel_node(struct teller *t, const struct end *e)
{
    char text[WIRE_FLOW_PATH + 2], ns[16];

    switch (e->f->kind) {
    case WIRE_FLOW_FIFO:
    case WIRE_FLOW_MQUEUE:
        snprintf(text, sizeof(text), "%s%.*s", e->f->kind == WIRE_FLOW_MQUEUE ? "/" : "", e->f->path_len,
                 e->f->path);
        return graph_named(t->g, e->f->kind == WIRE_FLOW_MQUEUE ? GRAPH_MQUEUE : GRAPH_FIFO, text);
    case WIRE_FLOW_EVENTFD:
        return graph_numbered(t->g, GRAPH_EVENTFD, (int64_t)e->f->sk);
    case WIRE_FLOW_SYSV_MSG:
    case WIRE_FLOW_SYSV_SEM:
        snprintf(text, sizeof(text), "%u", (unsigned)e->flows->key.ino);
        snprintf(ns, sizeof(ns), "%u", e->f->net);
        return graph_add(t->g, &(struct graph_id){.kind = e->f->kind == WIRE_FLOW_SYSV_SEM ? GRAPH_SYSV_SEM
                                                                                           : GRAPH_SYSV_MSG,
                                                  .instance = ns,
                                                  .field = {text}});
    default:
        return graph_numbered(t->g, GRAPH_PIPE, (int64_t)e->flows->key.ino);
    }
}

static void tell_channel(struct teller *t, const struct end *e)
{
    enum graph_relation kind = channel_edge(e);
    struct parties all = {0};
    struct party *reader = NULL;

    parties_of(t, e, &all);
    for (size_t i = 0; i < all.list.n; i++)
        if (all.list.a[i].messages[WIRE_FLOW_IN] &&
            (!reader || all.list.a[i].bytes[WIRE_FLOW_IN] > reader->bytes[WIRE_FLOW_IN]))
            reader = &all.list.a[i];
    for (size_t i = 0; i < all.list.n; i++) {
        struct party *p = &all.list.a[i];
        struct graph_node *object;
        struct graph_edge *to;

        if (reader && p != reader && p->messages[WIRE_FLOW_OUT]) {
            to = edge(t, kind, p->node, reader->node, e);
            flow(to, p->node, p->bytes, p->messages, WIRE_FLOW_OUT);
            set_path(t, to, e);
            note_threads(t, p, to);
            if (all.list.n == 2 && !graph_relation(kind)->directed) /* what else but for the other */
                flow(to, reader->node, reader->bytes, reader->messages, WIRE_FLOW_OUT);
            graph_edge_weight(to, 1);
        } else if (!reader || !e->messages[WIRE_FLOW_OUT]) {
            object = seen_node(t, channel_node(t, e), e);
            to = edge(t, GRAPH_EDGE_ACCESS, p->node, object, e);
            flow(to, p->node, p->bytes, p->messages, WIRE_FLOW_OUT);
            flow(to, object, p->bytes, p->messages, WIRE_FLOW_IN);
            t->told->alone += p == &all.list.a[0];
        }
    }
    vec_release(&all.list);
}

/* The command waited for us at a pipe, as a copy of us. */
static int is_gate(const struct teller *t, const struct end *e)
{
    const struct wire_task *who = &e->f->task;

    return t->limits->launched && e->f->kind == WIRE_FLOW_PIPE && e->n == 1 &&
           who->ns_tgid == t->limits->launched && !memcmp(who->comm, "wprof", sizeof("wprof")) &&
           e->bytes[WIRE_FLOW_IN] == 1;
}

static int is_ours(const struct teller *t, const struct end *e)
{
    for (size_t i = 0; i < t->limits->nours; i++)
        if (e->f->task.ns_tgid && (int)e->f->task.ns_tgid == t->limits->ours[i])
            return 1;
    return 0;
}

static void tell(struct teller *t, size_t i)
{
    const struct end *e = &t->ends.list.a[i], *other;

    if (e->f->kind == WIRE_FLOW_SOCKET && e->family != AF_UNIX && e->family != AF_INET &&
        e->family != AF_INET6)
        return; /* netlink, packet sockets: nobody at the other end */
    if (e->peer >= 0 && t->ends.list.a[e->peer].peer == (int64_t)i && (size_t)e->peer < i)
        return; /* told from the other end */
    if (is_gate(t, e) || is_ours(t, e))
        return;
    t->told->connections += !is_told_elsewhere(e);
    if (is_small(t, e->bytes[0] + e->bytes[1], e->messages[0] + e->messages[1]))
        return;
    other = e->peer >= 0 ? &t->ends.list.a[e->peer] : NULL;
    if (e->f->kind != WIRE_FLOW_SOCKET)
        tell_channel(t, e);
    else if (other)
        tell_pair(t, e, other);
    else
        tell_alone(t, e);
}

/* Counts of a look are of a connection's whole life. */
static void forget_counts(struct graph *g)
{
    for (size_t i = 0; i < g->edges.n; i++) {
        struct graph_edge *e = g->edges.a[i];

        if (graph_relation(e->kind)->class == GRAPH_CLASS_FLOW)
            e->bytes_ab = e->bytes_ba = e->messages_ab = e->messages_ba = 0;
    }
}

/* ---- what is below the limits ---- */

static int is_recorded(const struct graph_node *n)
{
    return n->kind == GRAPH_PROCESS && strstr(n->source, "recording");
}

/* Sockets of processes whose messages are counted. */
static uint8_t *find_counted(const struct graph *g)
{
    uint8_t *counted = mem_calloc(g->nodes.n + 1, 1);

    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];

        if (e->kind == GRAPH_EDGE_OWN && e->b->kind == GRAPH_SOCKET && is_recorded(e->a))
            counted[e->b->index] = 1;
    }
    return counted;
}

/* A connection that a look has found, and of which nothing was told. */
static int is_silent(const struct teller *t, const uint8_t *counted, const struct graph_edge *e)
{
    if (map_get(&t->touched, (uint64_t)(uintptr_t)e))
        return 0;
    if (e->kind == GRAPH_EDGE_CONNECT)
        return counted[e->a->index] || counted[e->b->index];
    return (e->kind == GRAPH_EDGE_TCP || e->kind == GRAPH_EDGE_UDP || e->kind == GRAPH_EDGE_UNIX) &&
           (is_recorded(e->a) || is_recorded(e->b));
}

/* Their sockets, too, unless something else joins them. */
static void leave_silent_out(struct teller *t)
{
    struct graph *g = t->g, out;
    uint8_t *counted = find_counted(g), *edges = mem_calloc(g->edges.n + 1, 1),
            *nodes = mem_calloc(g->nodes.n + 1, 1), *lost = mem_calloc(g->nodes.n + 1, 1);

    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];

        edges[i] = !is_silent(t, counted, e);
        if (!edges[i])
            lost[e->a->index] = lost[e->b->index] = 1;
        else if (e->kind != GRAPH_EDGE_OWN)
            nodes[e->a->index] = nodes[e->b->index] = 1;
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        nodes[i] |= !lost[i] || g->nodes.a[i]->kind != GRAPH_SOCKET;
    graph_init(&out);
    graph_chosen(&out, g, nodes, edges);
    graph_release(g);
    *g = out;
    free(counted);
    free(edges);
    free(nodes);
    free(lost);
}

void flows_tell(struct graph *g, struct flows *f, const struct flows_limits *limits, struct flows_told *told)
{
    struct teller t = {.g = g, .limits = limits, .told = told};

    forget_counts(g);
    find_listening(&t);
    ends_find(&t.ends, f);
    for (size_t i = 0; i < t.ends.list.n; i++)
        tell(&t, i);
    if (limits->min_bytes || limits->min_messages)
        leave_silent_out(&t);
    ends_release(&t.ends);
    map_release(&t.touched);
    map_release(&t.listening);
}
