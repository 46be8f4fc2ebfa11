/* SPDX-License-Identifier: Apache-2.0 */
/* For the source rdma. */
#ifndef WPROF_TOPO_RDMA_H
#define WPROF_TOPO_RDMA_H

#include "platform/rdma.h"
#include "topo/source.h"

/* Puts queue pairs, memory regions and protection domains of processes into the graph. Those of the kernel
 * are counted: the result. */
uint64_t rdma_add_objects(struct topo_ctx *ctx, struct graph *g, const struct rdma_objects *r);

#endif
