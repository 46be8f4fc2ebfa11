/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs as the kernel groups them into cores, packages and caches. For the source cpu. */
#ifndef WPROF_TOPO_CPUS_H
#define WPROF_TOPO_CPUS_H

#include "topo/hardware.h"

struct cpus_package {
    int64_t id;
    struct idset cpus;  /* online ones */
    struct idset cores; /* each by its first CPU */
};

struct cpus_cache {
    unsigned level;
    char type; /* 'U'nified, 'D'ata, 'I'nstruction */
    uint64_t size;
    unsigned line, ways;
    struct idset cpus; /* online ones */
};

struct cpus {
    struct idset online, absent; /* absent: present in the machine, but offline */
    VEC(struct cpus_package) packages;
    VEC(struct cpus_cache) caches;
    int64_t contradicts; /* a CPU whose list of siblings is not its package, -1: none */
};

/* -1: the kernel tells of no CPU. */
int cpus_read(struct cpus *c, struct topo_ctx *ctx);
void cpus_release(struct cpus *c);

/* How many cores the CPUs of the set are of. */
size_t cpus_cores(const struct cpus *c, const struct idset *of);
/* Whether a cache is the last one before memory. */
int cpus_is_last(const struct cpus *c, const struct cpus_cache *cache);

#endif
