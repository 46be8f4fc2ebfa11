/* SPDX-License-Identifier: Apache-2.0 */
/* On which NUMA nodes threads run: their CPU time and their last CPU, looked at again and again. For the
 * source numa-use. proc(5), Documentation/scheduler/sched-stats.rst. */
#ifndef WPROF_TOPO_NUMA_TASKS_H
#define WPROF_TOPO_NUMA_TASKS_H

#include "topo/hardware.h"

struct numa_thread {
    int tid;
    uint64_t start;             /* ticks since boot */
    uint64_t run_ns;            /* since it began, at the last look */
    int64_t cpu;                /* the last one it was on */
    double *ns;                 /* by node (hw_near's order): what it ran there while it was looked at */
    uint64_t voluntary, forced; /* switches since it began */
    uint8_t gone, moved;        /* moved: it was on more than one node */
    char name[64], cpus[128], mems[64]; /* cpus, mems: what it may use */
};

struct numa_process {
    const struct scan_process *of;
    VEC(struct numa_thread) threads;
    uint8_t asked; /* by --pid */
};

struct numa_tasks {
    struct hw_near near;
    VEC(struct numa_process) list;
    VEC(int32_t) node_of; /* CPU -> index in near.nodes, -1: none */
    uint64_t window_ns;   /* 0: since they began */
};

/* Takes the processes that are asked for, or all where their threads are no more than the limit. Returns how
 * many threads were left out. */
uint64_t numa_tasks_choose(struct numa_tasks *t, struct topo_ctx *ctx);
void numa_tasks_watch(struct numa_tasks *t, struct topo_ctx *ctx);
/* Reads what of their threads is looked at once. */
void numa_tasks_status(struct topo_ctx *ctx, struct numa_process *p);
double numa_tasks_ns(const struct numa_tasks *t, const struct numa_thread *thread); /* on all nodes */
void numa_tasks_release(struct numa_tasks *t);

#endif
