/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/own.h"

#include "model/graph_ops.h"

#include <stdlib.h>
#include <string.h>

struct marks {
    const struct graph *g;
    uint8_t *out;            /* of node i: is left out */
    uint8_t *by_us, *by_all; /* held by one that is left out, by one that is not */
};

static int is_among(const int *pids, size_t n, int64_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (pids[i] == pid)
            return 1;
    return 0;
}

static int is_process_of(const struct graph_node *n, const int *pids, size_t npids)
{
    return n->kind == GRAPH_PROCESS && !strcmp(n->ns, GRAPH_LOCAL) &&
           is_among(pids, npids, graph_attr_int(&n->attrs, "pid", 0));
}

static void mark_processes(struct marks *m, const struct topo_own *own)
{
    for (size_t i = 0; i < m->g->nodes.n; i++)
        m->out[i] = is_process_of(m->g->nodes.a[i], own->pids, own->npids) &&
                    !is_process_of(m->g->nodes.a[i], own->kept, own->nkept);
    for (int more = 1; more;) {
        more = 0;
        for (size_t i = 0; i < m->g->edges.n; i++) {
            const struct graph_edge *e = m->g->edges.a[i];

            if (e->kind != GRAPH_EDGE_OWN || e->b->kind != GRAPH_PROCESS || !m->out[e->a->index] ||
                m->out[e->b->index] || is_process_of(e->b, own->kept, own->nkept))
                continue;
            m->out[e->b->index] = 1;
            more = 1;
        }
    }
}

static void held(struct marks *m, const struct graph_node *by, const struct graph_node *n)
{
    (m->out[by->index] ? m->by_us : m->by_all)[n->index] = 1;
}

/* Whether it is there for whoever has it. */
static int is_held(const struct graph_node *n)
{
    enum graph_class class = graph_kind(n->kind)->class;

    return n->kind == GRAPH_THREAD || n->kind == GRAPH_SHM || class == GRAPH_CLASS_CHANNEL;
}

/* Threads are had by processes, channels by both; another end of a channel only keeps what nobody has. */
static int mark_held(struct marks *m, int by_ends)
{
    int more = 0;

    memset(m->by_us, 0, m->g->nodes.n);
    memset(m->by_all, 0, m->g->nodes.n);
    for (size_t i = 0; i < m->g->edges.n; i++) {
        const struct graph_edge *e = m->g->edges.a[i];

        if (by_ends || graph_kind(e->a->kind)->class == GRAPH_CLASS_COMPUTE)
            held(m, e->a, e->b);
        if (by_ends)
            held(m, e->b, e->a);
    }
    for (size_t i = 0; i < m->g->nodes.n; i++) {
        if (m->out[i] || !m->by_us[i] || m->by_all[i] || !is_held(m->g->nodes.a[i]))
            continue;
        m->out[i] = 1;
        more = 1;
    }
    return more;
}

static int is_kept(void *arg, const struct graph_node *n)
{
    const struct marks *m = arg;

    return !m->out[n->index];
}

void topo_leave_out(struct graph *g, const struct topo_own *own)
{
    size_t n = g->nodes.n + 1;
    struct marks m = {g, mem_calloc(n, 1), mem_calloc(n, 1), mem_calloc(n, 1)};
    struct graph out;

    mark_processes(&m, own);
    while (mark_held(&m, 0) || mark_held(&m, 1))
        ;
    graph_init(&out);
    graph_filter(&out, g, is_kept, &m);
    graph_release(g);
    *g = out;
    free(m.out);
    free(m.by_us);
    free(m.by_all);
}
