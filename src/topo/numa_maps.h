/* SPDX-License-Identifier: Apache-2.0 */
/* On which NUMA nodes the pages of a process are: /proc/PID/numa_maps, numa_maps(5) in proc(5). */
#ifndef WPROF_TOPO_NUMA_MAPS_H
#define WPROF_TOPO_NUMA_MAPS_H

#include "base/vec.h"

#include <stdint.h>

enum { NUMA_MAPS_NODES = 1024 }; /* MAX_NUMNODES of the largest configurations */

struct numa_pages {
    unsigned node;
    uint64_t anon, file; /* bytes of mappings without and with a file */
};

struct numa_maps {
    VEC(struct numa_pages) nodes; /* by node */
};

/* Adds up a text; returns how many lines made no sense. */
size_t numa_maps_parse(struct numa_maps *m, const char *text);
void numa_maps_release(struct numa_maps *m);
uint64_t numa_maps_bytes(const struct numa_maps *m, int anon_only);

#endif
