/* SPDX-License-Identifier: Apache-2.0 */
#include "record/topology_ends.h"

#include "base/hash.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_object(const void *a, const void *b)
{
    const struct bpfside_flow *x = a, *y = b;
    int c = compare(x->flow.kind, y->flow.kind);

    if (!c)
        c = compare(x->key.dev, y->key.dev);
    if (!c)
        c = compare(x->key.ino, y->key.ino);
    if (!c)
        c = compare(x->key.to, y->key.to);
    if (!c)
        c = compare(x->flow.task.tgid, y->flow.task.tgid);
    if (!c)
        c = compare(x->flow.task.leader_start, y->flow.task.leader_start);
    return c ? c : compare(x->key.tid, y->key.tid);
}

static int same_object(const struct bpfside_flow *x, const struct bpfside_flow *y)
{
    return x->flow.kind == y->flow.kind && x->key.dev == y->key.dev && x->key.ino == y->key.ino &&
           x->key.to == y->key.to;
}

static int is_mapped(const struct wire_flow *f)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

    return f->family == AF_INET6 && !memcmp(f->peer_addr, prefix, sizeof(prefix));
}

static void make(struct end *e, const struct bpfside_flow *flows, size_t n)
{
    *e = (struct end){.flows = flows, .n = n, .f = &flows->flow, .first = flows->flow.first, .peer = -1};
    for (size_t i = 0; i < n; i++) {
        const struct wire_flow *f = &flows[i].flow;

        for (int d = 0; d < 2; d++) {
            e->bytes[d] += f->bytes[d];
            e->messages[d] += f->messages[d];
            e->begun[d] = flows_earlier(e->begun[d], f->begun[d]);
            e->ended[d] = flows_later(e->ended[d], f->ended[d]);
        }
        if (f->first < e->first)
            e->first = f->first;
        if (f->last > e->last)
            e->last = f->last;
        if (f->peer_ino && !e->f->peer_ino)
            e->f = f;
    }
    e->family = is_mapped(e->f) ? AF_INET : e->f->family;
    e->addr = e->f->addr + (is_mapped(e->f) ? 12 : 0);
    e->peer_addr = e->f->peer_addr + (is_mapped(e->f) ? 12 : 0);
}

/* ---- who is connected to whom ---- */

static int is_inet(const struct end *e)
{
    return e->f->kind == WIRE_FLOW_SOCKET && (e->family == AF_INET || e->family == AF_INET6);
}

static int is_unix(const struct end *e)
{
    return e->f->kind == WIRE_FLOW_SOCKET && e->family == AF_UNIX;
}

static uint64_t ports_key(const struct wire_flow *f, uint16_t port, uint16_t peer_port)
{
    return 1ull << 63 | (uint64_t)f->protocol << 32 | (uint64_t)port << 16 | peer_port;
}

/* By what others find it. */
static uint64_t key_of(const struct end *e)
{
    return is_unix(e) ? e->f->sk : ports_key(e->f, e->f->port, e->f->peer_port);
}

static size_t address_size(const struct end *e)
{
    return e->family == AF_INET ? 4 : 16;
}

static int is_any(const struct end *e)
{
    static const uint8_t zero[16];

    return !memcmp(e->addr, zero, address_size(e));
}

static int is_loopback(const struct end *e)
{
    static const uint8_t one[16] = {[15] = 1};

    return e->family == AF_INET ? e->addr[0] == 127 : !memcmp(e->addr, one, sizeof(one));
}

/* Another network namespace's addresses are others, where they are not of wires between the two. */
static int is_reached(const struct end *e, const struct end *other)
{
    return e->f->net == other->f->net || (other->f->peer_port && !is_loopback(e) && !is_loopback(other));
}

/* Whether e sends to the address of `other`, which may be any of a machine where it is connected to nobody.
 */
static int is_address_of(const struct end *e, const struct end *other)
{
    return ((!other->f->peer_port || end_is_sent(other)) && is_any(other)) ||
           (e->family == other->family && !memcmp(e->peer_addr, other->addr, address_size(e)));
}

/* A name of unix(7); in the file system the NUL at its end is none of it. */
static size_t path_size(const struct wire_flow *f)
{
    size_t n = f->path_len < WIRE_FLOW_PATH ? f->path_len : WIRE_FLOW_PATH;

    return n && f->path[0] ? strnlen(f->path, n) : n;
}

static uint64_t path_key(const struct wire_flow *f)
{
    return hash_bytes(f->path, path_size(f));
}

/* Abstract names are those of a network namespace. */
static int is_path_of(const struct end *e, const struct end *other)
{
    size_t n = path_size(e->f);

    return n == path_size(other->f) && !memcmp(e->f->path, other->f->path, n) &&
           (e->f->path[0] || e->f->net == other->f->net);
}

/* Whether datagrams can be sent to it by its path: without a name of its own it gets nothing by one. */
static int has_path(const struct end *e)
{
    return is_unix(e) && e->f->type == SOCK_DGRAM && path_size(e->f) && !end_is_sent(e) &&
           e->messages[WIRE_FLOW_IN];
}

/* Is `other` where e sends to? */
static int fits(const struct end *e, const struct end *other)
{
    if (is_unix(e) && end_is_sent(e))
        return is_path_of(e, other);
    if (is_unix(e))
        return is_unix(other) && e->f->peer_sk == other->f->sk &&
               (!other->f->peer_sk || other->f->peer_sk == e->f->sk);
    if (!is_inet(other) || other->f->protocol != e->f->protocol || !is_reached(e, other))
        return 0;
    if (!other->f->peer_port) /* a datagram socket that is not connected takes from everybody */
        return is_address_of(e, other);
    return is_address_of(e, other) && is_address_of(other, e);
}

