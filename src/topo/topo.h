/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot: chosen sources side by side, each in a child of its own, their graphs merged. */
#ifndef WPROF_TOPO_TOPO_H
#define WPROF_TOPO_TOPO_H

#include "base/err.h"
#include "model/graph.h"
#include "topo/source.h"

/* What another host's snapshot found. */
struct topo_remote {
    char *name; /* its namespace */
    struct graph *g;
};

struct topo_opts {
    const char *root;    /* NULL or "": this machine */
    const char *seed;    /* names, commas between; NULL: those on by default; "all" */
    const char *without; /* names to leave out, or NULL */
    const int *pids;     /* the graph is what is around these; none: the whole machine */
    size_t npids;
    unsigned hops; /* from the pids outward; 0: those alone */
    int narrow;    /* with pids and no seed: read little else, in this process (narrow.h) */
    const struct topo_remote *remote; /* added, and joined to this one by the connections between them */
    size_t nremote;
    int own; /* a pid that is no part of the machine, ours; 0: none */
    struct topo_limits limits;
};

void topo_opts_init(struct topo_opts *o); /* the defaults */

extern const struct topo_source *const topo_sources[];
extern const size_t ntopo_sources;

/* -1 with `e`: a source of that name there is none (names the nearest). */
int topo_check(const struct topo_opts *o, struct err *e);

/* Fills an initialised graph; a source that fails is a line in graph.coverage, not a failure. */
int topo_snapshot(struct graph *g, const struct topo_opts *o, struct err *e);

#endif
