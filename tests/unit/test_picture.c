/* SPDX-License-Identifier: Apache-2.0 */
#include "render/apart.h"
#include "render/crowd.h"
#include "render/picture.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct graph_node *process(struct graph *g, int pid, const char *name)
{
    struct graph_node *n = graph_process(g, pid, 1, 0);

    graph_set_str(g, &n->attrs, "name", name);
    return n;
}

/* A container of `n` processes named worker-1, worker-2 ..., each with two threads. */
static void add_workers(struct graph *g, const char *container, int first, int n)
{
    struct graph_node *in = graph_named(g, GRAPH_CONTAINER, container);

    for (int i = 0; i < n; i++) {
        char name[32];
        struct graph_node *p;

        snprintf(name, sizeof(name), "worker-%d", i);
        p = process(g, first + i, name);
        graph_edge(g, GRAPH_EDGE_HOST, in, p);
        for (int t = 0; t < 2; t++)
            graph_edge(g, GRAPH_EDGE_OWN, p, graph_thread(g, (first + i) * 10 + t, 0));
    }
}

static void fold(struct picture *p, const struct graph *g, size_t max)
{
    picture_init(p, g, &(struct picture_opts){.max_nodes = max});
}

static const struct picture_node *find(const struct picture *p, const char *label)
{
    for (size_t i = 0; i < p->nodes.n; i++)
        if (!strcmp(p->nodes.a[i].label, label))
            return &p->nodes.a[i];
    return NULL;
}

static void test_folds_in_turn(void **state)
{
    struct graph g;
    struct picture p;

    graph_init(&g);
    add_workers(&g, "one", 100, 6);
    add_workers(&g, "two", 200, 4);
    fold(&p, &g, 0); /* not at all: all but the two containers, which are boxes */
    assert_int_equal(p.nodes.n, 30);
    assert_int_equal(p.boxes.n, 12);
    assert_int_equal(p.notes.n, 0);
    picture_release(&p);

    fold(&p, &g, 16); /* threads, as far as needed */
    assert_true(p.nodes.n <= 16);
    assert_int_equal(p.notes.n, 1);
    assert_non_null(strstr(p.notes.a[0], "threads into their processes"));
    assert_non_null(find(&p, "worker-0 (100)\n+ 2 threads"));
    picture_release(&p);

    fold(&p, &g, 4); /* by name, in each container */
    assert_int_equal(p.nodes.n, 2);
    assert_non_null(find(&p, "worker-* ×6\n+ 12 threads"));
    assert_non_null(find(&p, "worker-* ×4\n+ 8 threads"));
    assert_int_equal(p.boxes.n, 2);
    picture_release(&p);

    fold(&p, &g, 2); /* containers, and what is in them */
    assert_int_equal(p.nodes.n, 1);
    assert_non_null(find(&p, "worker-* ×10\n+ 20 threads"));
    assert_int_equal(p.boxes.n, 1);
    assert_string_equal(p.boxes.a[0].label, "Container ×2");
    picture_release(&p);
    graph_release(&g);
}

/* Equal are those of one name with the same neighbours: 3 of the 4 clients. */
static void test_equals(void **state)
{
    struct graph g;
    struct graph_node *server, *c[4];
    struct picture p;

    graph_init(&g);
    server = process(&g, 1, "server");
    for (int i = 0; i < 4; i++) {
        c[i] = process(&g, 10 + i, "client");
        graph_edge_flow(graph_edge(&g, GRAPH_EDGE_TCP, c[i], server), c[i], 1000, 1);
    }
    graph_edge(&g, GRAPH_EDGE_PIPE, c[3], server);
    fold(&p, &g, 3);
    assert_int_equal(p.nodes.n, 3);
    assert_non_null(find(&p, "client ×3"));
    assert_non_null(find(&p, "client (13)"));
    picture_release(&p);
    graph_release(&g);
}

