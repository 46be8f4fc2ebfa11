/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of a process: what it used and how it was held back. Versions 1, 2 and both at once, also
 * as a container sees them. Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/.
 */
#ifndef WPROF_PLATFORM_CGROUP_H
#define WPROF_PLATFORM_CGROUP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* What `has` says is there. */
enum {
    CGROUP_HAS_CPU = 1,
    CGROUP_HAS_QUOTA = 2, /* a limit is set: limit, and what comes of it */
    CGROUP_HAS_MEMORY = 4,
    CGROUP_HAS_MEMORY_MAX = 8,
    CGROUP_HAS_HIGH = 16, /* version 2 alone */
    CGROUP_HAS_FAILS = 32,
    CGROUP_HAS_OOM_KILLS = 64,
    CGROUP_HAS_PRESSURE = 128,
};

/* ns, bytes and counts since the group was made; limits as of now. Limits are the tightest of the group and
 * those above it, periods and throttling those of the group that has the CPU's limit. */
struct cgroup_figures {
    uint32_t has;
    uint64_t cpu_ns;
    double cpus; /* the limit */
    uint64_t periods, throttled_periods, throttled_ns;
    uint64_t memory, memory_max, high, fails, oom_kills;
    uint64_t pressure_cpu_ns, pressure_memory_ns, pressure_io_ns;
};

/* Where a process's groups lie, as paths below a root (sysfile.h); NULL: nowhere. Owned. */
struct cgroup {
    int root;
    char *name;               /* as /proc/PID/cgroup tells */
    char *cpu, *cpuacct;      /* version 1 */
    char *memory;             /* version 1 */
    char *unified;            /* version 2 */
    char *tops[4];            /* where each of them is mounted: cpu, cpuacct, memory, unified */
    int cpu_is_v1, mem_is_v1; /* who has them, where both versions are there */
    int cpu_is_all, mem_is_all, unified_is_all; /* the group that all are in is the machine: not told */
};

/* -1 with `e`: it is gone, or no control groups are mounted that tell of it. */
int cgroup_open(struct cgroup *c, int root, pid_t pid, struct err *e);
void cgroup_close(struct cgroup *c);
void cgroup_read(const struct cgroup *c, struct cgroup_figures *out);

/* ---- of texts ---- */

/* The path of the hierarchy with `controller` ("" for version 2) in a /proc/PID/cgroup; appended. -1: none.
 */
int cgroup_parse_path(const char *text, const char *controller, struct buf *out);

/* The mount of that hierarchy in a mountinfo: its root and its mount point, appended. -1: none. */
int cgroup_parse_mount(const char *text, const char *controller, struct buf *root, struct buf *point);

/* "max 100000", "50000 100000": CPUs; -1: no limit, or malformed. */
int cgroup_parse_max(const char *text, double *cpus);

#endif
