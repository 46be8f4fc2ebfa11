/* SPDX-License-Identifier: Apache-2.0 */
/* What of a topology is the recorded program's: not the shell that it was started from. */
#include "analyze/topology_recorded.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static struct graph_node *process(struct graph *g, int64_t pid, int64_t ppid, const char *name)
{
    struct graph_node *n = graph_process(g, pid, ppid, 0);

    graph_set_str(g, &n->attrs, "name", name);
    return n;
}

/* bash starts wprof, that the program, whose child asks a server; its output goes to tail. */
static void make(struct graph *g)
{
    struct graph_node *bash = process(g, 10, 1, "bash"), *tail = process(g, 11, 10, "tail"),
                      *wprof = process(g, 12, 10, "wprof"), *app = process(g, 20, 12, "app"),
                      *child = process(g, 21, 20, "worker"), *server = process(g, 30, 1, "redis"),
                      *other = process(g, 40, 1, "cron"), *thread = graph_thread(g, 22, 0),
                      *socket = graph_numbered(g, GRAPH_UNIX_SOCKET, 5),
                      *gpu = graph_numbered(g, GRAPH_NUMA, 0);

    graph_edge(g, GRAPH_EDGE_OWN, bash, tail);
    graph_edge(g, GRAPH_EDGE_OWN, bash, wprof);
    graph_edge(g, GRAPH_EDGE_OWN, wprof, app);
    graph_edge(g, GRAPH_EDGE_OWN, app, child);
    graph_edge(g, GRAPH_EDGE_OWN, child, thread);
    graph_edge(g, GRAPH_EDGE_PIPE, app, tail);
    graph_edge(g, GRAPH_EDGE_PIPE, app, bash);
    graph_edge(g, GRAPH_EDGE_PIPE, child, app);
    graph_edge(g, GRAPH_EDGE_WAIT, app, other);
    graph_edge(g, GRAPH_EDGE_TCP, child, server);
    graph_edge(g, GRAPH_EDGE_TCP, server, other);
    graph_edge(g, GRAPH_EDGE_UNIX, app, bash);
    graph_edge(g, GRAPH_EDGE_ACCESS, app, socket);
    graph_edge(g, GRAPH_EDGE_NUMA_ACCESS, app, gpu);
    graph_edge(g, GRAPH_EDGE_NUMA_ACCESS, other, gpu);
}

static int has(const struct graph *g, const char *name)
{
    int found = 0;

    for (size_t i = 0; i < g->nodes.n; i++)
        found |= !strcmp(graph_attr_str(&g->nodes.a[i]->attrs, "name", ""), name);
    return found;
}

static void the_shell_is_left_out(void **state)
{
    struct session s = {.meta.pid = 20};
    struct graph g, own;

    graph_init(&g);
    graph_init(&own);
    make(&g);
    topology_recorded(&s, &g, &own);
    assert_true(has(&own, "app") && has(&own, "worker") && has(&own, "redis"));
    assert_false(has(&own, "bash") || has(&own, "tail") || has(&own, "wprof") || has(&own, "cron"));
    assert_int_equal(own.nodes.n, 6); /* and the thread, the socket, the NUMA node */
    assert_int_equal(own.edges.n, 6);
    assert_string_equal(topology_recorded_name(&s, &g), "app");
    graph_release(&own);
    graph_release(&g);
}

/* A snapshot of the machine is of no program; of what ran everywhere all is. */
static void without_a_program_all_stays(void **state)
{
    struct session s = {.meta.pid = 99};
    struct graph g, own;

    graph_init(&g);
    graph_init(&own);
    make(&g);
    topology_recorded(&s, &g, &own);
    assert_int_equal(own.nodes.n, g.nodes.n);
    assert_int_equal(own.edges.n, g.edges.n);
    assert_null(topology_recorded_name(&s, &g));
    graph_release(&own);
    graph_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shell_is_left_out),
        cmocka_unit_test(without_a_program_all_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
