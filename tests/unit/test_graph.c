/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph.h"
#include "model/graph_json.h"
#include "model/graph_ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_id(const struct graph_node *n, const char *want)
{
    struct buf b = {0};

    graph_node_id(n, &b);
    assert_string_equal(buf_str(&b), want);
    buf_release(&b);
}

static void assert_label(const struct graph_node *n, const char *want)
{
    struct buf b = {0};

    graph_node_label(n, &b);
    assert_string_equal(buf_str(&b), want);
    buf_release(&b);
}

static struct graph_node *socket_in(struct graph *g, const char *addr, const char *port, const char *net)
{
    return graph_add(g,
                     &(struct graph_id){.kind = GRAPH_SOCKET, .instance = net, .field = {addr, port, "TCP"}});
}

static void test_ids(void **state)
{
    struct graph g;
    struct graph_node *n;

    graph_init(&g);
    n = graph_process(&g, 12, 1, 777);
    graph_set_str(&g, &n->attrs, "name", "python3");
    assert_id(n, "Process(pid=12,ppid=1)");
    assert_label(n, "python3 (12)");
    assert_id(graph_thread(&g, 13, 0), "Thread(tid=13)");
    assert_id(socket_in(&g, "10.0.0.1", "80", NULL), "Socket(10.0.0.1:80(TCP))");
    assert_id(graph_numbered(&g, GRAPH_NUMA, 0), "Numa(numa0)");
    assert_id(graph_named(&g, GRAPH_NUMA_SET, "0-2,4"), "NumaSet({0-2,4})");
    assert_id(graph_named(&g, GRAPH_CONTAINER, "cac9af6a"), "Container(cac9af6a)");
    n = graph_add(&g, &(struct graph_id){.kind = GRAPH_GPU, .field = {"0", "0000:C1:00.0"}});
    assert_id(n, "GPU(id=0,pci_bus_id=0000:C1:00.0)");
    n = graph_add(&g, &(struct graph_id){.kind = GRAPH_PROCESS, .ns = "host2", .field = {"12", "1"}});
    assert_id(n, "Process(ns=host2,pid=12,ppid=1)");
    assert_label(n, "(12)");
    n = graph_process(&g, 99, -1, 0);
    assert_id(n, "Process(pid=99,ppid=?)");
    graph_process(&g, 99, 3, 0);
    assert_id(n, "Process(pid=99,ppid=3)");
    graph_release(&g);
}

/* A pid that is used again is another process; both say so. One of which only the pid is known is the newest.
 */
static void test_twins(void **state)
{
    struct graph g;
    struct graph_node *a, *b;

    graph_init(&g);
    a = graph_process(&g, 5, 1, 0);
    assert_ptr_equal(graph_process(&g, 5, 1, 100), a); /* now its start is known */
    assert_id(a, "Process(pid=5,ppid=1)");
    b = graph_process(&g, 5, 2, 200);
    assert_ptr_not_equal(a, b);
    assert_id(a, "Process(pid=5,ppid=1,start=100)");
    assert_id(b, "Process(pid=5,ppid=2,start=200)");
    assert_ptr_equal(graph_process(&g, 5, 1, 100), a);
    assert_ptr_equal(graph_process(&g, 5, -1, 0), b);
    a = socket_in(&g, "127.0.0.1", "80", "net1");
    b = socket_in(&g, "127.0.0.1", "080", "net2"); /* a number, however it is written */
    assert_id(a, "Socket(127.0.0.1:80(TCP),net=net1)");
    assert_id(b, "Socket(127.0.0.1:80(TCP),net=net2)");
    assert_int_equal(g.nodes.n, 4);
    graph_release(&g);
}

