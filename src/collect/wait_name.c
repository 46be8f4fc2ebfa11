/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/wait_name.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "collect/wait_class.h"
#include "model/store_visit.h"
#include "platform/clock.h"
#include "platform/proctask.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIX_AGAIN_NS 500000000ull
#define TCP_AGAIN_NS  2000000000ull
#define NO_PEER       (1ull << 63) /* with the time; inodes of sockets have 32 bits */

enum { PEERS_MAX = 3, SOCKETS_MAX = 1 << 16 /* that are remembered */ };

void wait_namer_init(struct wait_namer *n, struct store *s, struct track *t)
{
    *n = (struct wait_namer){.store = s, .track = t};
}

void wait_namer_ids(struct wait_namer *n, struct store_visit *v)
{
    store_visit_cache(v, &n->names);
}

void wait_namer_release(struct wait_namer *n)
{
    map_release(&n->names);
    map_release(&n->peers);
    wait_holders_release(&n->holders);
    net_sockets_release(&n->unix_sockets);
    net_sockets_release(&n->tcp_sockets);
}

/* ---- peers ---- */

/* Followed processes first: a peer is mostly one of them. */
static size_t holders_of(struct wait_namer *n, uint64_t ino, size_t *first)
{
    const struct processes *ps = track_processes(n->track);
    uint64_t now = clock_monotonic();
    VEC(pid_t) pids = {0};
    size_t found;

    for (size_t i = 0; i < ps->list.n; i++)
        if (ps->list.a[i]->ns_tgid && !ps->list.a[i]->gone)
            *vec_push(&pids) = (pid_t)ps->list.a[i]->ns_tgid;
    wait_holders_read(&n->holders, ino, pids.a, pids.n, now);
    vec_release(&pids);
    found = wait_holders_of(&n->holders, ino, first);
    return found;
}

/* "python3[42]"; only the number where the process is gone, or was never ours to see. */
static void add_process(struct wait_namer *n, pid_t pid, struct buf *out)
{
    const struct process *p = processes_find_ns(track_processes(n->track), (uint32_t)pid);
    const struct task *leader = p ? tasks_get(&n->store->tasks, p->leader) : NULL;
    unsigned number = p ? p->tgid : (unsigned)pid;
    struct buf comm = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    if (!io_read_file(AT_FDCWD, path, &comm, NULL) && comm.len)
        buf_addf(out, "%.*s[%u]", (int)strcspn(comm.data, "\n"), comm.data, number);
    else if (leader)
        buf_addf(out, "%s[%u]", strtab_get(&n->store->strings, leader->comm), number);
    else
        buf_addf(out, "%u", number);
    buf_release(&comm);
}

/* The processes other than `own` that hold `ino` open in one of `modes`. Gives how many were added. */
static int add_holders(struct wait_namer *n, uint64_t ino, uint8_t modes, pid_t own, const char *before,
                       struct buf *out)
{
    size_t first, count = holders_of(n, ino, &first);
    pid_t last = own;
    int added = 0, more = 0;

    for (size_t i = first; i < first + count; i++) {
        const struct wait_holder *h = &n->holders.list.a[i];

        if (h->pid == own || h->pid == last || !(h->modes & modes))
            continue;
        last = h->pid;
        if (added == PEERS_MAX) {
            more++;
            continue;
        }
        buf_addstr(out, added++ ? ", " : before);
        add_process(n, h->pid, out);
    }
    if (more)
        buf_addf(out, " and %d more", more);
    return added;
}

static void add_peers(struct wait_namer *n, uint64_t ino, uint8_t modes, pid_t own, const char *before,
                      struct buf *out)
{
    if (!add_holders(n, ino, modes, own, before, out) &&
        wait_holders_read_all(&n->holders, clock_monotonic()))
        add_holders(n, ino, modes, own, before, out);
}

/* ---- descriptors ---- */

static int writes(const struct wire_wait *w)
{
    const char *call = wait_syscall(w->syscall);

    return call && !strncmp(call, "write", 5);
}

static void add_pipe(struct wait_namer *n, const struct process *p, const struct wire_wait *w,
                     struct buf *out)
{
    int out_of = writes(w);

    buf_addf(out, "pipe:[%llu]", (unsigned long long)w->ino);
    add_peers(n, w->ino, out_of ? HOLDER_READS : HOLDER_WRITES, (pid_t)p->ns_tgid, out_of ? " -> " : " <- ",
              out);
}

static void add_address(const struct net_socket *s, int peer, struct buf *out)
{
    const uint8_t *addr = peer ? s->peer_addr : s->addr;
    char text[INET6_ADDRSTRLEN];

    if (!inet_ntop(s->family, addr, text, sizeof(text)))
        return;
    buf_addf(out, s->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, peer ? s->peer_port : s->port);
}

/* 1: `since` was long enough ago, and is now. */
static int due(uint64_t *since, uint64_t every)
{
    uint64_t now = clock_monotonic();

    if (*since && now - *since < every)
        return 0;
    *since = now;
    return 1;
}

