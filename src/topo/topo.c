/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/topo.h"

#include "base/opt.h"
#include "model/graph_ops.h"
#include "platform/clock.h"
#include "topo/runner.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    NSOURCES = 0
#define SOURCE(name) +1
#include "topo/sources.def"
#undef SOURCE
};

const struct topo_source *const topo_sources[] = {
#define SOURCE(name) &topo_source_##name,
#include "topo/sources.def"
#undef SOURCE
};
const size_t ntopo_sources = ARRAY_SIZE(topo_sources);

/* Seeds that are no source: the pids asked for, and what other hosts sent (wprof merge). */
static const char seed_static[] = "static", seed_remote[] = "remote", seed_all[] = "all",
                  seed_witty[] = "witty";

/* Where witty-profiler starts: their default seeds under our names. */
static const char witty_seeds[] = "npu,gpu,remote,numa,rdma,static,common-parent";

static const char *const seeds_beside[] = {seed_static, seed_remote, seed_all, seed_witty};

void topo_opts_init(struct topo_opts *o)
{
    *o = (struct topo_opts){.hops = 3,
                            .limits = {.timeout_ns = 5000000000u,
                                       .max_pairs = 66, /* twelve processes, each with each */
                                       .max_threads = 4096,
                                       .top_cpu = 10,
                                       .numa_switches = 0.1,
                                       .numa_cpu = 0.1,
                                       .numa_busy = 0.01}};
}

/* ---- lists of names ---- */

static int listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, name, n) && (p[n] == ',' || !p[n]))
            return 1;
    return 0;
}

static int known(const char *name, int seed)
{
    for (size_t i = 0; i < ntopo_sources; i++)
        if (!strcmp(topo_sources[i]->name, name))
            return 1;
    for (size_t i = 0; seed && i < ARRAY_SIZE(seeds_beside); i++)
        if (!strcmp(seeds_beside[i], name))
            return 1;
    return 0;
}

static int check_list(const char *list, const char *option, int seed, struct err *e)
{
    char *copy = mem_strdup(list), *rest = copy, *name;
    const char *names[NSOURCES + ARRAY_SIZE(seeds_beside)], *near;
    int rc = 0;

    for (size_t i = 0; i < NSOURCES; i++)
        names[i] = topo_sources[i]->name;
    for (size_t i = 0; i < ARRAY_SIZE(seeds_beside); i++)
        names[NSOURCES + i] = seeds_beside[i];
    while (!rc && (name = strsep(&rest, ","))) {
        if (known(name, seed))
            continue;
        near = opt_nearest(name, names, NSOURCES + (seed ? ARRAY_SIZE(seeds_beside) : 0));
        rc = err_set(e, "%s: there is no source '%s'%s%s%s", option, name, near ? ", did you mean " : "",
                     near ? near : "", near ? "?" : " (wprof topo --sources lists them)");
    }
    free(copy);
    return rc;
}

int topo_check(const struct topo_opts *o, struct err *e)
{
    return (o->seed && check_list(o->seed, "--seed", 1, e)) ||
                   (o->without && check_list(o->without, "--without-source", 0, e))
               ? -1
               : 0;
}

/* Whether the graph is to start from what that source finds. */
static int is_wanted_seed(const struct topo_opts *o, const char *name)
{
    return o->seed && (listed(o->seed, name) || (listed(o->seed, seed_witty) && listed(witty_seeds, name)));
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
        yes = *source && is_wanted_seed(o, source);
    free(copy);
    if (!yes && is_wanted_seed(o, seed_remote))
        yes = strcmp(n->ns, GRAPH_LOCAL) != 0;
    if (!yes && is_wanted_seed(o, seed_static))
        yes = !o->npids && n->kind == GRAPH_PROCESS;
    return yes;
}

static void cover_pids(struct graph *g, const struct topo_opts *o, size_t found, const struct buf *missing)
{
    char *detail = missing->len ? mem_printf("no such process: %s", buf_str(missing)) : mem_strdup("");

    graph_cover(g, &(struct graph_coverage){.source = seed_static,
                                            .state = missing->len ? "partial" : "ok",
                                            .detail = detail,
                                            .seen = found,
                                            .vanished = o->npids - found});
    free(detail);
}

/* Leaves what is around the seeds. -1: there is none of the pids asked for. */
static int reduce(struct graph *g, const struct topo_opts *o, struct err *e)
{
    struct chosen c = {g, mem_calloc(g->nodes.n + 1, 1)};
    struct graph_nodes seeds = {0};
    struct buf missing = {0};
    struct graph out;
    size_t found = 0;

    if (o->npids && (!o->seed || is_wanted_seed(o, seed_static))) {
        found = add_pids(&c, o, &missing);
        add_descendants(&c);
        cover_pids(g, o, found, &missing);
    }
    for (size_t i = 0; i < g->nodes.n; i++)
        if (c.seed[i] || (o->seed && is_seed(o, g->nodes.a[i])))
            *vec_push(&seeds.list) = g->nodes.a[i];
    graph_init(&out);
    graph_around(&out, g, &seeds, o->hops);
    graph_release(g);
    *g = out;
    vec_release(&seeds.list);
    free(c.seed);
    if (o->npids && !o->seed && !found)
        err_set(e, "no such process: %s", buf_str(&missing));
    buf_release(&missing);
    return o->npids && !o->seed && !found ? -1 : 0;
}

/* ---- the snapshot ---- */

int topo_snapshot(struct graph *g, const struct topo_opts *o, struct err *e)
{
    const struct topo_source *run[NSOURCES];
    struct topo_ctx ctx = {.root = o->root ? o->root : "",
                           .live = !o->root || !*o->root,
                           .pids = o->pids,
                           .npids = o->npids,
                           .limits = o->limits};
    char host[256];
    size_t n = 0;

    if (topo_check(o, e))
        return -1;
    g->time_ns = clock_ns(CLOCK_REALTIME);
    topo_read_line(&ctx, "/proc/sys/kernel/hostname", host, sizeof(host));
    g->host = graph_text(g, host);
    for (size_t i = 0; i < ntopo_sources; i++) {
        const struct topo_source *s = topo_sources[i];

        if (o->without && listed(o->without, s->name))
            graph_cover(g, &(struct graph_coverage){.source = s->name, .state = "off"});
        else if (s->on_by_default || is_wanted_seed(o, s->name))
            run[n++] = s;
    }
    if (runner_run(g, run, n, &ctx, e))
        return -1;
    if (o->npids || (o->seed && !listed(o->seed, seed_all)))
        return reduce(g, o, e);
    return 0;
}
