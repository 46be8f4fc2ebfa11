/* SPDX-License-Identifier: Apache-2.0 */
#include "topo/topo.h"

#include "base/opt.h"
#include "model/graph_hosts.h"
#include "platform/clock.h"
#include "topo/narrow.h"
#include "topo/reduce.h"
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

static const char *const seeds_beside[] = {TOPO_SEED_STATIC, TOPO_SEED_REMOTE, TOPO_SEED_ALL,
                                           TOPO_SEED_WITTY};

void topo_opts_init(struct topo_opts *o)
{
    *o = (struct topo_opts){.hops = 3,
                            .limits = {.timeout_ns = 5000000000u,
                                       .max_pairs = 66, /* twelve processes, each with each */
                                       .max_threads = 4096,
                                       .top_cpu = 10,
                                       .numa_switches = 0.1,
                                       .numa_cpu = 0.1,
                                       .numa_busy = 0.01,
                                       .numa_walk = 256ull << 30}};
}

/* ---- lists of names ---- */

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

/* ---- the snapshot ---- */

static void add_remote(struct graph *g, const struct topo_opts *o)
{
    struct graph_hosts_joined joined;
    struct graph out;
    struct buf detail = {0};

    for (size_t i = 0; i < o->nremote; i++)
        graph_add_host(g, o->remote[i].g, o->remote[i].name);
    graph_init(&out);
    graph_join_hosts(&out, g, &joined);
    graph_release(g);
    *g = out;
    buf_addf(&detail, "%zu connections between hosts", joined.connections);
    if (joined.ambiguous)
        buf_addf(&detail, "; %zu may be between several, and are not joined", joined.ambiguous);
    graph_cover(g, &(struct graph_coverage){.source = TOPO_SEED_REMOTE,
                                            .state = joined.ambiguous ? "partial" : "ok",
                                            .detail = buf_str(&detail),
                                            .seen = o->nremote});
    buf_release(&detail);
}

static int reduce(struct graph *g, const struct topo_opts *o, struct err *e)
{
    struct graph out;
    int rc;

    graph_init(&out);
    rc = topo_reduce(&out, g, o, e);
    graph_release(g);
    *g = out;
    return rc;
}

int topo_snapshot(struct graph *g, const struct topo_opts *o, struct err *e)
{
    const struct topo_source *run[NSOURCES];
    struct topo_ctx ctx = {.root = o->root ? o->root : "",
                           .live = !o->root || !*o->root,
                           .pids = o->pids,
                           .npids = o->npids,
                           .own = o->own,
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

        if (o->without && topo_listed(o->without, s->name))
            graph_cover(g, &(struct graph_coverage){.source = s->name, .state = "off"});
        else if (s->on_by_default || topo_wants_seed(o, s->name))
            run[n++] = s;
    }
    if (o->narrow && o->npids && !o->seed && !o->nremote)
        return narrow_run(g, run, n, &ctx, o, e);
    if (runner_run(g, run, n, &ctx, e))
        return -1;
    if (o->nremote)
        add_remote(g, o);
    if (!o->npids && (!o->seed || topo_listed(o->seed, TOPO_SEED_ALL)))
        return 0;
    return reduce(g, o, e);
}
