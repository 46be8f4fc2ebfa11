/* SPDX-License-Identifier: Apache-2.0 */
/* What is around the processes, or the finds of sources, that were asked for. For topo.c and narrow.c. */
#ifndef WPROF_TOPO_REDUCE_H
#define WPROF_TOPO_REDUCE_H

#include "topo/topo.h"

/* Seeds that are no source: the pids asked for, and what other hosts sent (wprof merge). */
#define TOPO_SEED_STATIC "static"
#define TOPO_SEED_REMOTE "remote"
#define TOPO_SEED_ALL    "all"
#define TOPO_SEED_WITTY  "witty"

int topo_listed(const char *list, const char *name); /* whether it is one of those between commas */
/* Whether the graph is to start from what that source finds. */
int topo_wants_seed(const struct topo_opts *o, const char *name);

/* What is around the seeds, into an initialised graph; a line on the pids into the coverage of both. -1 with
 * `e`: there is none of the pids asked for. */
int topo_reduce(struct graph *out, struct graph *g, const struct topo_opts *o, struct err *e);

#endif