/* One that has no peer yet may have one by now. */
static const struct net_socket *find_socket(struct wait_namer *n, uint32_t ino)
{
    const struct net_socket *s = net_sockets_find(&n->unix_sockets, ino);

    if ((!s || !s->peer) && due(&n->unix_ns, UNIX_AGAIN_NS)) {
        vec_clear(&n->unix_sockets.list);
        net_sockets_read_unix(&n->unix_sockets, NULL);
        s = net_sockets_find(&n->unix_sockets, ino);
    }
    if (s)
        return s;
    s = net_sockets_find(&n->tcp_sockets, ino);
    if ((!s || !s->peer_port) && due(&n->tcp_ns, TCP_AGAIN_NS)) {
        vec_clear(&n->tcp_sockets.list);
        net_sockets_read_tcp(&n->tcp_sockets, NULL);
        s = net_sockets_find(&n->tcp_sockets, ino);
    }
    return s;
}

static void add_socket(struct wait_namer *n, const struct process *p, const struct wire_wait *w,
                       struct buf *out)
{
    const struct net_socket *s = find_socket(n, (uint32_t)w->ino), *peer;

    if (!s) { /* another family's, or of another network namespace */
        buf_addf(out, "socket:[%llu]", (unsigned long long)w->ino);
        return;
    }
    peer = net_sockets_peer(s->family == AF_UNIX ? &n->unix_sockets : &n->tcp_sockets, s);
    if (s->family == AF_UNIX) {
        const char *path = s->path[0] || !peer ? s->path : peer->path;

        buf_addf(out, "unix:[%llu]", (unsigned long long)w->ino);
        if (path[0])
            buf_addf(out, " %s", path);
    } else {
        buf_addstr(out, "tcp ");
        add_address(s, 0, out);
        if (s->peer_port) {
            buf_addstr(out, " - ");
            add_address(s, 1, out);
        }
    }
    if (peer)
        add_peers(n, peer->ino, HOLDER_READS | HOLDER_WRITES, peer->ino == s->ino ? 0 : (pid_t)p->ns_tgid,
                  s->family == AF_UNIX ? " - " : " ", out);
}

uint64_t wait_peer_socket(struct wait_namer *n, const struct wire_wait *w)
{
    uint64_t *known = map_get(&n->peers, w->ino);
    const struct net_socket *s, *peer = NULL;

    if (known && !(*known & NO_PEER))
        return *known;
    if (known && clock_monotonic() - (*known & ~NO_PEER) < TCP_AGAIN_NS)
        return 0;
    s = find_socket(n, (uint32_t)w->ino);
    if (s)
        peer = net_sockets_peer(s->family == AF_UNIX ? &n->unix_sockets : &n->tcp_sockets, s);
    if (n->peers.n >= SOCKETS_MAX)
        map_release(&n->peers);
    *map_put(&n->peers, w->ino) = peer ? peer->ino : NO_PEER | clock_monotonic();
    return peer ? peer->ino : 0;
}

static size_t list_holders(struct wait_namer *n, uint64_t ino, uint8_t modes, pid_t own, pid_t *out,
                           size_t max)
{
    size_t first, count = holders_of(n, ino, &first), found = 0;

    for (size_t i = first; i < first + count && found < max; i++) {
        const struct wait_holder *h = &n->holders.list.a[i];

        if (h->pid != own && (h->modes & modes) && (!found || out[found - 1] != h->pid))
            out[found++] = h->pid;
    }
    return found;
}

size_t wait_peers(struct wait_namer *n, const struct process *p, const struct wire_wait *w, pid_t *out,
                  size_t max)
{
    uint8_t modes = HOLDER_READS | HOLDER_WRITES;
    uint64_t ino = w->ino;
    size_t found;

    if (S_ISFIFO(w->mode)) {
        modes = writes(w) ? HOLDER_READS : HOLDER_WRITES;
    } else if (S_ISSOCK(w->mode)) {
        ino = wait_peer_socket(n, w);
        if (!ino)
            return 0;
    } else {
        return 0;
    }
    found = list_holders(n, ino, modes, (pid_t)p->ns_tgid, out, max);
    if (!found && wait_holders_read_all(&n->holders, clock_monotonic()))
        found = list_holders(n, ino, modes, (pid_t)p->ns_tgid, out, max);
    return found;
}

/* A file by its path, as far as the descriptor is still the same file's. */
static void add_file(const struct process *p, const struct wire_wait *w, struct buf *out)
{
    char path[64], link[4096];
    struct stat st;
    ssize_t n = -1;

    snprintf(path, sizeof(path), "/proc/%u/fd/%d", p->ns_tgid, w->fd);
    if (p->ns_tgid && !stat(path, &st) && st.st_ino == w->ino)
        n = readlink(path, link, sizeof(link) - 1);
    if (n > 0)
        buf_add(out, link, (size_t)n);
    else
        buf_addf(out, "inode %llu", (unsigned long long)w->ino);
}