static void test_edges(void **state)
{
    struct graph g;
    struct graph_node *p, *q;
    struct graph_edge *e;

    graph_init(&g);
    p = graph_process(&g, 1, 0, 0);
    q = graph_process(&g, 2, 1, 0);
    g.source = graph_text(&g, "socket");
    g.time_ns = 50;
    e = graph_edge(&g, GRAPH_EDGE_TCP, q, p); /* without direction: one edge */
    assert_ptr_equal(graph_edge(&g, GRAPH_EDGE_TCP, p, q), e);
    assert_ptr_equal(e->a, p);
    graph_edge_flow(e, q, 100, 2);
    graph_edge_flow(e, p, 7, 1);
    graph_edge_flow(e, q, 100, 2);
    assert_int_equal(e->bytes_ba, 200);
    assert_int_equal(e->messages_ba, 4);
    assert_int_equal(e->bytes_ab, 7);
    assert_true(isnan(e->weight));
    graph_edge_weight(e, 1.5);
    graph_edge_weight(e, 2);
    assert_true(e->weight == 3.5);
    assert_string_equal(e->source, "socket");
    g.source = graph_text(&g, "sock");
    g.time_ns = 60;
    graph_edge(&g, GRAPH_EDGE_TCP, p, q);
    graph_edge(&g, GRAPH_EDGE_TCP, p, q);
    assert_string_equal(e->source, "socket,sock");
    assert_int_equal(e->first_ns, 50);
    assert_int_equal(e->last_ns, 60);
    assert_ptr_not_equal(graph_edge(&g, GRAPH_EDGE_PIPE, p, q), graph_edge(&g, GRAPH_EDGE_PIPE, q, p));
    assert_int_equal(g.edges.n, 3);
    assert_null(graph_find_edge(&g, GRAPH_EDGE_SHM, p, q));
    graph_release(&g);
}

static struct graph *sample(struct graph *g, int backwards)
{
    struct graph_node *p[3], *s;

    graph_init(g);
    g->time_ns = 1700000000000000000;
    g->source = graph_text(g, "test");
    for (int i = 0; i < 3; i++) {
        int k = backwards ? 2 - i : i;

        p[k] = graph_process(g, 8 + k, 1, 100 + (uint64_t)k);
        graph_set_str(g, &p[k]->attrs, "name", k == 1 ? "a \"<b>\n\xc3\xa9\x01" : "worker");
        graph_set_f64(g, &p[k]->attrs, "share", 0.25);
    }
    s = graph_named(g, GRAPH_NUMA_SET, "0");
    graph_set_json(g, &s->attrs, "stats", "{\"hit\":[1,2.0,null]}");
    graph_set_bool(g, &s->attrs, "online", 1);
    graph_set_str(g, &s->attrs, "nothing", NULL);
    if (backwards)
        graph_edge(g, GRAPH_EDGE_NUMA_ACCESS, p[2], s);
    graph_edge_flow(graph_edge(g, GRAPH_EDGE_UNIX, p[0], p[1]), p[0], 10, 1);
    graph_edge_flow(graph_edge(g, GRAPH_EDGE_UNIX, p[0], p[1]), p[1], 20, 3);
    graph_edge_weight(graph_edge(g, GRAPH_EDGE_NUMA_ACCESS, p[2], s), 0.5);
    graph_cover(g, &(struct graph_coverage){
                       .source = "test", .state = "partial", .detail = "some", .seen = 3, .denied = 1});
    return g;
}

static void written(const struct graph *g, struct buf *out)
{
    buf_clear(out);
    graph_json_write(g, 2, out);
}

static void test_json(void **state)
{
    struct graph a, b, c;
    struct buf x = {0}, y = {0};
    struct err e = {0};

    written(sample(&a, 0), &x);
    written(sample(&b, 1), &y);
    assert_string_equal(buf_str(&x), buf_str(&y)); /* the order of finding is not seen */
    graph_init(&c);
    assert_int_equal(graph_json_read(&c, x.data, x.len, &e), 0);
    written(&c, &y);
    assert_string_equal(buf_str(&x), buf_str(&y));
    assert_true(graph_equal(&a, &c));
    assert_non_null(strstr(x.data, "\"bytes_ab\": 10"));
    assert_non_null(strstr(x.data, "\"messages_ba\": 3"));
    graph_release(&a);
    graph_release(&b);
    graph_release(&c);
    buf_release(&x);
    buf_release(&y);
}

