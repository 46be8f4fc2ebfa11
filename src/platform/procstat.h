/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures of the machine from /proc, in ns, bytes and counts since boot. Parsers take the text of a file and
 * give -1 where what they look for isn't in it. proc(5), Documentation/accounting/psi.rst.
 */
#ifndef WPROF_PLATFORM_PROCSTAT_H
#define WPROF_PLATFORM_PROCSTAT_H

#include "base/vec.h"

#include <stdint.h>

struct procstat_cpu {
    uint32_t cpu;
    uint64_t user; /* with nice, and guests */
    uint64_t system, irq, idle, iowait, steal;
};

struct procstat {
    struct procstat_cpu all;
    VEC(struct procstat_cpu) cpus; /* those online */
    uint64_t switches;
    uint64_t running, blocked; /* tasks, now */
};

int procstat_parse(const char *text, struct procstat *out); /* of /proc/stat; `out` is used again */
void procstat_release(struct procstat *s);

struct procstat_memory {
    uint64_t available, swap_total, swap_free;
    int has_available, has_swap;
};
int procstat_parse_memory(const char *text, struct procstat_memory *out); /* of /proc/meminfo */

struct procstat_vm {
    uint64_t faults, major_faults;
    uint64_t paged_in, paged_out; /* bytes from and to block devices */
    uint64_t swapped_in, swapped_out;
};
int procstat_parse_vm(const char *text, struct procstat_vm *out); /* of /proc/vmstat */

/* Time lost to waiting: some tasks, all that weren't idle. */
struct procstat_pressure {
    uint64_t some_ns, full_ns;
    int has_full; /* not of a CPU before 5.13 */
};
int procstat_parse_pressure(const char *text, struct procstat_pressure *out);

/* Of /proc/schedstat, which few kernels have: run-queue delay of all CPUs. */
int procstat_parse_delay(const char *text, uint64_t *ns);

#endif
