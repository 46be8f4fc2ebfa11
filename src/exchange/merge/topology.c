/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions' topologies as one. */
#include "base/io.h"
#include "exchange/merge/merge.h"
#include "model/graph_hosts.h"
#include "model/graph_json.h"
#include "model/graph_ops.h"

#include <fcntl.h>
#include <unistd.h>

static const char FILE_NAME[] = "topology.json";

/* 1: it has none. */
int merge_topology_read(const struct session *s, struct graph *g, struct err *e)
{
    struct buf text = {0};
    int dir = open(session_files(s), O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (dir < 0)
        return 1;
    if (faccessat(dir, FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW)) {
        close(dir);
        return 1;
    }
    rc = io_read_file(dir, FILE_NAME, &text, e) || graph_json_read(g, buf_str(&text), text.len, e);
    close(dir);
    buf_release(&text);
    return rc ? err_wrap(e, "%s/%s", s->path, FILE_NAME) : 0;
}

static uint64_t shifted(uint64_t ns, int64_t by)
{
    return ns && (int64_t)ns + by > 0 ? (uint64_t)((int64_t)ns + by) : ns;
}

/* From its host's CLOCK_REALTIME to that of the first. */
static void shift(struct graph *g, int64_t by)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        g->nodes.a[i]->first_ns = shifted(g->nodes.a[i]->first_ns, by);
        g->nodes.a[i]->last_ns = shifted(g->nodes.a[i]->last_ns, by);
    }
    for (size_t i = 0; i < g->edges.n; i++) {
        g->edges.a[i]->first_ns = shifted(g->edges.a[i]->first_ns, by);
        g->edges.a[i]->last_ns = shifted(g->edges.a[i]->last_ns, by);
    }
    g->time_ns = shifted(g->time_ns, by);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Two recordings on one host may both tell of one connection: what is greater was seen longer. The later
 * one's figures then replace the earlier's. */
static void widen(struct graph *later, const struct graph *earlier)
{
    for (size_t i = 0; i < later->edges.n; i++) {
        struct graph_edge *e = later->edges.a[i];
        const struct graph_edge *before = graph_edge_in(earlier, e);
        int turned;

        if (!before)
            continue;
        turned = graph_node_in(later, before->a) != e->a;
        e->bytes_ab = larger(e->bytes_ab, turned ? before->bytes_ba : before->bytes_ab);
        e->bytes_ba = larger(e->bytes_ba, turned ? before->bytes_ab : before->bytes_ba);
        e->messages_ab = larger(e->messages_ab, turned ? before->messages_ba : before->messages_ab);
        e->messages_ba = larger(e->messages_ba, turned ? before->messages_ab : before->messages_ba);
        e->weight = before->weight > e->weight ? before->weight : e->weight;
    }
}

int merge_topology_add(struct merge *m, size_t part, const struct session *s, struct err *e)
{
    const struct merge_part *p = &m->parts.a[part];
    const struct merge_domain *d = &m->domains.a[p->domain];
    struct merge_host *h = &m->hosts.a[p->host];
    struct graph g;
    int rc;

    graph_init(&g);
    rc = merge_topology_read(s, &g, e);
    if (!rc) {
        shift(&g, d->offset.ns + (int64_t)(m->domains.a[0].realtime_offset - d->realtime_offset));
        widen(&g, &h->graph);
        graph_merge(&h->graph, &g, GRAPH_LATER, NULL);
        h->graphs++;
    }
    graph_release(&g);
    return rc < 0 ? -1 : 0;
}

int merge_graph(struct merge *m, struct graph *out)
{
    struct graph_hosts_joined joined = {0};
    struct graph all;
    size_t n = 0;

    graph_init(&all);
    for (size_t i = 0; i < m->hosts.n; i++) {
        if (!m->hosts.a[i].graphs)
            continue;
        n++;
        if (m->hosts.n > 1)
            graph_add_host(&all, &m->hosts.a[i].graph, m->hosts.a[i].name);
        else
            graph_merge(&all, &m->hosts.a[i].graph, GRAPH_BESIDE, NULL);
    }
    if (m->hosts.n > 1)
        graph_join_hosts(out, &all, &joined);
    else
        graph_merge(out, &all, GRAPH_BESIDE, NULL);
    m->joined = joined.connections;
    graph_release(&all);
    return n > 0;
}
