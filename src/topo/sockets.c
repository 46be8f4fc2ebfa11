/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/sockets.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- reading ---- */

/* What the kernel knows of the namespace that we are in. */
static int ask_kernel(struct net_sockets *all, struct err *e)
{
    int tcp = net_sockets_read_inet(all, IPPROTO_TCP, 1, e);
    int udp = net_sockets_read_inet(all, IPPROTO_UDP, 0, tcp ? NULL : e);
    int local = net_sockets_read_unix(all, tcp || udp ? NULL : e);

    return tcp && udp && local ? -1 : 0;
}

static int read_files(struct sockets *s, struct topo_ctx *ctx, int pid)
{
    static const struct {
        const char *name;
        int family, protocol;
    } files[] = {{"tcp", AF_INET, IPPROTO_TCP},
                 {"tcp6", AF_INET6, IPPROTO_TCP},
                 {"udp", AF_INET, IPPROTO_UDP},
                 {"udp6", AF_INET6, IPPROTO_UDP},
                 {"unix", AF_UNIX, 0}};
    struct buf text = {0};
    char path[64];
    int rc = -1;

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, files[i].name);
        buf_clear(&text);
        if (topo_read(ctx, path, &text))
            continue;
        s->bad_lines += net_sockets_parse(&s->all, files[i].family, files[i].protocol, buf_str(&text));
        rc = 0;
    }
    buf_release(&text);
    return rc;
}

static int enter(int pid)
{
    char path[64];
    int fd, rc;

    snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    rc = fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* We are a process of our own and may move to another namespace for good. `own`: the one we are in. */
static int read_space(struct sockets *s, struct topo_ctx *ctx, const struct scan_process *p, uint64_t own)
{
    struct sockets_of_ns space = {.net = p->net, .first = (uint32_t)s->all.list.n};
    int rc = -1;

    if (ctx->live && (p->net == own || !enter(p->pid)))
        rc = ask_kernel(&s->all, NULL);
    if (rc)
        rc = read_files(s, ctx, p->pid);
    if (rc)
        return -1;
    space.n = (uint32_t)s->all.list.n - space.first;
    for (uint32_t i = 0; i < space.n; i++)
        *vec_push(&s->space_of) = (uint32_t)s->spaces.n;
    *vec_push(&s->spaces) = space;
    return 0;
}

static uint64_t own_space(void)
{
    char link[64];
    ssize_t n = readlink("/proc/self/ns/net", link, sizeof(link) - 1);

    if (n < 6)
        return 0;
    link[n] = '\0';
    return strtoull(link + 5, NULL, 10); /* net:[ */
}

/* Each namespace once, our own first: there is no way back to it. */
static void read_spaces(struct sockets *s, struct topo_ctx *ctx)
{
    uint64_t own = ctx->live ? own_space() : 0;
    struct map done = {0}; /* 1: read, 2: refused */
    uint64_t *state;

    for (int ours = ctx->live; ours >= 0; ours--) {
        for (size_t i = 0; i < ctx->scan->processes.n; i++) {
            const struct scan_process *p = &ctx->scan->processes.a[i];

            if (p->kernel || (ours && p->net != own) || (ctx->live && !p->net))
                continue;
            state = map_put(&done, p->net + 1);
            if (*state != 1) /* another process of it may be one that we may read */
                *state = read_space(s, ctx, p, own) ? 2 : 1;
        }
    }
    for (size_t i = 0; i < done.cap; i++)
        s->unreached += done.slots[i].used == 1 && done.slots[i].val == 2;
    map_release(&done);
}

/* ---- finding ---- */

/* ::ffff:1.2.3.4 is 1.2.3.4: a server for both families has such ends. */
static void make_plain(struct net_socket *n)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (n->family != AF_INET6 || memcmp(n->addr, mapped, sizeof(mapped)) != 0)
        return;
    if (n->peer_port && memcmp(n->peer_addr, mapped, sizeof(mapped)) != 0)
        return;
    n->family = AF_INET;
    memmove(n->addr, n->addr + 12, 4);
    memset(n->addr + 4, 0, 12);
    memmove(n->peer_addr, n->peer_addr + 12, 4);
    memset(n->peer_addr + 4, 0, 12);
}

