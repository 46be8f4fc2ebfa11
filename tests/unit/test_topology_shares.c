/* SPDX-License-Identifier: Apache-2.0 */
/* The profile on the topology. */
#include "analyze/topology_shares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MS = 1000000 };

static uint32_t add_task(struct store *s, uint32_t pid, uint64_t start_ns, uint64_t cpu_ns)
{
    uint32_t id = tasks_add(&s->tasks, &(struct task){.pid = pid, .tid = pid, .start_ns = start_ns});
    struct task *t = tasks_get(&s->tasks, id);

    t->leader = id;
    t->ns_pid = t->ns_tid = pid;
    t->cpu_ns = cpu_ns;
    return id;
}

static void add_wait(struct store *s, uint32_t task, uint64_t ns, const struct wait *w)
{
    *vec_push(&s->events) = (struct event){
        .kind = EVENT_OFFCPU, .task = task, .dur = ns, .value = 1, .attr = waits_add(&s->waits, w)};
}

static struct graph_node *sock(struct graph *g, const char *addr, const char *port)
{
    return graph_add(g, &(struct graph_id){.kind = GRAPH_SOCKET, .field = {addr, port, "TCP"}});
}

static void assert_waited(const struct graph *g, struct graph_node *a, struct graph_node *b, int64_t ns)
{
    const struct graph_edge *wait = graph_find_edge(g, GRAPH_EDGE_WAIT, a, b),
                            *tcp = graph_find_edge(g, GRAPH_EDGE_TCP, a, b);

    assert_int_equal(wait ? (int64_t)wait->weight : 0, ns);
    assert_int_equal(graph_attr_int(&tcp->attrs, tcp->a == a ? "waited_a_ns" : "waited_b_ns", 0), ns);
}

/* Two processes that talk over loopback; of the waits for it some were ended by an interrupt. */
static void test_interrupts(void **state)
{
    struct store s = {0};
    struct graph g;
    uint32_t a = add_task(&s, 10, 5000 * (uint64_t)MS, 30), b = add_task(&s, 11, 5010 * (uint64_t)MS, 10);
    struct graph_node *p, *q;
    struct wait w = {.reason = WAIT_SOCKET, .irq = 1};

    graph_init(&g);
    p = graph_process(&g, 10, 1, 500);
    q = graph_process(&g, 11, 10, 501);
    graph_edge(&g, GRAPH_EDGE_TCP, p, q);
    graph_edge(&g, GRAPH_EDGE_OWN, p, sock(&g, "127.0.0.1", "40000"));
    graph_edge(&g, GRAPH_EDGE_OWN, q, sock(&g, "127.0.0.1", "80"));
    graph_edge(&g, GRAPH_EDGE_OWN, q, sock(&g, "[::1]", "80"));
    w.what = strtab_add(&s.strings, "tcp 127.0.0.1:40000 - 127.0.0.1:80 nginx[11]");
    add_wait(&s, a, 7 * MS, &w);
    add_wait(&s, a, 1 * MS, &w);
    w.what = strtab_add(&s.strings, "tcp [::1]:40001 - [::1]:80");
    add_wait(&s, a, 2 * MS, &w);
    add_wait(&s, b, 4 * MS, &(struct wait){.reason = WAIT_SOCKET, .waker_task = a}); /* known anyway */
    /* Nobody's: another machine's, not a socket, none that is named. */
    w.what = strtab_add(&s.strings, "tcp 10.0.0.1:40001 - 10.0.0.9:443");
    add_wait(&s, a, 16 * MS, &w);
    w.what = 0;
    add_wait(&s, a, 32 * MS, &w);
    w = (struct wait){
        .reason = WAIT_SLEEP, .irq = 1, .what = strtab_add(&s.strings, "tcp a:1 - 127.0.0.1:80")};
    add_wait(&s, a, 64 * MS, &w);
    topology_shares(&g, &s);
    assert_waited(&g, p, q, 10 * MS);
    assert_waited(&g, q, p, 4 * MS);
    assert_int_equal(graph_attr_int(&p->attrs, "offcpu_ns", 0), 122 * MS);
    assert_int_equal(graph_attr_int(&p->attrs, "io_ns", 0), 58 * MS);
    assert_true(fabs(graph_attr(&p->attrs, "cpu_share")->f - 0.75) < 1e-9);
    graph_release(&g);
    store_release(&s);
}

static int64_t waited(const struct graph_edge *e)
{
    return graph_attr_int(&e->attrs, "waited_a_ns", 0);
}

