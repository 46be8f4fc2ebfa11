/* SPDX-License-Identifier: Apache-2.0 */
/* What of a session tells how far its clock is from others'. */
#include "exchange/merge/merge.h"
#include "model/barrier.h"

#include <string.h>

int merge_wants_evidence(const struct merge *m)
{
    return m->domains.n > 1 && m->opts.how != CLOCKS_WALL;
}

/* The name under which all ranks were there; NULL: it is no barrier. */
static const char *barrier_of(const struct merge *m, const struct store *s, const struct event *ev)
{
    const struct gpu_work *w = ev->kind == EVENT_GPU ? gpu_works_get(&s->gpus, ev->attr) : NULL;
    const char *text = w                          ? strtab_get(&s->strings, w->name)
                       : ev->kind == EVENT_MARKER ? strtab_get(&s->strings, ev->metric)
                                                  : NULL;

    if (!text || !ev->dur || ev->flags & (EVENT_OPEN | EVENT_JOINED))
        return NULL;
    if (w)
        return w->op == GPU_KERNEL && barrier_is_kernel(text) ? text : NULL;
    return barrier_is_mark(text, m->barriers.a, m->barriers.n) ? text : NULL;
}

/* ---- sockets ---- */

/* Both ends of a connection by one name, and the way that a message went. */
static void add_message(struct merge *m, uint32_t domain, const struct graph_edge *e, const char *attr,
                        int forth, int is_first)
{
    const struct graph_node *from = forth ? e->a : e->b, *to = forth ? e->b : e->a;
    int64_t ns = graph_attr_int(&e->attrs, attr, 0);
    int received = graph_attr_int(&e->attrs, "near_end", -1) == (forth ? 1 : 0);
    struct buf name = {0};

    if (ns <= 0)
        return;
    /* Only where both ends have counted as much have both seen all of it, and nothing is on its way: then
     * what was sent first, and last, is what was received first, and last. */
    buf_addf(&name, "%s > %s: %s of %llu", from->key, to->key, is_first ? "first" : "last",
             (unsigned long long)(forth ? e->bytes_ab : e->bytes_ba));
    clocks_message(&m->clocks, buf_str(&name), domain, received, (uint64_t)ns);
    buf_release(&name);
}

static void look_at_sockets(struct merge *m, uint32_t domain, const struct graph *g)
{
    for (size_t i = 0; i < g->edges.n; i++) {
        const struct graph_edge *e = g->edges.a[i];

        if (e->kind != GRAPH_EDGE_CONNECT || graph_attr_int(&e->attrs, "near_end", -1) < 0)
            continue;
        add_message(m, domain, e, "first_ab_ns", 1, 1);
        add_message(m, domain, e, "last_ab_ns", 1, 0);
        add_message(m, domain, e, "first_ba_ns", 0, 1);
        add_message(m, domain, e, "last_ba_ns", 0, 0);
    }
}

int merge_look(struct merge *m, size_t part, const struct session *s, struct err *e)
{
    const struct merge_part *p = &m->parts.a[part];
    struct graph g;
    int rc;

    for (size_t i = 0; i < s->store.events.n; i++) {
        const struct event *ev = &s->store.events.a[i];
        const char *name = barrier_of(m, &s->store, ev);

        if (name)
            clocks_barrier(&m->clocks, name, p->domain, (uint32_t)part, ev->ts, ev->ts + ev->dur);
    }
    graph_init(&g);
    rc = merge_topology_read(s, &g, e);
    if (!rc)
        look_at_sockets(m, p->domain, &g);
    graph_release(&g);
    return rc < 0 ? -1 : 0;
}

void merge_clocks(struct merge *m)
{
    size_t n = m->domains.n;
    int64_t *wall = mem_calloc(n, sizeof(*wall));
    int *dated = mem_calloc(n, sizeof(*dated));
    struct clocks_offset *out = mem_calloc(n, sizeof(*out));
    const struct merge_domain *first = &m->domains.a[0];

    for (size_t d = 0; d < n; d++) {
        dated[d] = m->domains.a[d].dated;
        wall[d] = (int64_t)(m->domains.a[d].realtime_offset - first->realtime_offset);
    }
    /* Where no date is known it begins with the first. */
    for (size_t i = m->parts.n; i-- > 0;) {
        uint32_t d = m->parts.a[i].domain;

        if (!dated[d] || !dated[0])
            wall[d] = (int64_t)(m->parts.a[0].meta.start_mono - m->parts.a[i].meta.start_mono);
    }
    clocks_solve(&m->clocks, m->opts.how, n, wall, dated, out);
    for (size_t d = 0; d < n; d++)
        m->domains.a[d].offset = out[d];
    free(wall);
    free(dated);
    free(out);
}
