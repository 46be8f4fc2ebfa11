/* SPDX-License-Identifier: Apache-2.0 */
/* The graphs of several hosts as one: each host's nodes have its name as their namespace. */
#ifndef WPROF_MODEL_GRAPH_HOSTS_H
#define WPROF_MODEL_GRAPH_HOSTS_H

#include "model/graph.h"

/* Puts another host's graph into `into`, its nodes of the namespace "local" in the namespace `name`, its
 * coverage as "name:source". */
void graph_add_host(struct graph *into, const struct graph *from, const char *name);

struct graph_hosts_joined {
    size_t connections; /* between hosts, both ends of which are here */
    size_t ambiguous;   /* several hosts have an end of these addresses and ports: left as they were */
};

/* The same graph into an initialised one, where what a host knows of another's socket by its address is that
 * socket: found by both ends' addresses and ports, of addresses that mean the same on all hosts. What both
 * ends counted of a connection is one connection's, and their processes are joined by it. */
void graph_join_hosts(struct graph *out, const struct graph *g, struct graph_hosts_joined *joined);

#endif