/* One edge for each pair and kind, however many there were and whichever way they went. */
/* What has only its kind in common is folded as far as needed: those that tell least. */
static void test_least_first(void **state)
{
    struct graph g;
    struct picture p;
    size_t alone = 0;

    graph_init(&g);
    for (int i = 1; i <= 101; i++) {
        char name[8];

        snprintf(name, sizeof(name), "%c%c", 'a' + i / 26, 'a' + i % 26);
        process(&g, i, name);
    }
    for (size_t i = 0; i < 101; i++)
        graph_edge_flow(graph_edge(&g, GRAPH_EDGE_TCP, g.nodes.a[i], g.nodes.a[(i + 1) % 101]), g.nodes.a[i],
                        1000 + i, 1);
    fold(&p, &g, 100);
    assert_int_equal(p.nodes.n, 100);
    picture_release(&p);
    fold(&p, &g, 10);
    assert_int_equal(p.nodes.n, 10);
    for (size_t i = 0; i < p.nodes.n; i++) {
        alone += p.nodes.a[i].count == 1;
        if (p.nodes.a[i].count == 1) /* the last ones talk most */
            assert_true(graph_attr_int(&p.nodes.a[i].of->attrs, "pid", 0) > 80);
        else
            assert_int_equal(p.nodes.a[i].count, 92);
    }
    assert_int_equal(alone, 9);
    picture_release(&p);
    graph_release(&g);
}

/* Each with each: the heaviest edges stay, and at least one of each node. */
static void test_dense(void **state)
{
    struct graph g;
    struct picture p;
    uint8_t joined[81] = {0};

    graph_init(&g);
    for (int i = 1; i <= 80; i++) {
        char name[8];

        snprintf(name, sizeof(name), "%c%c", 'a' + i / 26, 'a' + i % 26);
        process(&g, i, name);
    }
    for (size_t i = 0; i < 80; i++)
        for (size_t k = i + 1; k < 80; k++)
            graph_edge_flow(graph_edge(&g, GRAPH_EDGE_TCP, g.nodes.a[i], g.nodes.a[k]), g.nodes.a[i],
                            i < 40 && k < 40 ? 1000000 : 1, 1);
    fold(&p, &g, 100);
    assert_int_equal(p.nodes.n, 80);
    assert_int_equal(p.edges.n, 80 * PICTURE_EDGES_A_NODE / 2);
    for (size_t i = 0; i < p.edges.n; i++)
        joined[p.edges.a[i].a] = joined[p.edges.a[i].b] = 1;
    for (size_t i = 0; i < p.nodes.n; i++)
        assert_true(joined[i]);
    assert_int_equal(p.notes.n, 1);
    picture_release(&p);
    graph_release(&g);
}

static void test_edges(void **state)
{
    struct graph g;
    struct graph_node *a, *b, *s;
    struct picture p;
    struct buf text = {0};

    graph_init(&g);
    a = process(&g, 1, "a");
    b = process(&g, 2, "b");
    graph_edge_flow(graph_edge(&g, GRAPH_EDGE_PIPE, a, b), a, 2048, 2);
    graph_edge_flow(graph_edge(&g, GRAPH_EDGE_PIPE, b, a), b, 10, 1);
    s = graph_add(&g, &(struct graph_id){.kind = GRAPH_SOCKET, .field = {"10.0.0.1", "80", "TCP"}});
    graph_edge(&g, GRAPH_EDGE_OWN, a, s);
    graph_edge(&g, GRAPH_EDGE_BELONG, s, a);
    graph_edge(&g, GRAPH_EDGE_SEND, a, s);
    fold(&p, &g, 100);
    assert_int_equal(p.edges.n, 2);
    assert_int_equal(p.edges.a[0].kind, GRAPH_EDGE_SEND); /* and no "own": who sends by it has it */
    assert_int_equal(p.edges.a[1].kind, GRAPH_EDGE_PIPE);
    assert_true(p.edges.a[1].both);
    assert_string_equal(p.edges.a[1].label, "2.0 KiB → 10 B ←");
    picture_edge_text(&p.edges.a[1], &text);
    assert_string_equal(buf_str(&text), "pipe ×2, → 2.0 KiB in 2 messages, ← 10 B in 1 message");
    buf_release(&text);
    picture_release(&p);
    graph_release(&g);
}