#define LOOK(NODES, BYTES)                                                                                   \
    "{\"format\":\"wprof-topology\",\"version\":1,\"nodes\":[{\"id\":\"a\",\"kind\":\"k\"}," NODES "],"      \
    "\"edges\":[{\"kind\":\"e\",\"a\":\"a\",\"b\":\"b\",\"bytes_ab\":" BYTES "}]}\n"
#define B "{\"id\":\"b\",\"kind\":\"k\"}"
#define C ",{\"id\":\"c\",\"kind\":\"k\"}"

static int read_lines(struct graph *g, const char *text, size_t n, struct err *e)
{
    graph_init(g);
    return graph_json_read_lines(g, text, n, e);
}

/* A recorder was killed as it wrote the third. */
static void test_json_lines(void **state)
{
    static const char text[] = LOOK(B C, "5") LOOK(B, "7") LOOK(B, "9");
    struct graph g;
    struct err e = {0};

    assert_true(graph_json_is_lines(text, strlen(text)));
    assert_false(graph_json_is_lines(LOOK(B, "5"), strlen(LOOK(B, "5"))));
    assert_int_equal(read_lines(&g, text, strlen(text) - 10, &e), 0);
    assert_int_equal(g.nodes.n, 3); /* what the first look saw stays */
    assert_int_equal(g.edges.n, 1);
    assert_int_equal(g.edges.a[0]->bytes_ab, 7); /* not 12 */
    graph_release(&g);
    assert_int_equal(read_lines(&g, text, strlen(text) - 1, &e), 0); /* only its newline is missing */
    graph_release(&g);
    assert_int_equal(read_lines(&g, text, 20, &e), -1);
    graph_release(&g);
    assert_int_equal(read_lines(&g, "", 0, &e), -1);
    graph_release(&g);
    assert_int_equal(
        read_lines(&g, LOOK(B, "1") "{}\n" LOOK(B, "2"), strlen(LOOK(B, "1") "{}\n" LOOK(B, "2")), &e), -1);
    assert_non_null(strstr(e.msg, "line 2"));
    graph_release(&g);
}

static void refused(const char *text, const char *why)
{
    struct graph g;
    struct err e = {0};

    graph_init(&g);
    assert_int_equal(graph_json_read(&g, text, strlen(text), &e), -1);
    if (!strstr(e.msg, why))
        fail_msg("'%s' does not say '%s'", e.msg, why);
    graph_release(&g);
}

#define HEAD "{\"format\":\"wprof-topology\",\"version\":1,"

static void test_json_refused(void **state)
{
    refused("{", "line 1");
    refused("[]", "\"format\" is missing");
    refused("{\"format\":\"x\"}", "\"x\"");
    refused("{\"format\":\"wprof-topology\",\"version\":2}", "version 2");
    refused(HEAD "\"nodes\":[{\"id\":\"a\"}]}", "without id or kind");
    refused(HEAD "\"nodes\":[{\"id\":\"a\",\"kind\":\"process\",\"attrs\":{}}]}", "has no pid");
    refused(HEAD "\"nodes\":[],\"edges\":[{\"kind\":\"tcp\",\"a\":\"x\",\"b\":\"y\"}]}", "'x'");
    refused(HEAD "\"nodes\":[{\"id\":\"a\",\"kind\":\"k\"},{\"id\":\"a\",\"kind\":\"k\"}]}", "two nodes");
}

/* What a later wprof calls by names that we don't know is kept. */
static void test_json_unknown(void **state)
{
    static const char text[] =
        HEAD "\"nodes\":[{\"id\":\"Q(1)\",\"kind\":\"quantum\",\"attrs\":{\"spin\":0.5}},"
             "{\"id\":\"Q(2)\",\"kind\":\"quantum\"}],"
             "\"edges\":[{\"kind\":\"entangled\",\"a\":\"Q(1)\",\"b\":\"Q(2)\",\"bytes_ab\":"
             "18446744073709551615}]}";
    struct graph g;

    graph_init(&g);
    assert_int_equal(graph_json_read(&g, text, strlen(text), NULL), 0);
    assert_int_equal(g.nodes.n, 2);
    assert_int_equal(g.nodes.a[0]->kind, GRAPH_OTHER);
    assert_string_equal(graph_attr_str(&g.nodes.a[0]->attrs, "entity_type", ""), "quantum");
    assert_string_equal(graph_attr_str(&g.edges.a[0]->attrs, "relation", ""), "entangled");
    graph_release(&g);
}