/* How little two ends look like one connection's, in this order: they are in one network namespace; one got
 * what the other sent; they are there at one time; they begin at nearly the same time. Who reads late begins
 * late. */
struct unlikeness {
    int bytes; /* 2 more: another namespace */
    uint64_t between, begin;
};

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static struct unlikeness unlikeness(const struct end *x, const struct end *y)
{
    uint64_t last = x->last < y->last ? x->last : y->last, first = x->first > y->first ? x->first : y->first;

    return (struct unlikeness){(x->bytes[WIRE_FLOW_OUT] != y->bytes[WIRE_FLOW_IN] ||
                                x->bytes[WIRE_FLOW_IN] != y->bytes[WIRE_FLOW_OUT]) +
                                   2 * (x->f->net != y->f->net),
                               first > last ? first - last : 0, apart(x->first, y->first)};
}

static int is_less(const struct unlikeness *a, const struct unlikeness *b)
{
    int c = a->bytes - b->bytes;

    if (!c)
        c = compare(a->between, b->between);
    return (c ? c : compare(a->begin, b->begin)) < 0;
}

/* Addresses and ports are used again: of several that fit it is the one that is most alike and nobody
 * else's. */
static void look_in(struct ends *x, size_t i, const uint64_t *first, const uint32_t *next)
{
    struct end *e = &x->list.a[i];
    struct unlikeness best = {4, 0, 0};

    for (size_t k = first ? *first : 0; k; k = next[k - 1]) {
        const struct end *other = &x->list.a[k - 1];
        struct unlikeness u = unlikeness(e, other);

        if (k - 1 == i || !fits(e, other) || (other->peer >= 0 && other->peer != (int64_t)i))
            continue;
        if (is_less(&u, &best)) {
            best = u;
            e->peer = (int64_t)(k - 1);
        }
    }
}

static void look_for(struct ends *x, size_t i, uint64_t key)
{
    look_in(x, i, map_get(&x->by_key, key), x->next.a);
}

static void enter(struct ends *x)
{
    for (size_t i = 0; i < x->list.n; i++) {
        const struct end *e = &x->list.a[i];
        uint64_t *slot;

        *vec_push(&x->next) = *vec_push(&x->next_path) = 0;
        if (e->f->kind != WIRE_FLOW_SOCKET || (is_unix(e) && end_is_sent(e)))
            continue;
        slot = map_put(&x->by_key, key_of(e));
        x->next.a[i] = (uint32_t)*slot;
        *slot = i + 1;
        if (!has_path(e))
            continue;
        slot = map_put(&x->by_path, path_key(e->f));
        x->next_path.a[i] = (uint32_t)*slot;
        *slot = i + 1;
    }
}

/* Whether whoever has it for its peer is its peer. */
static int has_one_peer(const struct end *e)
{
    return is_unix(e) ? e->f->type != SOCK_DGRAM : e->f->peer_port != 0;
}

static void join_one(struct ends *x, size_t i)
{
    struct end *e = &x->list.a[i];

    if (is_unix(e) && end_is_sent(e))
        look_in(x, i, map_get(&x->by_path, path_key(e->f)), x->next_path.a);
    else if (is_unix(e) && e->f->peer_sk)
        look_for(x, i, e->f->peer_sk);
    else if (is_inet(e) && e->f->peer_port) {
        look_for(x, i, ports_key(e->f, e->f->peer_port, e->f->port));
        if (e->peer < 0 && e->f->protocol == IPPROTO_UDP)
            look_for(x, i, ports_key(e->f, e->f->peer_port, 0));
    }
    if (e->peer >= 0 && x->list.a[e->peer].peer < 0 && has_one_peer(&x->list.a[e->peer]))
        x->list.a[e->peer].peer = (int64_t)i;
}

/* What is known of it is told at the end of all that the socket got, which comes first. */
static void add_known(struct ends *x, const struct end *e)
{
    size_t to = (size_t)e->peer;
    const struct bpfside_flow *flows = x->list.a[to].flows;

    while (to && x->list.a[to - 1].flows->key.ino == flows->key.ino &&
           x->list.a[to - 1].f->kind == WIRE_FLOW_SOCKET)
        to--;
    x->list.a[to].known += e->bytes[WIRE_FLOW_OUT];
}

static void join(struct ends *x)
{
    enter(x);
    for (size_t i = 0; i < x->list.n; i++)
        if (x->list.a[i].peer < 0)
            join_one(x, i);
    for (size_t i = 0; i < x->list.n; i++)
        if (x->list.a[i].peer >= 0)
            add_known(x, &x->list.a[i]);
}

void ends_find(struct ends *x, struct flows *f)
{
    struct bpfside_flow *a = f->all.list.a;
    size_t n = f->all.list.n;

    if (n)
        qsort(a, n, sizeof(*a), by_object);
    for (size_t i = 0, to; i < n; i = to) {
        for (to = i + 1; to < n && same_object(&a[i], &a[to]);)
            to++;
        make(vec_push(&x->list), a + i, to - i);
    }
    index_release(&f->index); /* they have moved */
    f->index = (struct index){0};
    join(x);
}

void ends_release(struct ends *x)
{
    vec_release(&x->list);
    vec_release(&x->next);
    map_release(&x->by_key);
    vec_release(&x->next_path);
    map_release(&x->by_path);
}
