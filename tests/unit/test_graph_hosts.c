/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs of several hosts as one. */
#include "model/graph_hosts.h"
#include "model/graph_ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct graph_node *sock(struct graph *g, const char *addr, const char *port, const char *net)
{
    return graph_add(g,
                     &(struct graph_id){.kind = GRAPH_SOCKET, .instance = net, .field = {addr, port, "TCP"}});
}

/* A process with a socket that is connected to another host's: what it sent and got. */
static struct graph_node *connection(struct graph *g, int64_t pid, const char *addr, const char *port,
                                     const char *peer, const char *peer_port, uint64_t sent, uint64_t got)
{
    struct graph_node *p = graph_process(g, pid, 1, 0), *mine = sock(g, addr, port, "4026531840"),
                      *theirs = sock(g, peer, peer_port, NULL);
    int serves = strlen(port) < strlen(peer_port);
    struct graph_edge *e;

    graph_edge(g, GRAPH_EDGE_OWN, p, mine);
    e = graph_edge(g, GRAPH_EDGE_CONNECT, serves ? theirs : mine, serves ? mine : theirs);
    graph_edge_flow(e, mine, sent, 1);
    graph_edge_flow(e, theirs, got, 2);
    graph_edge_weight(e, 1);
    return p;
}

static void join(struct graph *out, struct graph *a, struct graph *b, const char *name,
                 struct graph_hosts_joined *joined)
{
    graph_add_host(a, b, name);
    graph_init(out);
    graph_join_hosts(out, a, joined);
}

static const struct graph_node *named(const struct graph *g, const char *id)
{
    struct err e = {0};
    const struct graph_node *n = graph_named_node(g, id, &e);

    if (!n)
        fail_msg("%s", e.msg);
    return n;
}

static void test_join(void **state)
{
    struct graph_hosts_joined joined;
    struct graph a, b, out;
    struct graph_edge *e;

    graph_init(&a);
    graph_init(&b);
    connection(&a, 10, "10.0.0.1", "40000", "10.0.0.2", "80", 100, 7);
    connection(&a, 10, "127.0.0.1", "40001", "127.0.0.1", "81", 5, 5);
    connection(&a, 10, "10.0.0.1", "40002", "10.0.0.9", "443", 1, 1);
    connection(&b, 10, "10.0.0.2", "80", "10.0.0.1", "40000", 9, 90); /* looked earlier there, later here */
    connection(&b, 11, "127.0.0.1", "81", "127.0.0.1", "40001", 5, 5);
    graph_cover(&a, &(struct graph_coverage){.source = "socket", .state = "ok", .seen = 3});
    graph_cover(&b, &(struct graph_coverage){.source = "socket", .state = "partial", .seen = 2});
    join(&out, &a, &b, "node2", &joined);
    assert_int_equal(joined.connections, 1);
    assert_int_equal(joined.ambiguous, 0);
    /* Each end's picture of the other is gone; loopback and the one to a third host stay. */
    assert_int_equal(out.nodes.n, a.nodes.n - 2);
    e = graph_find_edge(&out, GRAPH_EDGE_CONNECT, (void *)named(&out, "Socket(10.0.0.1:40000(TCP))"),
                        (void *)named(&out, "Socket(ns=node2,10.0.0.2:80(TCP))"));
    assert_non_null(e);
    assert_int_equal(e->bytes_ab, 100);
    assert_int_equal(e->bytes_ba, 9);
    assert_true(e->weight == 1);
    e = graph_find_edge(&out, GRAPH_EDGE_TCP, (void *)named(&out, "Process(pid=10,ppid=1)"),
                        (void *)named(&out, "Process(ns=node2,pid=10,ppid=1)"));
    assert_non_null(e);
    assert_int_equal(e->a->ns == e->b->ns, 0);
    assert_int_equal(e->bytes_ab + e->bytes_ba, 109);
    assert_int_equal(out.coverage.n, 2);
    assert_string_equal(out.coverage.a[0].state, "ok");
    assert_string_equal(out.coverage.a[1].source, "node2:socket");
    graph_release(&out);
    graph_release(&a);
    graph_release(&b);
}

/* Two hosts that both have 10.0.0.2:80 connected to 10.0.0.1:40000, in networks that do not know each other.
 */
static void test_ambiguous(void **state)
{
    struct graph_hosts_joined joined;
    struct graph a, b, out;

    graph_init(&a);
    graph_init(&b);
    connection(&a, 10, "10.0.0.1", "40000", "10.0.0.2", "80", 1, 1);
    connection(&b, 20, "10.0.0.2", "80", "10.0.0.1", "40000", 1, 1);
    graph_add_host(&a, &b, "node3");
    join(&out, &a, &b, "node2", &joined);
    assert_int_equal(joined.connections, 0);
    assert_int_equal(joined.ambiguous, 1);
    assert_true(graph_equal(&out, &a));
    graph_release(&out);
    graph_release(&a);
    graph_release(&b);
}

/* Whose worker it was that took the connection is not known. */
static void test_workers(void **state)
{
    struct graph_hosts_joined joined;
    struct graph a, b, out;
    unsigned edges = 0;

    graph_init(&a);
    graph_init(&b);
    connection(&a, 10, "10.0.0.1", "40000", "10.0.0.2", "80", 100, 7);
    connection(&b, 20, "10.0.0.2", "80", "10.0.0.1", "40000", 7, 100);
    connection(&b, 21, "10.0.0.2", "80", "10.0.0.1", "40005", 3, 3);
    join(&out, &a, &b, "node2", &joined);
    assert_int_equal(joined.connections, 1);
    for (size_t i = 0; i < out.edges.n; i++) {
        const struct graph_edge *e = out.edges.a[i];

        if (e->kind != GRAPH_EDGE_TCP)
            continue;
        edges++;
        assert_true(e->confidence == 0.5);
        assert_int_equal(e->bytes_ab + e->bytes_ba, 0);
    }
    assert_int_equal(edges, 2);
    graph_release(&out);
    graph_release(&a);
    graph_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_ambiguous),
        cmocka_unit_test(test_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
