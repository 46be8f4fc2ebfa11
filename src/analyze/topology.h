/* SPDX-License-Identifier: Apache-2.0 */
/* The topology of a session. */
#ifndef WPROF_ANALYZE_TOPOLOGY_H
#define WPROF_ANALYZE_TOPOLOGY_H

#include "model/graph.h"
#include "model/session.h"

int topology_has(const struct session *s);

/* Reads topology.json into an initialised graph. -1 with `e`: the session has none, or it is damaged. */
int topology_read(const struct session *s, struct graph *g, struct err *e);

#endif
