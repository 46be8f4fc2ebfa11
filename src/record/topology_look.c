/* SPDX-License-Identifier: Apache-2.0 */
#include "record/topology_look.h"

#include "base/io.h"
#include "model/graph_json.h"
#include "topo/topo.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NICE = 10 };
#define NUMA_WALK (4ull << 30) /* 16 ms of the kernel's, in which the target cannot map memory */

/* Both cross one socket between two images of one program. */
struct question {
    uint32_t npids, hops;
    int pids[TOPOLOGY_LOOK_PIDS];
};

struct answer {
    uint64_t bytes; /* of the packed graph that follows; 0: nothing was found */
    uint64_t cpu_ns;
};

/* ---- the process that looks ---- */

static uint64_t cpu_of(int who)
{
    struct rusage r = {0};

    getrusage(who, &r);
    return ((uint64_t)r.ru_utime.tv_sec + (uint64_t)r.ru_stime.tv_sec) * 1000000000u +
           ((uint64_t)r.ru_utime.tv_usec + (uint64_t)r.ru_stime.tv_usec) * 1000u;
}

static void look(int fd, const struct question *q)
{
    struct topo_opts o;
    struct answer a = {0};
    struct buf out = {0};
    struct graph g;
    struct err e = {0};

    topo_opts_init(&o);
    o.pids = q->pids;
    o.npids = q->npids;
    o.narrow = 1;
    o.limits.numa_walk = NUMA_WALK;
    o.hops = q->hops ? q->hops : UINT_MAX;
    graph_init(&g);
    if (!topo_snapshot(&g, &o, &e))
        graph_pack(&g, &out);
    graph_release(&g);
    a.bytes = out.len;
    a.cpu_ns = cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN);
    if (io_write_all(fd, &a, sizeof(a), NULL) || io_write_all(fd, out.data, out.len, NULL))
        _exit(1);
    buf_release(&out);
}

/* Only ends: our own caller's socket and what the parent had open, its BPF links among it, are closed here.
 */
static void look_main(int fd)
{
    struct question q;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, NICE); /* what is recorded goes first */
    dup2(fd, STDIN_FILENO);
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
    while (recv(STDIN_FILENO, &q, sizeof(q), MSG_WAITALL) == sizeof(q))
        look(STDIN_FILENO, &q);
    _exit(0);
}

/* ---- the recorder ---- */

int topology_look_begin(struct topology_look *l, struct err *e)
{
    int pair[2];

    *l = (struct topology_look){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return err_sys(e, errno, "socketpair");
    l->pid = fork();
    if (!l->pid)
        look_main(pair[1]);
    close(pair[1]);
    if (l->pid < 0) {
        close(pair[0]);
        return err_sys(e, errno, "fork");
    }
    l->fd = pair[0];
    return 0;
}

int topology_look_ask(struct topology_look *l, const struct topology_look_how *how, struct err *e)
{
    struct question q = {.hops = how->hops};

    q.npids = how->npids < TOPOLOGY_LOOK_PIDS ? (uint32_t)how->npids : TOPOLOGY_LOOK_PIDS;
    memcpy(q.pids, how->pids, q.npids * sizeof(*q.pids));
    if (send(l->fd, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(q))
        return err_sys(e, errno, "ask for a look");
    l->busy = 1;
    return 0;
}

int topology_look_take(struct topology_look *l, struct graph *g, struct err *e)
{
    struct answer a;
    ssize_t n;
    int rc = 0;

    do {
        buf_reserve(&l->in, 65536);
        n = recv(l->fd, l->in.data + l->in.len, 65536, MSG_DONTWAIT);
        if (n > 0)
            l->in.len += (size_t)n;
    } while (n > 0);
    if (l->in.len >= sizeof(a)) {
        memcpy(&a, l->in.data, sizeof(a));
        if (l->in.len - sizeof(a) >= a.bytes) {
            l->busy = 0;
            l->cpu_ns = a.cpu_ns;
            if (a.bytes)
                rc = graph_unpack(g, l->in.data + sizeof(a), (size_t)a.bytes, e) ? -1 : 1;
            buf_clear(&l->in);
            return rc;
        }
    }
    if (n == 0)
        return err_set(e, "the process that looks at the machine has ended");
    return 0;
}

int topology_look_wait(struct topology_look *l, int ms)
{
    struct pollfd p = {.fd = l->fd, .events = POLLIN};

    return poll(&p, 1, ms) > 0;
}

void topology_look_end(struct topology_look *l)
{
    if (l->fd >= 0)
        close(l->fd);
    if (l->pid > 0) {
        kill(l->pid, SIGKILL);
        while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    buf_release(&l->in);
    *l = (struct topology_look){.fd = -1};
}