static void test_pack(void **state)
{
    struct graph a, b;
    struct buf packed = {0}, x = {0}, y = {0};

    graph_cover(sample(&a, 0), &(struct graph_coverage){"pipe", "partial", "some", 7, 2, 1, 99});
    written(&a, &x);
    graph_pack(&a, &packed);
    graph_init(&b);
    assert_int_equal(graph_unpack(&b, packed.data, packed.len, NULL), 0);
    assert_int_equal(b.coverage.n, a.coverage.n);
    written(&b, &y);
    assert_string_equal(buf_str(&x), buf_str(&y));
    graph_release(&b);
    for (size_t n = 0; n < packed.len; n++) { /* cut off anywhere */
        graph_init(&b);
        assert_int_equal(graph_unpack(&b, packed.data, n, NULL), -1);
        graph_release(&b);
    }
    graph_release(&a);
    buf_release(&packed);
    buf_release(&x);
    buf_release(&y);
}

static void test_merge(void **state)
{
    struct graph a, b, u, d;
    struct graph_edge *e;

    sample(&a, 0);
    sample(&b, 1);
    graph_process(&b, 1000, 1, 0);
    graph_edge(&b, GRAPH_EDGE_OWN, graph_process(&b, 1000, -1, 0), graph_process(&b, 8, -1, 0));
    assert_true(graph_subset(&a, &b));
    assert_false(graph_subset(&b, &a));
    assert_false(graph_equal(&a, &b));

    graph_init(&u);
    graph_union(&u, &a, &b);
    assert_true(graph_equal(&u, &b));
    e = graph_edge_in(&u, a.edges.a[0]);
    assert_non_null(e);
    assert_int_equal(e->bytes_ab + e->bytes_ba, 60); /* side by side: added up, each end to its own */
    assert_int_equal(e->a == graph_node_in(&u, a.nodes.a[0]) ? e->bytes_ab : e->bytes_ba, 20);
    assert_string_equal(e->source, "test");

    graph_init(&d);
    graph_difference(&d, &b, &a);
    assert_int_equal(d.nodes.n, 2); /* the new one, and the end of its edge */
    assert_int_equal(d.edges.n, 1);
    graph_release(&d);

    graph_init(&d); /* a later snapshot of the same */
    graph_merge(&d, &a, GRAPH_LATER, NULL);
    b.edges.a[1]->bytes_ba = 21; /* unix: its a is the one with the greater pid */
    b.edges.a[1]->last_ns += 5;
    graph_merge(&d, &b, GRAPH_LATER, NULL);
    e = graph_edge_in(&d, a.edges.a[0]);
    assert_int_equal(e->bytes_ab, 21);
    assert_int_equal(e->bytes_ba, 20);
    assert_int_equal(e->last_ns - e->first_ns, 5);
    graph_release(&d);

    graph_init(&d); /* another host's */
    graph_merge(&d, &a, GRAPH_BESIDE, NULL);
    graph_merge(&d, &a, GRAPH_BESIDE, "host2");
    assert_int_equal(d.nodes.n, 8);
    assert_int_equal(d.edges.n, 4);
    graph_release(&d);
    graph_release(&u);
    graph_release(&a);
    graph_release(&b);
}

