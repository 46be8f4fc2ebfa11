/* SPDX-License-Identifier: Apache-2.0 */
/* The profile on the topology: what its processes spent their time with, and who waited for whom. */
#ifndef WPROF_ANALYZE_TOPOLOGY_SHARES_H
#define WPROF_ANALYZE_TOPOLOGY_SHARES_H

#include "model/graph.h"
#include "model/store.h"

/*
 * Sets attributes of the processes that both have, ns summed over their threads: cpu_ns, offcpu_ns (blocked),
 * gil_ns (waiting for it), io_ns (blocked on disks, sockets, pipes), runq_ns (runnable without a CPU),
 * cpu_share, the part of all recorded processes' CPU time, and, where devices did something, gpu_ns (what
 * they did for it, one after the other) and gpu_share. Adds an edge `wait` from each process to those of
 * others that ended its waits, weight in ns; an edge on which data go between the two gets waited_a_ns,
 * waited_b_ns: how long its a, its b waited for the other end. A wait for a TCP connection that an interrupt
 * ended is for whoever has its other end; others that one ended are nobody's.
 */
void topology_shares(struct graph *g, const struct store *s);

#endif