/* Several channels join two: each wait is on the one that it was for, and a child's end is on none. */
static void test_channels(void **state)
{
    struct store s = {0};
    struct graph g;
    uint32_t a = add_task(&s, 10, 5000 * (uint64_t)MS, 0), b = add_task(&s, 11, 5010 * (uint64_t)MS, 0);
    struct graph_node *p, *q;
    struct graph_edge *tcp, *unix_edge, *out, *in;
    struct wait w = {.waker_task = b};

    graph_init(&g);
    p = graph_process(&g, 10, 1, 500);
    q = graph_process(&g, 11, 10, 501);
    tcp = graph_edge(&g, GRAPH_EDGE_TCP, p, q);
    unix_edge = graph_edge(&g, GRAPH_EDGE_UNIX, p, q);
    out = graph_edge(&g, GRAPH_EDGE_PIPE, p, q);
    in = graph_edge(&g, GRAPH_EDGE_PIPE, q, p);
    tcp->bytes_ba = 2;
    in->bytes_ab = 40;
    w.reason = WAIT_PIPE;
    w.what = strtab_add(&s.strings, "pipe:[7] <- python3[11]");
    add_wait(&s, a, MS, &w);
    w.reason = WAIT_POLL;
    add_wait(&s, a, 2 * MS, &w);
    w.what = strtab_add(&s.strings, "unix:[8] - python3[11]");
    add_wait(&s, a, 4 * MS, &w);
    w.what = strtab_add(&s.strings, "tcp 127.0.0.1:40000 - 127.0.0.1:80 python3[11]");
    add_wait(&s, a, 8 * MS, &w);
    w = (struct wait){.waker_task = b, .reason = WAIT_CHILD};
    add_wait(&s, a, 16 * MS, &w);
    w.reason = WAIT_POLL; /* for several at once: two of them carry something */
    add_wait(&s, a, 32 * MS, &w);
    topology_shares(&g, &s);
    assert_int_equal(waited(tcp), 8 * MS);
    assert_int_equal(waited(unix_edge), 4 * MS);
    assert_int_equal(graph_attr_int(&in->attrs, "waited_b_ns", 0), 3 * MS);
    assert_int_equal(waited(out) + graph_attr_int(&out->attrs, "waited_b_ns", 0), 0);
    assert_int_equal(graph_find_edge(&g, GRAPH_EDGE_WAIT, p, q)->weight, 63 * MS);
    graph_release(&g);
    store_release(&s);
}

/* Whose wait it was for is not known where several processes have the socket. */
static void test_inherited(void **state)
{
    struct store s = {0};
    struct graph g;
    uint32_t a = add_task(&s, 10, 5000 * (uint64_t)MS, 0);
    struct wait w = {.reason = WAIT_SOCKET, .irq = 1};
    struct graph_node *socket;

    graph_init(&g);
    graph_process(&g, 10, 1, 500);
    socket = sock(&g, "127.0.0.1", "80");
    graph_edge(&g, GRAPH_EDGE_OWN, graph_process(&g, 11, 1, 500), socket);
    graph_edge(&g, GRAPH_EDGE_OWN, graph_process(&g, 12, 1, 500), socket);
    w.what = strtab_add(&s.strings, "tcp 127.0.0.1:40000 - 127.0.0.1:80");
    add_wait(&s, a, MS, &w);
    topology_shares(&g, &s);
    for (size_t i = 0; i < g.edges.n; i++)
        assert_int_not_equal(g.edges.a[i]->kind, GRAPH_EDGE_WAIT);
    graph_release(&g);
    store_release(&s);
}

/* Two processes of one pid, after another. */
static void test_pid_again(void **state)
{
    struct store s = {0};
    struct graph g;
    struct graph_node *first, *second;

    add_task(&s, 10, 5000 * (uint64_t)MS, 100);
    add_task(&s, 10, 7009 * (uint64_t)MS, 300);
    graph_init(&g);
    first = graph_process(&g, 10, 1, 500);
    second = graph_process(&g, 10, 1, 700);
    assert_ptr_not_equal(first, second);
    graph_set_f64(&g, &first->attrs, "cpu_s", 2.5);
    topology_shares(&g, &s);
    assert_null(graph_attr(&first->attrs, "cpu_s"));
    assert_int_equal(graph_attr_int(&first->attrs, "cpu_ns", 0), 100);
    assert_int_equal(graph_attr_int(&second->attrs, "cpu_ns", 0), 300);
    graph_release(&g);
    store_release(&s);
}

/* What ran on a device for them; calls that asked for it are the host's. */
static void test_gpu(void **state)
{
    struct store s = {0};
    struct graph g;
    uint32_t a = add_task(&s, 10, 5000 * (uint64_t)MS, 1), b = add_task(&s, 11, 5010 * (uint64_t)MS, 1);
    uint32_t kernel = gpu_works_add(&s.gpus, &(struct gpu_work){.op = GPU_KERNEL, .device = 1}),
             call = gpu_works_add(&s.gpus, &(struct gpu_work){.op = GPU_RUNTIME});
    struct graph_node *p, *q;

    graph_init(&g);
    p = graph_process(&g, 10, 1, 500);
    q = graph_process(&g, 11, 10, 501);
    topology_shares(&g, &s);
    assert_null(graph_attr(&p->attrs, "gpu_ns"));
    *vec_push(&s.events) = (struct event){.kind = EVENT_GPU, .task = a, .dur = 3 * MS, .attr = kernel};
    *vec_push(&s.events) = (struct event){.kind = EVENT_GPU, .task = a, .dur = 9 * MS, .attr = call};
    *vec_push(&s.events) = (struct event){.kind = EVENT_GPU, .task = b, .dur = 1 * MS, .attr = kernel};
    topology_shares(&g, &s);
    assert_int_equal(graph_attr_int(&p->attrs, "gpu_ns", 0), 3 * MS);
    assert_int_equal(graph_attr_int(&q->attrs, "gpu_ns", 0), 1 * MS);
    assert_true(fabs(graph_attr(&q->attrs, "gpu_share")->f - 0.25) < 1e-9);
    graph_release(&g);
    store_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupts), cmocka_unit_test(test_channels), cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_pid_again),  cmocka_unit_test(test_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
