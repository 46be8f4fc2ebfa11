/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/topology_shares.h"

#include "base/map.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind_of_time { CPU, OFFCPU, GIL, IO, RUNQ, GPU, TIMES };

/* By what two processes may be joined that wait for each other, as far as the wait tells. */
enum means { BY_TCP, BY_UNIX, BY_SOCKET, BY_PIPE, BY_MEMORY, BY_ANY, BY_NONE, MEANS };
enum { MEANS_EDGES = 5 };

static const struct {
    size_t n;
    enum graph_relation edge[MEANS_EDGES];
} edges_of[MEANS] = {
    [BY_TCP] = {1, {GRAPH_EDGE_TCP}},
    [BY_UNIX] = {1, {GRAPH_EDGE_UNIX}},
    [BY_SOCKET] = {3, {GRAPH_EDGE_TCP, GRAPH_EDGE_UNIX, GRAPH_EDGE_UDP}},
    [BY_PIPE] = {2, {GRAPH_EDGE_PIPE, GRAPH_EDGE_FIFO}},
    [BY_MEMORY] = {1, {GRAPH_EDGE_SHM}},
    [BY_ANY] = {5, {GRAPH_EDGE_TCP, GRAPH_EDGE_UNIX, GRAPH_EDGE_UDP, GRAPH_EDGE_PIPE, GRAPH_EDGE_FIFO}},
};

struct sums {
    struct graph *g;
    const struct store *s;
    struct graph_node **node; /* of the process of task id - 1; NULL: none */
    uint64_t (*ns)[TIMES];    /* of the node of that index */
    struct map waits[MEANS];  /* waiter's index << 32 | the other's -> ns */
    struct map ends; /* what was waited for (a string's id) -> index of who is there + 1; 0: nobody */
};

/* A process that was recorded before and after an exec is two tasks and one node; of one pid there may be
 * several processes, told apart by their start in clock ticks (USER_HZ is 100 wherever this runs). */
static struct graph_node *node_of(struct sums *x, const struct task *t)
{
    const struct task *leader = t->leader ? &x->s->tasks.list.a[t->leader - 1] : t;
    struct graph_id id = {.kind = GRAPH_PROCESS};
    char pid[16], start[24];
    struct graph_node *n;

    snprintf(pid, sizeof(pid), "%" PRIu32, leader->ns_pid);
    snprintf(start, sizeof(start), "%" PRIu64, leader->start_ns / 10000000u);
    id.field[0] = pid;
    id.instance = start;
    n = leader->ns_pid ? graph_find(x->g, &id) : NULL;
    id.instance = NULL;
    return n || !leader->ns_pid ? n : graph_find(x->g, &id);
}

static struct graph_node *of_task(const struct sums *x, uint32_t id)
{
    return id && id <= x->s->tasks.list.n ? x->node[id - 1] : NULL;
}

static int is_io(unsigned reason)
{
    return reason == WAIT_DISK || reason == WAIT_SOCKET || reason == WAIT_PIPE;
}

/* Addresses and ports are what waits for sockets are called by: "tcp 127.0.0.1:40000 - 127.0.0.1:80
 * nginx[7]". */
static struct graph_node *socket_at(const struct graph *g, const char *text, size_t n)
{
    char addr[64], port[8];
    size_t colon = n;

    while (colon && text[colon - 1] != ':')
        colon--;
    if (!colon || colon > sizeof(addr) || n - colon >= sizeof(port))
        return NULL;
    snprintf(addr, sizeof(addr), "%.*s", (int)colon - 1, text);
    snprintf(port, sizeof(port), "%.*s", (int)(n - colon), text + colon);
    return graph_find(g, &(struct graph_id){.kind = GRAPH_SOCKET, .field = {addr, port, "TCP"}});
}

/* The one process that has it; NULL: none, or several. */
static struct graph_node *holder_of(const struct graph *g, const struct graph_node *socket)
{
    struct graph_node *found = NULL;

    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];

        if (e->kind != GRAPH_EDGE_OWN || e->b != socket || e->a->kind != GRAPH_PROCESS)
            continue;
        if (found && found != e->a)
            return NULL;
        found = e->a;
    }
    return found;
}

static struct graph_node *find_end(const struct sums *x, const char *what)
{
    const char *peer = strncmp(what, "tcp ", 4) ? NULL : strstr(what, " - ");
    const struct graph_node *socket = peer ? socket_at(x->g, peer + 3, strcspn(peer + 3, " ")) : NULL;

    return socket ? holder_of(x->g, socket) : NULL;
}

/* Data that came by an interrupt was sent by somebody: by whoever is at the other end. */
static struct graph_node *at_other_end(struct sums *x, const struct wait *w)
{
    const uint64_t *known = w->what ? map_get(&x->ends, w->what) : NULL;
    struct graph_node *n;

    if (!w->what || w->reason != WAIT_SOCKET)
        return NULL;
    if (known)
        return *known ? x->g->nodes.a[*known - 1] : NULL;
    n = find_end(x, strtab_get(&x->s->strings, w->what));
    *map_put(&x->ends, w->what) = n ? n->index + 1 : 0;
    return n;
}

