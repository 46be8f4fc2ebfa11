/* SPDX-License-Identifier: Apache-2.0 */
/* Clock rates of CPUs: from cpufreq in /sys, else from /proc/cpuinfo. */
#ifndef WPROF_PLATFORM_CPUFREQ_H
#define WPROF_PLATFORM_CPUFREQ_H

#include "base/vec.h"

#include <stdint.h>

struct cpufreq_rate {
    uint32_t cpu;
    uint64_t hz;
};

struct cpufreq {
    VEC(struct cpufreq_rate) list;
    int no_scaling; /* /sys has none: not looked for again */
};

/* Of all CPUs that tell; 0 where none does. `out` is used again. */
size_t cpufreq_read(int root, struct cpufreq *out);
void cpufreq_release(struct cpufreq *f);

/* The "cpu MHz" lines of /proc/cpuinfo. */
size_t cpufreq_parse_cpuinfo(const char *text, struct cpufreq *out);

#endif
