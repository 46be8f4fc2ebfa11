/* SPDX-License-Identifier: Apache-2.0 */
/* A look at a few processes finds what a whole snapshot, reduced to them, finds. */
#include "model/graph_ops.h"
#include "topo/topo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What joins the processes below: made before they are, closed in whoever is not at an end. */
struct means {
    int pipe[2], pair[2], event, memory, tcp[2], done[2];
    char fifo[64];
};

struct people {
    pid_t target, child, peer, far, shares;
};

/* Leaves `n` descriptors and those of stdio, which are nobody's. */
static void keep(const int *fds, size_t n)
{
    int null = open("/dev/null", O_RDWR);

    for (int i = 0; i < 3; i++)
        dup2(null, i);
    for (int fd = 3; fd < 1024; fd++) {
        int kept = 0;

        for (size_t i = 0; i < n; i++)
            kept |= fds[i] == fd;
        if (!kept)
            close(fd);
    }
    syscall(SYS_close_range, 1024, ~0u, 0);
}

static void map_it(int fd)
{
    volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (p == MAP_FAILED)
        _exit(1);
    p[0]++;
}

/* A process that has some of them; `done` is closed when it is as it is to be seen. */
static pid_t make(const struct means *m, const int *fds, size_t n, int maps, int opens_fifo)
{
    pid_t pid = fork();

    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    keep(fds, n);
    if (maps)
        map_it(m->memory);
    if (maps && n == 2) /* the mapping stays without it */
        close(m->memory);
    if (opens_fifo && open(m->fifo, O_RDWR) < 0)
        _exit(1);
    close(m->done[1]);
    pause();
    _exit(0);
}

static int connection(int ends[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    int rc;

    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    rc = bind(server, (struct sockaddr *)&at, len) || listen(server, 1) ||
         getsockname(server, (struct sockaddr *)&at, &len) || connect(ends[0], (struct sockaddr *)&at, len);
    ends[1] = rc ? -1 : accept(server, NULL, NULL);
    close(server);
    return ends[1] < 0 ? -1 : 0;
}

static void make_means(struct means *m)
{
    snprintf(m->fifo, sizeof(m->fifo), "/tmp/wprof-narrow-%d", getpid());
    assert_int_equal(mkfifo(m->fifo, 0600), 0);
    assert_int_equal(pipe(m->pipe), 0);
    assert_int_equal(pipe(m->done), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, m->pair), 0);
    assert_int_equal(connection(m->tcp), 0);
    m->event = eventfd(0, 0);
    m->memory = memfd_create("wprof-narrow", 0);
    assert_int_equal(ftruncate(m->memory, 4096), 0);
}

/* The target with a child; who it talks to; who that one talks to; who maps the same memory and no more. */
static void make_people(struct people *p, struct means *m)
{
    int a[] = {m->pipe[1], m->pair[0], m->event, m->memory, m->done[1]},
        b[] = {m->pipe[0], m->pair[1], m->event, m->tcp[0], m->done[1]}, c[] = {m->tcp[1], m->done[1]},
        d[] = {m->memory, m->done[1]}, none[] = {m->done[1]};
    char end;

    p->target = fork();
    if (!p->target) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        keep(a, 5);
        p->child = make(m, none, 1, 0, 0);
        map_it(m->memory);
        if (open(m->fifo, O_RDWR) < 0)
            _exit(1);
        close(m->done[1]);
        pause();
        _exit(0);
    }
    p->peer = make(m, b, 5, 0, 1);
    p->far = make(m, c, 2, 0, 0);
    p->shares = make(m, d, 2, 1, 0);
    close(m->done[1]);
    assert_int_equal(read(m->done[0], &end, 1), 0); /* all of them have closed it */
    close(m->done[0]);
    for (int i = 0; i < 2; i++) {
        close(m->pipe[i]);
        close(m->pair[i]);
        close(m->tcp[i]);
    }
    close(m->event);
    close(m->memory);
}

static void end_people(struct people *p, const struct means *m)
{
    pid_t all[] = {p->target, p->peer, p->far, p->shares};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        kill(all[i], SIGKILL);
        waitpid(all[i], NULL, 0);
    }
    unlink(m->fifo);
}

static struct graph_node *process(const struct graph *g, pid_t pid)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", pid);
    return graph_find(g, &(struct graph_id){.kind = GRAPH_PROCESS, .field = {text}});
}

static void snapshot(struct graph *g, pid_t pid, unsigned hops, int narrow)
{
    struct topo_opts o;
    struct err e = {0};

    topo_opts_init(&o);
    o.pids = &pid;
    o.npids = 1;
    o.hops = hops;
    o.narrow = narrow;
    graph_init(g);
    assert_int_equal(topo_snapshot(g, &o, &e), 0);
}

static int is_joined(const struct graph *g, enum graph_relation kind, pid_t a, pid_t b)
{
    struct graph_node *x = process(g, a), *y = process(g, b);

    return x && y && graph_find_edge(g, kind, x, y);
}

static void test_same(void **state)
{
    static const unsigned reach[] = {0, 1, 2, 3, UINT_MAX};
    struct people p;
    struct means m;

    make_means(&m);
    make_people(&p, &m);
    for (size_t i = 0; i < ARRAY_SIZE(reach); i++) {
        unsigned hops = reach[i];
        struct graph whole, narrow;

        snapshot(&whole, p.target, hops, 0);
        snapshot(&narrow, p.target, hops, 1);
        if (!graph_equal(&whole, &narrow))
            fail_msg("%u hops: %zu nodes and %zu edges, %zu and %zu in a whole snapshot", hops,
                     narrow.nodes.n, narrow.edges.n, whole.nodes.n, whole.edges.n);
        if (hops >= 1) {
            assert_true(is_joined(&narrow, GRAPH_EDGE_PIPE, p.target, p.peer));
            assert_true(is_joined(&narrow, GRAPH_EDGE_UNIX, p.target, p.peer));
            assert_true(is_joined(&narrow, GRAPH_EDGE_EVENTFD, p.target, p.peer));
            assert_true(is_joined(&narrow, GRAPH_EDGE_FIFO, p.target, p.peer));
            assert_true(is_joined(&narrow, GRAPH_EDGE_SHM, p.target, p.shares));
            assert_non_null(graph_attr(&process(&narrow, p.peer)->attrs, "cmdline"));
        }
        if (hops >= 2)
            assert_true(is_joined(&narrow, GRAPH_EDGE_TCP, p.peer, p.far));
        graph_release(&whole);
        graph_release(&narrow);
    }
    end_people(&p, &m);
}

static void test_gone(void **state)
{
    struct topo_opts o;
    struct graph g;
    struct err e = {0};
    pid_t pid = fork();

    if (!pid)
        _exit(0);
    waitpid(pid, NULL, 0);
    topo_opts_init(&o);
    o.pids = &pid;
    o.npids = 1;
    o.narrow = 1;
    graph_init(&g);
    assert_int_equal(topo_snapshot(&g, &o, &e), -1);
    assert_non_null(strstr(e.msg, "no such process"));
    graph_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_gone)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