static int begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static enum means means_of(const struct sums *x, const struct wait *w)
{
    const char *what = w->what ? strtab_get(&x->s->strings, w->what) : "";

    if (w->reason == WAIT_FUTEX)
        return BY_MEMORY;
    if (w->reason != WAIT_SOCKET && w->reason != WAIT_PIPE && w->reason != WAIT_POLL)
        return w->reason == WAIT_UNKNOWN ? BY_ANY : BY_NONE;
    if (begins(what, "tcp "))
        return BY_TCP;
    if (begins(what, "unix:"))
        return BY_UNIX;
    if (begins(what, "pipe:"))
        return BY_PIPE;
    return w->reason == WAIT_SOCKET ? BY_SOCKET : w->reason == WAIT_PIPE ? BY_PIPE : BY_ANY;
}

static void add_wait(struct sums *x, const struct event *ev, struct graph_node *n)
{
    const struct wait *w = waits_get(&x->s->waits, ev->attr);
    struct graph_node *by = w ? of_task(x, w->waker_task) : NULL;

    x->ns[n->index][OFFCPU] += ev->dur;
    if (w && is_io(w->reason))
        x->ns[n->index][IO] += ev->dur;
    if (w && !by)
        by = at_other_end(x, w);
    if (by && by != n)
        *map_put(&x->waits[means_of(x, w)], (uint64_t)n->index << 32 | by->index) += ev->dur;
}

static void add_gpu(struct sums *x, const struct event *ev, const struct graph_node *n)
{
    const struct gpu_work *w = gpu_works_get(&x->s->gpus, ev->attr);

    if (w && gpu_on_device(w))
        x->ns[n->index][GPU] += ev->dur;
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
        else if (ev->kind == EVENT_GPU)
            add_gpu(x, ev, n);
    }
}

/* What /proc said at some look is less than what was recorded, or of a time before it. */
static void forget(struct graph_attrs *attrs, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < attrs->list.n; i++)
        if (strcmp(attrs->list.a[i].name, name) != 0)
            attrs->list.a[n++] = attrs->list.a[i];
    attrs->list.n = n;
}

static void tell_processes(struct sums *x)
{
    static const char *const names[TIMES] = {"cpu_ns", "offcpu_ns", "gil_ns", "io_ns", "runq_ns", "gpu_ns"};
    uint8_t *done = mem_calloc(x->g->nodes.n + 1, 1);
    uint64_t all = 0, all_gpu = 0;

    for (size_t i = 0; i < x->g->nodes.n; i++) {
        all += x->ns[i][CPU];
        all_gpu += x->ns[i][GPU];
    }
    for (size_t i = 0; i < x->s->tasks.list.n; i++) {
        struct graph_node *n = x->node[i];

        if (!n || done[n->index])
            continue;
        done[n->index] = 1;
        forget(&n->attrs, "cpu_s");
        for (int k = 0; k < (all_gpu ? TIMES : GPU); k++)
            graph_set_int(x->g, &n->attrs, names[k], (int64_t)x->ns[n->index][k]);
        if (all)
            graph_set_f64(x->g, &n->attrs, "cpu_share", (double)x->ns[n->index][CPU] / (double)all);
        if (all_gpu)
            graph_set_f64(x->g, &n->attrs, "gpu_share", (double)x->ns[n->index][GPU] / (double)all_gpu);
    }
    free(done);
}

/* The channel of these means by which data came from b to a; else the only one, whatever is known of its
 * data. NULL: none, or it is not clear which. */
static struct graph_edge *channel_of(const struct graph *g, enum means by, struct graph_node *a,
                                     struct graph_node *b)
{
    struct graph_edge *carries = NULL, *there = NULL;
    size_t carrying = 0, all = 0;

    for (size_t i = 0; i < 2 * edges_of[by].n; i++) {
        struct graph_edge *e = i % 2 ? graph_find_edge(g, edges_of[by].edge[i / 2], a, b)
                                     : graph_find_edge(g, edges_of[by].edge[i / 2], b, a);

        if (!e || e == there)
            continue;
        there = e;
        all++;
        if (e->a == b ? e->bytes_ab : e->bytes_ba) {
            carries = e;
            carrying++;
        }
    }
    return carrying == 1 ? carries : all == 1 ? there : NULL;
}

static void tell_waits(struct sums *x, enum means by)
{
    const struct map_slot *slot;

    for (size_t i = 0; (slot = map_next(&x->waits[by], &i));) {
        struct graph_node *a = x->g->nodes.a[slot->key >> 32], *b = x->g->nodes.a[(uint32_t)slot->key];
        struct graph_edge *e = channel_of(x->g, by, a, b);
        const char *end = e && e->a == a ? "waited_a_ns" : "waited_b_ns";

        if (e)
            graph_set_int(x->g, &e->attrs, end, graph_attr_int(&e->attrs, end, 0) + (int64_t)slot->val);
        graph_edge_weight(graph_edge(x->g, GRAPH_EDGE_WAIT, a, b), (double)slot->val);
    }
}

void topology_shares(struct graph *g, const struct store *s)
{
    struct sums x = {.g = g,
                     .s = s,
                     .node = mem_calloc(s->tasks.list.n + 1, sizeof(*x.node)),
                     .ns = mem_calloc(g->nodes.n + 1, sizeof(*x.ns))};

    for (size_t i = 0; i < s->tasks.list.n; i++)
        x.node[i] = node_of(&x, &s->tasks.list.a[i]);
    add_up(&x);
    tell_processes(&x);
    for (int by = 0; by < MEANS; by++) {
        tell_waits(&x, (enum means)by);
        map_release(&x.waits[by]);
    }
    map_release(&x.ends);
    free(x.node);
    free(x.ns);
}