static int is_loopback(const struct net_socket *n)
{
    static const uint8_t one[16] = {[15] = 1};

    return n->family == AF_INET ? n->addr[0] == 127 : !memcmp(n->addr, one, sizeof(one));
}

/* The ends of a connection, as `mirrored` sees them. */
struct ends {
    const struct sockets *s;
    uint8_t family, protocol;
    uint16_t port, peer_port;
    const uint8_t *addr, *peer_addr;
    int64_t space; /* -1: any */
};

static struct ends ends_of(const struct sockets *s, size_t i, int mirrored)
{
    const struct net_socket *n = &s->all.list.a[i];
    int64_t space = is_loopback(n) ? (int64_t)s->space_of.a[i] : -1;

    return (struct ends){s,
                         n->family,
                         n->protocol,
                         mirrored ? n->peer_port : n->port,
                         mirrored ? n->port : n->peer_port,
                         mirrored ? n->peer_addr : n->addr,
                         mirrored ? n->addr : n->peer_addr,
                         space};
}

static uint64_t ends_hash(const struct ends *k)
{
    return hash_mix(hash_bytes(k->addr, 16) ^ k->port, hash_bytes(k->peer_addr, 16) + k->peer_port) ^
           ((uint64_t)k->protocol << 8 | k->family);
}

static int ends_equal(const void *ctx, uint32_t id)
{
    const struct ends *k = ctx;
    const struct net_socket *n = &k->s->all.list.a[id - 1];

    return n->family == k->family && n->protocol == k->protocol && n->port == k->port &&
           n->peer_port == k->peer_port && !memcmp(n->addr, k->addr, 16) &&
           !memcmp(n->peer_addr, k->peer_addr, 16) &&
           (k->space < 0 || k->s->space_of.a[id - 1] == (uint32_t)k->space);
}

/* A bound socket that takes what is sent to its port: a TCP listener, a UDP socket that is not connected. */
struct port {
    const struct sockets *s;
    uint8_t protocol;
    uint16_t port;
    uint32_t space;
    const uint8_t *addr; /* it must be bound to this, or to all; NULL: to whatever */
    uint8_t family;
    int only; /* not to all */
};

static uint64_t port_hash(const struct port *p)
{
    return hash_u64((uint64_t)p->space << 32 | (uint64_t)p->protocol << 16 | p->port);
}

static int port_equal(const void *ctx, uint32_t id)
{
    static const uint8_t any[16];
    const struct port *p = ctx;
    const struct net_socket *n = &p->s->all.list.a[id - 1];

    return n->protocol == p->protocol && n->port == p->port && p->s->space_of.a[id - 1] == p->space &&
           (!p->addr || (!p->only && !memcmp(n->addr, any, 16)) ||
            (n->family == p->family && !memcmp(n->addr, p->addr, 16)));
}

static struct port port_of(const struct sockets *s, size_t i)
{
    const struct net_socket *n = &s->all.list.a[i];

    return (struct port){s, n->protocol, n->port, s->space_of.a[i], NULL, n->family, 0};
}

static void add_to_indexes(struct sockets *s, size_t i)
{
    struct net_socket *n = &s->all.list.a[i];
    struct ends ends;
    struct port port;

    if (n->ino)
        *map_put(&s->by_ino, n->ino) = i + 1;
    if (n->family == AF_UNIX)
        return;
    make_plain(n);
    if (n->state == NET_LISTEN || (n->protocol == IPPROTO_UDP && !n->peer_port)) {
        port = port_of(s, i);
        index_add(&s->listeners, port_hash(&port), (uint32_t)i + 1);
    } else if (n->ino) { /* those in TIME_WAIT have none */
        ends = ends_of(s, i, 0);
        index_add(&s->by_ends, ends_hash(&ends), (uint32_t)i + 1);
    }
}