static void test_columns_do_not_overlap(void **state)
{
    struct graph g;
    struct picture p;

    graph_init(&g);
    add_workers(&g, "one", 100, 60);
    graph_numbered(&g, GRAPH_NUMA, 0);
    graph_named(&g, GRAPH_PCI, "0000:00:00.0");
    graph_set_int(&g, &graph_process(&g, 159, -1, 0)->attrs, "rank", 0);
    picture_init(&p, &g, &(struct picture_opts){.flat = 1});
    picture_columns(&p);
    for (size_t i = 0; i < p.nodes.n; i++)
        for (size_t k = i + 1; k < p.nodes.n; k++) {
            const struct picture_area *a = &p.nodes.a[i].at, *b = &p.nodes.a[k].at;

            assert_true(fabs(a->x - b->x) >= (a->w + b->w) / 2 || fabs(a->y - b->y) >= (a->h + b->h) / 2);
        }
    assert_true(find(&p, "worker-59 (159)\nrank 0")->at.y <
                find(&p, "worker-0 (100)")->at.y); /* rank 0 is above */
    assert_true(p.width > 0 && p.height > 0);
    picture_release(&p);
    graph_release(&g);
}

static struct graph_node *socket_of(struct graph *g, const char *addr, const char *net)
{
    return graph_add(g,
                     &(struct graph_id){.kind = GRAPH_SOCKET, .instance = net, .field = {addr, "80", "TCP"}});
}

static int is_boxed(const struct picture *p, const struct graph_node *n)
{
    return p->nodes.a[p->shown_by[n->index]].box != PICTURE_NONE;
}

/* A namespace here has it, or it listens: whose it is may not be known. */
static void test_what_is_elsewhere(void **state)
{
    struct graph g;
    struct picture p;
    struct graph_node *mine, *peer, *denied, *listener;

    graph_init(&g);
    g.host = graph_text(&g, "here");
    mine = socket_of(&g, "10.0.0.1", "100");
    peer = socket_of(&g, "10.0.0.2", NULL);
    denied = socket_of(&g, "10.0.0.3", "100");
    listener = socket_of(&g, "0.0.0.0", NULL);
    graph_set_str(&g, &listener->attrs, "state", "listen");
    graph_edge(&g, GRAPH_EDGE_OWN, process(&g, 10, "client"), mine);
    graph_edge(&g, GRAPH_EDGE_CONNECT, mine, peer);
    fold(&p, &g, 0);
    assert_true(is_boxed(&p, mine));
    assert_false(is_boxed(&p, peer));
    assert_true(is_boxed(&p, denied));
    assert_true(is_boxed(&p, listener));
    picture_release(&p);
    graph_release(&g);
}

static void nothing(void *arg, struct buf *out)
{
    buf_addstr(out, "fine");
}

static void forever(void *arg, struct buf *out)
{
    for (volatile unsigned i = 0;; i++)
        ;
}

static void asleep(void *arg, struct buf *out)
{
    for (;;)
        pause();
}

static void dies(void *arg, struct buf *out)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static enum apart_end apart(void (*run)(void *, struct buf *), struct buf *out)
{
    struct err e;

    return apart_run(&(struct apart){.run = run, .cpu_s = 1, .wall_s = run == asleep ? 1 : 60}, out, &e);
}

static void test_apart(void **state)
{
    struct buf out = {0};

    assert_int_equal(apart(nothing, &out), APART_DONE);
    assert_string_equal(buf_str(&out), "fine");
    assert_int_equal(apart(forever, &out), APART_TOO_LONG);
    assert_int_equal(apart(asleep, &out), APART_TOO_LONG);
    assert_int_equal(apart(dies, &out), APART_DIED);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folds_in_turn),
        cmocka_unit_test(test_equals),
        cmocka_unit_test(test_least_first),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_columns_do_not_overlap),
        cmocka_unit_test(test_what_is_elsewhere),
        cmocka_unit_test(test_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