static void add_descriptor(struct wait_namer *n, const struct process *p, const struct wire_wait *w,
                           struct buf *out)
{
    if (S_ISFIFO(w->mode))
        add_pipe(n, p, w, out);
    else if (S_ISSOCK(w->mode))
        add_socket(n, p, w, out);
    else if (w->ino)
        add_file(p, w, out);
}

/* ---- calls ---- */

static void add_call(const struct wire_wait *w, struct buf *out)
{
    const char *call = wait_syscall(w->syscall);

    if (call)
        buf_addstr(out, call);
    else if (w->syscall >= 0)
        buf_addf(out, "system call %d", w->syscall);
}

/* The number is of the process's own pid namespace: known to us where that is ours. */
static void add_child(struct wait_namer *n, const struct process *p, const struct wire_wait *w,
                      struct buf *out)
{
    const char *call = wait_syscall(w->syscall);
    int waitid = call && !strcmp(call, "waitid"), pid = (int)(waitid ? w->arg1 : w->arg0);

    add_call(w, out);
    if (call && strncmp(call, "wait", 4))
        return;
    if (pid > 0 && p && p->own_tgid == p->ns_tgid) {
        buf_addch(out, ' ');
        add_process(n, pid, out);
    } else if (pid > 0)
        buf_addf(out, " %d", pid);
    else
        buf_addstr(out, " of any child");
}

/* The thread of p that has this id in the innermost namespace, as wprof sees it; 0. */
static pid_t find_thread(const struct process *p, uint32_t own)
{
    struct pid_list ids = {0};
    struct proctask st;
    pid_t found = 0;

    if (p->own_tgid == p->ns_tgid)
        return proctask_stat((pid_t)p->ns_tgid, (pid_t)own, &st) ? 0 : (pid_t)own;
    proctask_threads((pid_t)p->ns_tgid, &ids);
    for (size_t i = 0; i < ids.list.n && !found; i++)
        if (proctask_own_tid((pid_t)p->ns_tgid, ids.list.a[i]) == own)
            found = ids.list.a[i];
    vec_release(&ids.list);
    return found;
}

/* A mutex in shared memory may be another process's, and what only looked like one has no owner: not said. */
static void add_owner(const struct process *p, uint32_t own, struct buf *out)
{
    pid_t tid = find_thread(p, own);
    struct proctask st;

    if (tid && !proctask_stat((pid_t)p->ns_tgid, tid, &st))
        buf_addf(out, " (mutex, held by %s[%d])", st.comm, (int)tid);
}

/* flock(2), whose descriptor does not tell what kind of wait it is. */
static int is_file_lock(const struct wire_wait *w)
{
    const char *call = w->reason == WAIT_LOCK ? wait_syscall(w->syscall) : NULL;

    return call && !strcmp(call, "flock");
}

/* The file's path, else the call. */
static void add_locked(const struct process *p, const struct wire_wait *w, struct buf *out)
{
    char path[64], link[4096];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%u/fd/%d", p->ns_tgid, (int)w->arg0);
    n = p->ns_tgid ? readlink(path, link, sizeof(link) - 1) : -1;
    if (n > 0)
        buf_add(out, link, (size_t)n);
    else
        add_call(w, out);
}

static void spell(struct wait_namer *n, const struct process *p, const struct wire_wait *w, struct buf *out)
{
    switch (w->reason) {
    case WAIT_FUTEX:
        buf_addf(out, "futex 0x%llx", (unsigned long long)w->arg0);
        if (w->owner && p)
            add_owner(p, w->owner, out);
        break;
    case WAIT_CHILD:
        add_child(n, p, w, out);
        break;
    case WAIT_POLL:
        if (w->fd >= 0 && w->mode && p)
            add_descriptor(n, p, w, out);
        break;
    case WAIT_SLEEP:
    case WAIT_FAULT:
        break;
    default:
        if (is_file_lock(w) && p)
            add_locked(p, w, out);
        else if (w->fd >= 0 && w->mode && p)
            add_descriptor(n, p, w, out);
        else
            add_call(w, out);
    }
}

uint32_t wait_name(struct wait_namer *n, const struct process *p, const struct wire_wait *w)
{
    uint64_t who = p ? p->tgid : 0, key, *known;
    struct buf text = {0};
    uint32_t id;

    key = hash_mix(who << 32 | (uint32_t)w->fd, w->ino);
    key = hash_mix(key, (uint64_t)(uint32_t)w->syscall << 32 | w->reason);
    if (w->reason == WAIT_FUTEX || w->reason == WAIT_CHILD || is_file_lock(w))
        key = hash_mix(hash_mix(key, w->arg0), w->arg1);
    if (w->owner)
        key = hash_mix(key, w->owner);
    known = map_get(&n->names, key);
    if (known)
        return (uint32_t)*known;
    spell(n, p, w, &text);
    id = text.len ? strtab_addn(&n->store->strings, text.data, text.len) : 0;
    *map_put(&n->names, key) = id;
    buf_release(&text);
    return id;
}
