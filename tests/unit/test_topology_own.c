/* SPDX-License-Identifier: Apache-2.0 */
/* Our own processes are no part of a topology; whom a look is asked for. */
#include "record/topology.h"
#include "topo/own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct graph_node *process(struct graph *g, int pid)
{
    return graph_process(g, pid, -1, (uint64_t)pid);
}

static struct graph_node *held_by(struct graph *g, enum graph_kind kind, int number, int pid)
{
    struct graph_node *n = graph_numbered(g, kind, number);

    graph_edge(g, GRAPH_EDGE_ACCESS, process(g, pid), n);
    return n;
}

static int has(const struct graph *g, enum graph_kind kind, const char *key)
{
    return graph_find(g, &(struct graph_id){.kind = kind, .field = {key}}) != NULL;
}

static void made(struct graph *g, int parent, int child)
{
    graph_edge(g, GRAPH_EDGE_OWN, process(g, parent), process(g, child));
}

/* 10 is the recorder, 11 looks and has made 12; 20 is the command and has made 21; 5 has started us. */
static void test_leave_out(void **state)
{
    const int ours[] = {10, 11, 0}, kept[] = {20};
    struct graph g;

    graph_init(&g);
    made(&g, 5, 10);
    made(&g, 10, 11);
    made(&g, 11, 12);
    made(&g, 10, 20);
    made(&g, 20, 21);
    graph_edge(&g, GRAPH_EDGE_OWN, process(&g, 10), graph_thread(&g, 10, 10));
    graph_edge(&g, GRAPH_EDGE_OWN, process(&g, 20), graph_thread(&g, 20, 20));
    graph_edge(&g, GRAPH_EDGE_PIPE, process(&g, 20), process(&g, 10));
    held_by(&g, GRAPH_PIPE, 1, 11);
    held_by(&g, GRAPH_PIPE, 2, 11);
    held_by(&g, GRAPH_PIPE, 2, 21);
    graph_edge(&g, GRAPH_EDGE_CONNECT, held_by(&g, GRAPH_UNIX_SOCKET, 3, 12),
               graph_numbered(&g, GRAPH_UNIX_SOCKET, 4));
    graph_edge(&g, GRAPH_EDGE_ACCESS, process(&g, 12), graph_numbered(&g, GRAPH_NUMA, 0));
    topo_leave_out(&g, &(struct topo_own){ours, 3, kept, 1});
    assert_true(has(&g, GRAPH_PROCESS, "5") && has(&g, GRAPH_PROCESS, "20") && has(&g, GRAPH_PROCESS, "21"));
    assert_false(has(&g, GRAPH_PROCESS, "10") || has(&g, GRAPH_PROCESS, "11") ||
                 has(&g, GRAPH_PROCESS, "12"));
    assert_true(has(&g, GRAPH_THREAD, "20") && !has(&g, GRAPH_THREAD, "10"));
    assert_true(has(&g, GRAPH_PIPE, "2") && !has(&g, GRAPH_PIPE, "1"));
    assert_false(has(&g, GRAPH_UNIX_SOCKET, "3") || has(&g, GRAPH_UNIX_SOCKET, "4"));
    assert_true(has(&g, GRAPH_NUMA, "0"));
    assert_int_equal(g.edges.n, 3); /* 20 and its child, thread; the child and its pipe */
    graph_release(&g);
}

/* Another that records wprof has it as its target. */
static void test_targeted(void **state)
{
    const int ours[] = {10}, kept[] = {10};
    struct graph g;

    graph_init(&g);
    made(&g, 10, 11);
    topo_leave_out(&g, &(struct topo_own){ours, 1, kept, 1});
    assert_int_equal(g.nodes.n, 2);
    graph_release(&g);
}

static uint32_t task(struct store *s, uint32_t pid, uint32_t parent, uint64_t last_ns)
{
    uint32_t id =
        tasks_add(&s->tasks, &(struct task){.pid = pid, .tid = pid, .ns_pid = pid, .start_ns = pid});
    struct task *t = tasks_get(&s->tasks, id);

    t->leader = id;
    t->parent = parent;
    t->last_ns = last_ns;
    return id;
}

/* Those that have lost their parent come first, and are counted where there is no room for them. */
static void test_living(void **state)
{
    struct topology_pids pids = {0};
    struct store s = {0};
    uint32_t root = task(&s, 100, 0, 0), gone = task(&s, 101, root, 7);

    for (uint32_t pid = 200; pid < 204; pid++)
        task(&s, pid, root, 0);
    for (uint32_t pid = 300; pid < 306; pid++)
        task(&s, pid, gone, 0);
    assert_int_equal(topology_living(&s, 20, &pids), 0);
    assert_int_equal(pids.list.n, 11);
    assert_int_equal(pids.list.a[0], 100);
    assert_int_equal(pids.list.a[6], 305);
    assert_int_equal(pids.list.a[7], 200);
    vec_clear(&pids.list);
    assert_int_equal(topology_living(&s, 8, &pids), 0); /* 200 is found as a child of 100 */
    assert_int_equal(pids.list.n, 8);
    vec_clear(&pids.list);
    assert_int_equal(topology_living(&s, 5, &pids), 2);
    assert_int_equal(pids.list.n, 5);
    vec_release(&pids.list);
    tasks_release(&s.tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave_out),
        cmocka_unit_test(test_targeted),
        cmocka_unit_test(test_living),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
