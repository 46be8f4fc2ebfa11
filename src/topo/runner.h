/* SPDX-License-Identifier: Apache-2.0 */
/* Runs sources in children and takes what they send back. For topo.c. */
#ifndef WPROF_TOPO_RUNNER_H
#define WPROF_TOPO_RUNNER_H

#include "topo/source.h"

/* Reads /proc for those who need it, unless like->scan is set. Puts what the sources found into g, and a line
 * for each into g->coverage. Returns when all are done or out of time. -1 with `e` only where no child can be
 * made at all. */
int runner_run(struct graph *g, const struct topo_source *const *sources, size_t n,
               const struct topo_ctx *like, struct err *e);

/* The same for one source, in this process: it must not hang nor go away to another namespace. */
void runner_run_here(struct graph *g, const struct topo_source *source, const struct topo_ctx *like);

#endif
