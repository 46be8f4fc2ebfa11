/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/topology_recorded.h"

#include "base/map.h"
#include "model/graph_ops.h"

#include <stdlib.h>
#include <string.h>

/* What a node is to the program. */
enum { OTHER, OWN, REACHED, ABOVE };

struct walk {
    const struct graph *g;
    uint8_t *is; /* by node */
};

static int is_task(const struct graph_node *n)
{
    return n->kind == GRAPH_PROCESS || n->kind == GRAPH_THREAD;
}

/* Hosts, devices, NUMA nodes: everything there has to do with them. */
static int is_of_machine(const struct graph_node *n)
{
    return !is_task(n) && graph_kind(n->kind)->class != GRAPH_CLASS_CHANNEL && n->kind != GRAPH_SHM;
}

static int64_t pid_of(const struct graph_node *n)
{
    return n->kind == GRAPH_PROCESS ? graph_attr_int(&n->attrs, "pid", 0) : 0;
}

/* By which the program doesn't seek others: what it is started with is given to it through pipes, and it
 * waits for whoever has its CPU. */
static int is_given(enum graph_relation kind)
{
    return kind == GRAPH_EDGE_PIPE || kind == GRAPH_EDGE_FIFO || kind == GRAPH_EDGE_OWN ||
           kind == GRAPH_EDGE_BELONG || kind == GRAPH_EDGE_WAIT;
}

static size_t find_recorded(struct walk *x, const struct session *s)
{
    struct map pids = {0};
    size_t n = 0;

    if (s->meta.pid > 0)
        *map_put(&pids, (uint64_t)s->meta.pid) = 1;
    for (size_t i = 0; i < s->store.tasks.list.n; i++)
        if (s->store.tasks.list.a[i].cpu_ns)
            *map_put(&pids, s->store.tasks.list.a[i].pid) = 1;
    for (size_t i = 0; i < x->g->nodes.n; i++)
        if (pid_of(x->g->nodes.a[i]) && map_get(&pids, (uint64_t)pid_of(x->g->nodes.a[i]))) {
            x->is[i] = OWN;
            n++;
        }
    map_release(&pids);
    return n;
}

/* Takes every edge again and again until nothing more is found. */
static void spread(struct walk *x, int (*step)(struct walk *x, const struct graph_edge *e))
{
    int more;

    do {
        more = 0;
        for (size_t i = 0; i < x->g->edges.n; i++)
            more |= step(x, x->g->edges.a[i]);
    } while (more);
}

static int set(struct walk *x, const struct graph_node *n, uint8_t what)
{
    int is_new = x->is[n->index] == OTHER;

    if (is_new)
        x->is[n->index] = what;
    return is_new;
}

/* Children, threads and sockets of what is the program's; parents of it. */
static int step_family(struct walk *x, const struct graph_edge *e)
{
    const struct graph_node *above = e->kind == GRAPH_EDGE_OWN ? e->a : e->b,
                            *below = e->kind == GRAPH_EDGE_OWN ? e->b : e->a;

    if (e->kind != GRAPH_EDGE_OWN && e->kind != GRAPH_EDGE_BELONG)
        return 0;
    if (x->is[above->index] == OWN)
        return set(x, below, OWN);
    if (x->is[below->index] == OWN || x->is[below->index] == ABOVE)
        return is_task(below) && is_task(above) && set(x, above, ABOVE);
    return 0;
}

/* Other ends; what is reached leads on only where it is a channel. */
static int step_reach(struct walk *x, const struct graph_edge *e)
{
    for (int k = 0; k < 2; k++) {
        const struct graph_node *from = k ? e->b : e->a, *to = k ? e->a : e->b;
        int channel = !is_task(from) && !is_of_machine(from);

        if (x->is[from->index] != OWN && !(x->is[from->index] == REACHED && channel))
            continue;
        if (is_task(from) && is_task(to) && is_given(e->kind))
            continue;
        if (is_task(to) && (from->kind == GRAPH_PIPE || from->kind == GRAPH_FIFO || is_of_machine(from)))
            continue;
        if (set(x, to, REACHED))
            return 1;
    }
    return 0;
}

static int is_kept(const struct walk *x, const struct graph_node *n)
{
    return x->is[n->index] == OWN || x->is[n->index] == REACHED || is_of_machine(n);
}

static int is_edge_kept(const struct walk *x, const struct graph_edge *e)
{
    int own = x->is[e->a->index] == OWN || x->is[e->b->index] == OWN,
        both = x->is[e->a->index] == OWN && x->is[e->b->index] == OWN, tasks = is_task(e->a) && is_task(e->b);

    if (is_of_machine(e->a) && is_of_machine(e->b))
        return 1;
    if (!is_kept(x, e->a) || !is_kept(x, e->b))
        return 0;
    if (tasks)
        return both || (own && !is_given(e->kind));
    return own || !(is_task(e->a) || is_task(e->b)) ||
           (!is_of_machine(e->a) && !is_of_machine(e->b)); /* a socket and who has it */
}

void topology_recorded(const struct session *s, const struct graph *g, struct graph *out)
{
    struct walk x = {g, mem_calloc(g->nodes.n + 1, sizeof(*x.is))};
    uint8_t *nodes = mem_calloc(g->nodes.n + 1, sizeof(*nodes)),
            *edges = mem_calloc(g->edges.n + 1, sizeof(*edges));
    int all = !find_recorded(&x, s);

    if (!all) {
        spread(&x, step_family);
        spread(&x, step_reach);
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        nodes[i] = (uint8_t)(all || is_kept(&x, g->nodes.a[i]));
    for (size_t i = 0; i < g->edges.n; i++)
        edges[i] = (uint8_t)(all || is_edge_kept(&x, g->edges.a[i]));
    graph_chosen(out, g, nodes, edges);
    free(nodes);
    free(edges);
    free(x.is);
}

const char *topology_recorded_name(const struct session *s, const struct graph *g)
{
    for (size_t i = 0; s->meta.pid > 0 && i < g->nodes.n; i++)
        if (pid_of(g->nodes.a[i]) == s->meta.pid)
            return graph_attr_str(&g->nodes.a[i]->attrs, "name", NULL);
    return NULL;
}
