/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/topology_shares.h"

#include "base/map.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum kind_of_time { CPU, OFFCPU, GIL, IO, RUNQ, TIMES };

struct sums {
    struct graph *g;
    const struct store *s;
    struct graph_node **node; /* of the process of task id - 1; NULL: none */
    uint64_t (*ns)[TIMES];    /* of the node of that index */
    struct map waits;         /* waiter's index << 32 | the other's -> ns */
};

/* A process that was recorded before and after an exec is two tasks and one node. */
static struct graph_node *node_of(struct sums *x, const struct task *t)
{
    const struct task *leader = t->leader ? &x->s->tasks.list.a[t->leader - 1] : t;
    char pid[16];

    snprintf(pid, sizeof(pid), "%" PRIu32, leader->ns_pid);
    return leader->ns_pid ? graph_find(x->g, &(struct graph_id){.kind = GRAPH_PROCESS, .field = {pid}})
                          : NULL;
}

static struct graph_node *of_task(const struct sums *x, uint32_t id)
{
    return id && id <= x->s->tasks.list.n ? x->node[id - 1] : NULL;
}

static int is_io(unsigned reason)
{
    return reason == WAIT_DISK || reason == WAIT_SOCKET || reason == WAIT_PIPE;
}

static void add_wait(struct sums *x, const struct event *ev, struct graph_node *n)
{
    const struct wait *w = waits_get(&x->s->waits, ev->attr);
    struct graph_node *by = w ? of_task(x, w->waker_task) : NULL;

    x->ns[n->index][OFFCPU] += ev->dur;
    if (w && is_io(w->reason))
        x->ns[n->index][IO] += ev->dur;
    if (by && by != n)
        *map_put(&x->waits, (uint64_t)n->index << 32 | by->index) += ev->dur;
}

static void add_up(struct sums *x)
{
    for (size_t i = 0; i < x->s->tasks.list.n; i++)
        if (x->node[i])
            x->ns[x->node[i]->index][CPU] += x->s->tasks.list.a[i].cpu_ns;
    for (size_t i = 0; i < x->s->events.n; i++) {
        const struct event *ev = &x->s->events.a[i];
        struct graph_node *n = of_task(x, ev->task);

        if (!n)
            continue;
        if (ev->kind == EVENT_OFFCPU)
            add_wait(x, ev, n);
        else if (ev->kind == EVENT_GIL)
            x->ns[n->index][GIL] += ev->dur;
        else if (ev->kind == EVENT_RUNQ)
            x->ns[n->index][RUNQ] += ev->dur;
    }
}

static void tell_processes(struct sums *x)
{
    static const char *const names[TIMES] = {"cpu_ns", "offcpu_ns", "gil_ns", "io_ns", "runq_ns"};
    uint8_t *done = mem_calloc(x->g->nodes.n + 1, 1);
    uint64_t all = 0;

    for (size_t i = 0; i < x->g->nodes.n; i++)
        all += x->ns[i][CPU];
    for (size_t i = 0; i < x->s->tasks.list.n; i++) {
        struct graph_node *n = x->node[i];

        if (!n || done[n->index])
            continue;
        done[n->index] = 1;
        for (int k = 0; k < TIMES; k++)
            graph_set_int(x->g, &n->attrs, names[k], (int64_t)x->ns[n->index][k]);
        if (all)
            graph_set_f64(x->g, &n->attrs, "cpu_share", (double)x->ns[n->index][CPU] / (double)all);
    }
    free(done);
}

/* The channel by which data came from b to a; else the first that there is. */
static struct graph_edge *channel_of(const struct graph *g, struct graph_node *a, struct graph_node *b)
{
    static const enum graph_relation kinds[] = {GRAPH_EDGE_TCP,  GRAPH_EDGE_UNIX, GRAPH_EDGE_PIPE,
                                                GRAPH_EDGE_FIFO, GRAPH_EDGE_UDP,  GRAPH_EDGE_SHM};
    struct graph_edge *first = NULL;

    for (size_t i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
        struct graph_edge *e =
            i % 2 ? graph_find_edge(g, kinds[i / 2], a, b) : graph_find_edge(g, kinds[i / 2], b, a);

        if (e && (e->a == b ? e->bytes_ab : e->bytes_ba))
            return e;
        if (!first)
            first = e;
    }
    return first;
}

static void tell_waits(struct sums *x)
{
    const struct map_slot *slot;

    for (size_t i = 0; (slot = map_next(&x->waits, &i));) {
        struct graph_node *a = x->g->nodes.a[slot->key >> 32], *b = x->g->nodes.a[(uint32_t)slot->key];
        struct graph_edge *e = channel_of(x->g, a, b);

        if (e)
            graph_set_int(x->g, &e->attrs, a == e->a ? "waited_a_ns" : "waited_b_ns", (int64_t)slot->val);
        graph_edge_weight(graph_edge(x->g, GRAPH_EDGE_WAIT, a, b), (double)slot->val);
    }
}

void topology_shares(struct graph *g, const struct store *s)
{
    struct sums x = {g,
                     s,
                     mem_calloc(s->tasks.list.n + 1, sizeof(*x.node)),
                     mem_calloc(g->nodes.n + 1, sizeof(*x.ns)),
                     {0}};

    for (size_t i = 0; i < s->tasks.list.n; i++)
        x.node[i] = node_of(&x, &s->tasks.list.a[i]);
    add_up(&x);
    tell_processes(&x);
    tell_waits(&x);
    map_release(&x.waits);
    free(x.node);
    free(x.ns);
}
