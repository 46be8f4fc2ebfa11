/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies of other hosts, from files. For topo.c. */
#ifndef WPROF_CMD_REMOTES_H
#define WPROF_CMD_REMOTES_H

#include "base/opt.h"
#include "topo/topo.h"

struct remotes {
    VEC(struct topo_remote) list;
};

/* "[NAME=]FILE", FILE a topology.json, a session that has one, or "-". A host without NAME is called what its
 * topology says; one name twice gets numbers. */
int remotes_read(struct remotes *r, const struct opt_list *from, struct err *e);
void remotes_release(struct remotes *r);

#endif