static void test_around(void **state)
{
    struct graph g, out;
    struct graph_node *p[6], *numa;
    struct graph_nodes seeds = {0};

    graph_init(&g);
    for (int i = 0; i < 6; i++)
        p[i] = graph_process(&g, i + 1, 0, 0);
    for (int i = 0; i < 4; i++)
        graph_edge(&g, GRAPH_EDGE_PIPE, p[i + 1], p[i]); /* a chain 5 -> 4 -> ... -> 1 */
    numa = graph_numbered(&g, GRAPH_NUMA, 0);
    graph_edge(&g, GRAPH_EDGE_NUMA_ACCESS, p[0], numa);
    graph_edge(&g, GRAPH_EDGE_NUMA_ACCESS, p[5], numa);
    *vec_push(&seeds.list) = p[0];
    for (unsigned hops = 0; hops <= 5; hops++) {
        static const size_t want[] = {1, 3, 4, 5, 6, 6}; /* never through the NUMA node */

        graph_init(&out);
        graph_around(&out, &g, &seeds, hops);
        assert_int_equal(out.nodes.n, want[hops]);
        graph_release(&out);
    }
    seeds.list.a[0] = numa; /* but from it */
    graph_init(&out);
    graph_around(&out, &g, &seeds, 1);
    assert_int_equal(out.nodes.n, 3);
    assert_int_equal(out.edges.n, 2);
    graph_release(&out);
    vec_release(&seeds.list);
    graph_release(&g);
}

static void test_names(void **state)
{
    struct graph g, out;
    struct err e = {0};

    sample(&g, 0);
    assert_ptr_equal(graph_named_node(&g, "Process(pid=9,ppid=1)", &e), g.nodes.a[1]);
    assert_ptr_equal(graph_named_node(&g, "10", &e), g.nodes.a[2]);
    assert_ptr_equal(graph_named_node(&g, "pid=10", &e), g.nodes.a[2]);
    assert_ptr_equal(graph_named_node(&g, "NumaSet", &e), g.nodes.a[3]);
    assert_null(graph_named_node(&g, "worker", &e));
    assert_non_null(strstr(e.msg, "Process(pid=8,ppid=1), Process(pid=10,ppid=1)"));
    assert_null(graph_named_node(&g, "nobody", &e));
    assert_non_null(strstr(e.msg, "no node 'nobody'"));
    graph_init(&out);
    assert_int_equal(graph_match(&out, &g, "worker"), 2);
    graph_release(&out);
    graph_init(&out);
    assert_int_equal(graph_match(&out, &g, "Process(pid=?,*"), 2);
    assert_int_equal(out.edges.n, 1);
    graph_release(&out);
    graph_release(&g);
}

static void test_groups(void **state)
{
    struct graph g;
    struct graph_group *outer, *inner;
    struct graph_node *n;

    graph_init(&g);
    n = graph_process(&g, 1, 0, 0);
    outer = graph_group(&g, NULL, "cluster_host", "a host");
    inner = graph_group(&g, outer, "cluster_c1", "a container");
    assert_ptr_equal(graph_group(&g, outer, "cluster_c1", "again"), inner);
    graph_group_put(&g, inner, n);
    assert_ptr_equal(n->group->parent, outer);
    assert_string_equal(n->group->label, "a container");
    graph_release(&g);
}

static void test_kinds(void **state)
{
    for (unsigned k = 0; k < GRAPH_KINDS; k++) {
        const struct graph_kind_info *i = graph_kind((enum graph_kind)k);
        unsigned n = 0, marks = 0;

        assert_int_equal(graph_kind_find(i->name), k);
        assert_int_equal(graph_kind_find(i->abbr), k);
        while (graph_field((enum graph_kind)k, n))
            n++;
        for (const char *f = i->format; *f; f++)
            marks += *f == '%';
        assert_int_equal(n, marks); /* each field is shown */
        assert_in_range(i->nkey, 1, n);
    }
    for (unsigned r = 0; r < GRAPH_RELATIONS; r++)
        assert_int_equal(graph_relation_find(graph_relation((enum graph_relation)r)->name), r);
    assert_int_equal(graph_kind_find("nothing"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_twins),        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_json),         cmocka_unit_test(test_json_lines),
        cmocka_unit_test(test_json_refused), cmocka_unit_test(test_json_unknown),
        cmocka_unit_test(test_pack),         cmocka_unit_test(test_merge),
        cmocka_unit_test(test_around),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