static int by_ino(const void *a, const void *b)
{
    const struct scan_fd *x = *(const struct scan_fd *const *)a, *y = *(const struct scan_fd *const *)b;

    if (x->ino != y->ino)
        return x->ino < y->ino ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static void find_holders(struct sockets *s, const struct scan *scan)
{
    for (size_t i = 0; i < scan->fds.n; i++)
        if (scan->fds.a[i].kind == SCAN_FD_SOCKET)
            *vec_push(&s->held) = &scan->fds.a[i];
    if (s->held.n)
        qsort(s->held.a, s->held.n, sizeof(*s->held.a), by_ino);
}

int sockets_read(struct sockets *s, struct topo_ctx *ctx, struct err *e)
{
    *s = (struct sockets){0};
    read_spaces(s, ctx);
    if (!s->spaces.n)
        return err_set(e, "neither sock_diag nor %s/proc/PID/net tells of sockets", ctx->root);
    for (size_t i = 0; i < s->all.list.n; i++)
        add_to_indexes(s, i);
    find_holders(s, ctx->scan);
    return 0;
}

void sockets_release(struct sockets *s)
{
    net_sockets_release(&s->all);
    vec_release(&s->spaces);
    vec_release(&s->space_of);
    vec_release(&s->held);
    map_release(&s->by_ino);
    index_release(&s->by_ends);
    index_release(&s->listeners);
}

const struct scan_fd *const *sockets_holders(const struct sockets *s, size_t i, size_t *n)
{
    uint32_t ino = s->all.list.a[i].ino;
    size_t from = 0, to = s->held.n, end;

    while (ino && from < to) {
        size_t mid = from + (to - from) / 2;

        if (s->held.a[mid]->ino < ino)
            from = mid + 1;
        else
            to = mid;
    }
    end = from;
    while (ino && end < s->held.n && s->held.a[end]->ino == ino)
        end++;
    *n = end - from;
    return s->held.a + from;
}

/* The one that takes what n sends: in its own namespace bound to the address or to all, in another one,
 * unless that is loopback, to just this address: which others one has is not known. */
static uint32_t find_taker(const struct sockets *s, size_t i)
{
    const struct net_socket *n = &s->all.list.a[i];
    struct port port = port_of(s, i);
    uint32_t id;

    port.port = n->peer_port;
    port.addr = n->peer_addr;
    id = index_find(&s->listeners, port_hash(&port), port_equal, &port);
    port.only = 1;
    for (port.space = 0; !id && !is_loopback(n) && port.space < s->spaces.n; port.space++)
        id = index_find(&s->listeners, port_hash(&port), port_equal, &port);
    return id;
}

int64_t sockets_peer(const struct sockets *s, size_t i)
{
    const struct net_socket *n = &s->all.list.a[i];
    const uint64_t *by_ino;
    struct ends ends;
    uint32_t id;

    if (n->family == AF_UNIX) {
        by_ino = n->peer ? map_get(&s->by_ino, n->peer) : NULL;
        return by_ino ? (int64_t)*by_ino - 1 : -1;
    }
    if (!n->peer_port || !n->ino)
        return -1;
    ends = ends_of(s, i, 1);
    id = index_find(&s->by_ends, ends_hash(&ends), ends_equal, &ends);
    if (!id && n->protocol == IPPROTO_UDP) /* the server's end needs not be connected */
        id = find_taker(s, i);
    return (int64_t)id - 1;
}

int sockets_is_server(const struct sockets *s, size_t i)
{
    struct port port = port_of(s, i);

    return index_find(&s->listeners, port_hash(&port), port_equal, &port) != 0;
}
