/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever looks is not what is looked for: our own processes in a graph. */
#ifndef WPROF_TOPO_OWN_H
#define WPROF_TOPO_OWN_H

#include "model/graph.h"

struct topo_own {
    const int *pids; /* ours, with all that they made, */
    size_t npids;
    const int *kept; /* but for these, and what these made */
    size_t nkept;
};

/* Leaves them out of the graph of this machine, with their threads and with the channels and memory that
 * nobody else there has. Devices and other hardware stay. */
void topo_leave_out(struct graph *g, const struct topo_own *own);

#endif
