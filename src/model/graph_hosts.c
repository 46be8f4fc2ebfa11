/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph_hosts.h"

#include "model/graph_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void graph_add_host(struct graph *into, const struct graph *from, const char *name)
{
    struct buf source = {0};
    VEC(struct graph_coverage) kept = {0};

    for (size_t i = 0; i < into->coverage.n; i++) /* merging puts the other's in their place */
        *vec_push(&kept) = into->coverage.a[i];
    graph_merge(into, from, GRAPH_BESIDE, name);
    into->coverage.n = 0;
    for (size_t i = 0; i < kept.n; i++)
        graph_cover(into, &kept.a[i]);
    for (size_t i = 0; i < from->coverage.n; i++) {
        struct graph_coverage c = from->coverage.a[i];

        buf_clear(&source);
        buf_addf(&source, "%s:%s", name, c.source);
        c.source = buf_str(&source);
        graph_cover(into, &c);
    }
    buf_release(&source);
    vec_release(&kept);
}

/* ---- what a host knows of another's ---- */

/* A connection as one of its ends' hosts knows it. */
struct half {
    const struct graph_edge *edge;
    struct graph_node *mine, *theirs;
};

struct hosts {
    const struct graph *g;
    uint8_t *own; /* of node i: a socket that its host has */
    VEC(struct half) halves;
    struct graph_node **is; /* of node i: the other host's node that it is; itself */
    VEC(struct half) pairs; /* mine and theirs are sockets of two hosts */
    struct graph_hosts_joined *joined;
};

/* A host of a socket has it in a network namespace, or some process has it. */
static void find_own(struct hosts *h)
{
    for (size_t i = 0; i < h->g->nodes.n; i++)
        h->own[i] = *h->g->nodes.a[i]->instance != '\0';
    for (size_t i = 0; i < h->g->edges.n; i++) {
        const struct graph_edge *e = h->g->edges.a[i];

        if ((e->kind == GRAPH_EDGE_OWN || e->kind == GRAPH_EDGE_LISTEN || e->kind == GRAPH_EDGE_SEND) &&
            e->b->kind == GRAPH_SOCKET)
            h->own[e->b->index] = 1;
    }
}

static int has_prefix(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

/* Loopback and link-local addresses are others on every host. */
static int is_global(const struct graph_node *n)
{
    const char *a = graph_attr_str(&n->attrs, "socket_addr", "");

    return *a && !has_prefix(a, "127.") && !has_prefix(a, "169.254.") && strcmp(a, "[::1]") != 0 &&
           !has_prefix(a, "[fe80:");
}

static void find_halves(struct hosts *h)
{
    for (size_t i = 0; i < h->g->edges.n; i++) {
        const struct graph_edge *e = h->g->edges.a[i];

        if (e->kind != GRAPH_EDGE_CONNECT || h->own[e->a->index] == h->own[e->b->index] || !is_global(e->a) ||
            !is_global(e->b))
            continue;
        *vec_push(&h->halves) =
            h->own[e->a->index] ? (struct half){e, e->a, e->b} : (struct half){e, e->b, e->a};
    }
}

/* By the connection, whichever end tells of it. */
static int by_ends(const void *a, const void *b)
{
    const struct half *x = a, *y = b;
    const char *xa = x->mine->key, *xb = x->theirs->key, *ya = y->mine->key, *yb = y->theirs->key, *swap;
    int c;

    if (strcmp(xa, xb) > 0)
        swap = xa, xa = xb, xb = swap;
    if (strcmp(ya, yb) > 0)
        swap = ya, ya = yb, yb = swap;
    c = strcmp(xa, ya);
    return c ? c : strcmp(xb, yb);
}

static int are_one(const struct half *x, const struct half *y)
{
    return !strcmp(x->mine->key, y->theirs->key) && !strcmp(x->theirs->key, y->mine->key) &&
           strcmp(x->mine->ns, y->mine->ns) != 0;
}

/* 0: it stands for another host's socket already. */
static int stand_for(struct hosts *h, const struct graph_node *foreign, struct graph_node *own)
{
    struct graph_node **is = &h->is[foreign->index];

    if (*is != foreign && *is != own)
        return 0;
    *is = own;
    return 1;
}

static void find_pairs(struct hosts *h)
{
    size_t n = h->halves.n;

    if (n)
        qsort(h->halves.a, n, sizeof(*h->halves.a), by_ends);
    for (size_t i = 0, end; i < n; i = end) {
        const struct half *x = &h->halves.a[i], *y = x + 1;

        for (end = i + 1; end < n && !by_ends(x, &h->halves.a[end]);)
            end++;
        if (end == i + 2 && are_one(x, y) && stand_for(h, x->theirs, y->mine) &&
            stand_for(h, y->theirs, x->mine)) {
            *vec_push(&h->pairs) = (struct half){x->edge, x->mine, y->mine};
            h->joined->connections++;
        } else if (end > i + 1) {
            h->joined->ambiguous++;
        }
    }
}

/* ---- the new graph ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Both ends counted it: what is greater was seen longer. */
static void add_connection(struct graph *out, const struct graph_edge *e, struct graph_node *a,
                           struct graph_node *b)
{
    struct graph_edge *to = graph_find_edge(out, e->kind, a, b);
    int back = !to && (to = graph_find_edge(out, e->kind, b, a));

    if (!to) {
        graph_merge_edge(out, e, a, b, GRAPH_BESIDE);
        return;
    }
    to->bytes_ab = larger(to->bytes_ab, back ? e->bytes_ba : e->bytes_ab);
    to->bytes_ba = larger(to->bytes_ba, back ? e->bytes_ab : e->bytes_ba);
    to->messages_ab = larger(to->messages_ab, back ? e->messages_ba : e->messages_ab);
    to->messages_ba = larger(to->messages_ba, back ? e->messages_ab : e->messages_ba);
    to->weight = e->weight > to->weight ? e->weight : to->weight;
    to->first_ns = to->first_ns && (!e->first_ns || to->first_ns < e->first_ns) ? to->first_ns : e->first_ns;
    to->last_ns = larger(to->last_ns, e->last_ns);
}

/* A process and a socket that it has, of the new graph. */
struct holder {
    const struct graph_node *socket;
    struct graph_node *process;
};

struct holders {
    VEC(struct holder) list; /* by socket */
};

static int by_socket(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;

    return x->socket->index < y->socket->index ? -1 : x->socket->index > y->socket->index;
}

static void find_holders(struct holders *h, const struct graph *g)
{
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];

        if (e->kind == GRAPH_EDGE_OWN && e->b->kind == GRAPH_SOCKET && e->a->kind == GRAPH_PROCESS)
            *vec_push(&h->list) = (struct holder){e->b, e->a};
    }
    if (h->list.n)
        qsort(h->list.a, h->list.n, sizeof(*h->list.a), by_socket);
}

