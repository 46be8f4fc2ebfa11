/* SPDX-License-Identifier: Apache-2.0 */
/* What of a session's topology is of the program that was recorded. */
#ifndef WPROF_ANALYZE_TOPOLOGY_RECORDED_H
#define WPROF_ANALYZE_TOPOLOGY_RECORDED_H

#include "model/graph.h"
#include "model/session.h"

/*
 * Into an initialised, empty graph: the processes that were recorded, with what they started and have, what
 * is connected with them, and the machine. Not what they were started from, nor what they have got from
 * there: the other ends of pipes. Where none of them is in g: all of it.
 */
void topology_recorded(const struct session *s, const struct graph *g, struct graph *out);

/* The name of the command's process in g, which it stays valid with; NULL: it isn't there. */
const char *topology_recorded_name(const struct session *s, const struct graph *g);

#endif
