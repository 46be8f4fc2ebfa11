/* SPDX-License-Identifier: Apache-2.0 */
/* The topology of the training run of render_fixture.h: its two processes, what is between them, and who
 * looks on. */
#ifndef WPROF_TESTS_TOPOLOGY_FIXTURE_H
#define WPROF_TESTS_TOPOLOGY_FIXTURE_H

#include "model/graph.h"

#include <stdio.h>

#define TOPOLOGY_START 1784215812000000000 /* ns */

static inline struct graph_node *topology_process(struct graph *g, int pid, const char *name)
{
    struct graph_node *n = graph_process(g, pid, 1, 0);

    graph_set_str(g, &n->attrs, "name", name);
    return n;
}

static inline void topology_times(struct graph *g, struct graph_node *n, int64_t cpu_ms, int64_t offcpu_ms,
                                  int64_t io_ms)
{
    graph_set_int(g, &n->attrs, "cpu_ns", cpu_ms * 1000000);
    graph_set_int(g, &n->attrs, "offcpu_ns", offcpu_ms * 1000000);
    graph_set_int(g, &n->attrs, "io_ns", io_ms * 1000000);
}

/* 100 trains, 101 loads, `other` is the name of a process that was not recorded. Five equal pieces of memory.
 */
static inline void topology_training(struct graph *g, const char *other)
{
    struct graph_node *trainer, *worker, *watcher;
    struct graph_edge *e;

    graph_init(g);
    g->time_ns = TOPOLOGY_START;
    g->host = "gpu-box-7";
    trainer = topology_process(g, 100, "python3");
    worker = topology_process(g, 101, "python3");
    watcher = topology_process(g, 200, other);
    topology_times(g, trainer, 7500, 2500, 0);
    topology_times(g, worker, 2500, 7000, 6000);
    for (int t = 0; t < 3; t++)
        graph_set_str(g, &graph_thread(g, 110 + t, 0)->attrs, "name", "autograd");
    for (int t = 0; t < 3; t++)
        graph_edge(g, GRAPH_EDGE_OWN, trainer, graph_thread(g, 110 + t, 0));
    for (int i = 0; i < 5; i++) {
        char name[32];
        struct graph_node *shm;

        snprintf(name, sizeof(name), "/dev/shm/torch_%d", i);
        shm = graph_add(g, &(struct graph_id){.kind = GRAPH_SHM, .field = {name, "4096"}});
        graph_edge(g, GRAPH_EDGE_ACCESS, trainer, shm);
        graph_edge(g, GRAPH_EDGE_ACCESS, worker, shm);
    }
    graph_edge(g, GRAPH_EDGE_OWN, trainer, worker);
    e = graph_edge(g, GRAPH_EDGE_UNIX, trainer, worker);
    graph_set_str(g, &e->attrs, "name", "nccl");
    graph_edge_flow(e, trainer, 1048576, 12);
    graph_edge_flow(e, worker, 4096, 3);
    graph_set_int(g, &e->attrs, "waited_a_ns", 2000000000);
    e->last_ns = TOPOLOGY_START + 9000000000;
    graph_edge_weight(graph_edge(g, GRAPH_EDGE_WAIT, trainer, worker), 2e9);
    graph_edge_weight(graph_edge(g, GRAPH_EDGE_WAIT, worker, trainer), 5e8);
    graph_edge(g, GRAPH_EDGE_PIPE, worker, watcher);
    graph_cover(g, &(struct graph_coverage){.source = "process", .state = "ok", .detail = "", .seen = 3});
    graph_cover(g, &(struct graph_coverage){
                       .source = "pipe", .state = "partial", .detail = "", .seen = 3, .denied = 2});
    graph_cover(
        g, &(struct graph_coverage){.source = "gpu", .state = "timed out", .detail = "the driver hangs"});
}

/* Fifty containers of fifty processes, each with a thread. */
static inline void topology_crowd(struct graph *g)
{
    struct graph_node *first = NULL;

    graph_init(g);
    for (int c = 0; c < 50; c++) {
        char name[32];
        struct graph_node *in;

        snprintf(name, sizeof(name), "box%02d", c);
        in = graph_named(g, GRAPH_CONTAINER, name);
        for (int i = 0; i < 50; i++) {
            int pid = 1000 + 50 * c + i;
            struct graph_node *p;

            snprintf(name, sizeof(name), "worker-%d", i);
            p = topology_process(g, pid, name);
            first = first ? first : p;
            graph_edge(g, GRAPH_EDGE_HOST, in, p);
            graph_edge(g, GRAPH_EDGE_OWN, p, graph_thread(g, 100000 + pid, 0));
            if (p != first)
                graph_edge_flow(graph_edge(g, GRAPH_EDGE_TCP, p, first), p, 1000, 1);
        }
    }
}

#endif