static const struct holder *holders_of(const struct holders *h, const struct graph_node *socket, size_t *n)
{
    size_t from = 0, to = h->list.n, end;

    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (h->list.a[mid].socket->index < socket->index)
            from = mid + 1;
        else
            to = mid;
    }
    for (end = from; end < h->list.n && h->list.a[end].socket == socket;)
        end++;
    *n = end - from;
    return h->list.a + from;
}

/* Where several processes have a socket at one address it is not known which of them it is. */
static void join_processes(struct graph *out, const struct holders *h, struct graph_node *x,
                           struct graph_node *y)
{
    const struct graph_edge *c = graph_find_edge(out, GRAPH_EDGE_CONNECT, x, y);
    int is_udp = !strcmp(graph_attr_str(&x->attrs, "socket_type", ""), "UDP"), forth;
    size_t na, nb;
    const struct holder *a = holders_of(h, x, &na), *b = holders_of(h, y, &nb);

    c = c ? c : graph_find_edge(out, GRAPH_EDGE_CONNECT, y, x);
    forth = c->a == x;
    for (size_t i = 0; i < na * nb; i++) {
        struct graph_node *p = a[i / nb].process, *q = b[i % nb].process;
        struct graph_edge *e = graph_edge(out, is_udp ? GRAPH_EDGE_UDP : GRAPH_EDGE_TCP, p, q);

        graph_edge_weight(e, 1);
        e->confidence = 1.0 / (double)(na * nb);
        e->source = graph_sources_joined(out, e->source, c->source);
        if (na * nb > 1)
            continue;
        graph_edge_flow(e, p, forth ? c->bytes_ab : c->bytes_ba, forth ? c->messages_ab : c->messages_ba);
        graph_edge_flow(e, q, forth ? c->bytes_ba : c->bytes_ab, forth ? c->messages_ba : c->messages_ab);
    }
}

static void copy(struct hosts *h, struct graph *out)
{
    const struct graph *g = h->g;
    struct graph_node **map = mem_calloc(g->nodes.n + 1, sizeof(struct graph_node *));
    struct holders holders = {0};

    for (size_t i = 0; i < g->nodes.n; i++)
        if (h->is[i] == g->nodes.a[i])
            map[i] = graph_merge_node(out, g->nodes.a[i], GRAPH_BESIDE, NULL);
    for (size_t i = 0; i < g->nodes.n; i++)
        if (!map[i])
            map[i] = map[h->is[i]->index];
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];
        struct graph_node *a = map[e->a->index], *b = map[e->b->index];

        if (e->kind == GRAPH_EDGE_CONNECT && (h->is[e->a->index] != e->a || h->is[e->b->index] != e->b))
            add_connection(out, e, a, b);
        else
            graph_merge_edge(out, e, a, b, GRAPH_BESIDE);
    }
    find_holders(&holders, out);
    for (size_t i = 0; i < h->pairs.n; i++)
        join_processes(out, &holders, map[h->pairs.a[i].mine->index], map[h->pairs.a[i].theirs->index]);
    vec_release(&holders.list);
    free(map);
}

void graph_join_hosts(struct graph *out, const struct graph *g, struct graph_hosts_joined *joined)
{
    struct hosts h = {.g = g,
                      .own = mem_calloc(g->nodes.n + 1, 1),
                      .is = mem_calloc(g->nodes.n + 1, sizeof(struct graph_node *)),
                      .joined = joined};

    *joined = (struct graph_hosts_joined){0};
    for (size_t i = 0; i < g->nodes.n; i++)
        h.is[i] = g->nodes.a[i];
    find_own(&h);
    find_halves(&h);
    find_pairs(&h);
    graph_copy_about(out, g);
    copy(&h, out);
    free(h.own);
    free(h.is);
    vec_release(&h.halves);
    vec_release(&h.pairs);
}
