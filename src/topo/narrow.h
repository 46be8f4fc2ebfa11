/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of what is around a few processes that reads little else: what a recorder needs beside a target
 * whose time it must not take. The graph is that of a whole snapshot reduced to the pids, but for what is
 * counted over all (a container's processes); sources that cannot add to it are listed as "off".
 */
#ifndef WPROF_TOPO_NARROW_H
#define WPROF_TOPO_NARROW_H

#include "topo/topo.h"

/* -1 with `e`: there is none of the pids, or no /proc. */
int narrow_run(struct graph *g, const struct topo_source *const *sources, size_t n,
               const struct topo_ctx *ctx, const struct topo_opts *o, struct err *e);

#endif
