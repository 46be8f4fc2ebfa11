/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/reduce.h"

#include "model/graph_ops.h"

#include <stdio.h>
#include <string.h>

/* Where witty-profiler starts: their default seeds under our names. */
static const char witty_seeds[] = "npu,gpu,remote,numa,rdma,static,common-parent";

int topo_listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, name, n) && (p[n] == ',' || !p[n]))
            return 1;
    return 0;
}

int topo_wants_seed(const struct topo_opts *o, const char *name)
{
    return o->seed && (topo_listed(o->seed, name) ||
                       (topo_listed(o->seed, TOPO_SEED_WITTY) && topo_listed(witty_seeds, name)));
}

/* ---- what the graph is about ---- */

struct chosen {
    const struct graph *g;
    uint8_t *seed; /* of node i */
};

static void add_descendants(struct chosen *c)
{
    for (int more = 1; more;) {
        more = 0;
        for (size_t i = 0; i < c->g->edges.n; i++) {
            const struct graph_edge *e = c->g->edges.a[i];

            if (e->kind != GRAPH_EDGE_OWN || e->b->kind != GRAPH_PROCESS || !c->seed[e->a->index] ||
                c->seed[e->b->index])
                continue;
            c->seed[e->b->index] = 1;
            more = 1;
        }
    }
}

/* How many of the pids there are; those that are not are told. */
static size_t add_pids(struct chosen *c, const struct topo_opts *o, struct buf *missing)
{
    size_t found = 0;

    for (size_t i = 0; i < o->npids; i++) {
        char pid[16];
        const struct graph_node *n;

        snprintf(pid, sizeof(pid), "%d", o->pids[i]);
        n = graph_find(c->g, &(struct graph_id){.kind = GRAPH_PROCESS, .field = {pid}});
        if (n) {
            c->seed[n->index] = 1;
            found++;
        } else {
            buf_addf(missing, "%s%s", missing->len ? ", " : "", pid);
        }
    }
    return found;
}

static int is_seed(const struct topo_opts *o, const struct graph_node *n)
{
    char *copy = mem_strdup(n->source), *rest = copy, *source;
    int yes = 0;

    while (!yes && (source = strsep(&rest, ",")))
        yes = *source && topo_wants_seed(o, source);
    free(copy);
    if (!yes && topo_wants_seed(o, TOPO_SEED_REMOTE))
        yes = strcmp(n->ns, GRAPH_LOCAL) != 0;
    if (!yes && topo_wants_seed(o, TOPO_SEED_STATIC))
        yes = !o->npids && n->kind == GRAPH_PROCESS;
    return yes;
}

static void cover_pids(struct graph *g, const struct topo_opts *o, size_t found, const struct buf *missing)
{
    char *detail = missing->len ? mem_printf("no such process: %s", buf_str(missing)) : mem_strdup("");

    graph_cover(g, &(struct graph_coverage){.source = TOPO_SEED_STATIC,
                                            .state = missing->len ? "partial" : "ok",
                                            .detail = detail,
                                            .seen = found,
                                            .vanished = o->npids - found});
    free(detail);
}

int topo_reduce(struct graph *out, struct graph *g, const struct topo_opts *o, struct err *e)
{
    struct chosen c = {g, mem_calloc(g->nodes.n + 1, 1)};
    struct graph_nodes seeds = {0};
    struct buf missing = {0};
    size_t found = 0;

    if (o->npids && (!o->seed || topo_wants_seed(o, TOPO_SEED_STATIC))) {
        found = add_pids(&c, o, &missing);
        add_descendants(&c);
        cover_pids(g, o, found, &missing);
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        if (c.seed[i] || (o->seed && is_seed(o, g->nodes.a[i])))
            *vec_push(&seeds.list) = g->nodes.a[i];
    graph_around(out, g, &seeds, o->hops);
    vec_release(&seeds.list);
    free(c.seed);
    if (o->npids && !o->seed && !found)
        err_set(e, "no such process: %s", buf_str(&missing));
    buf_release(&missing);
    return o->npids && !o->seed && !found ? -1 : 0;
}
