/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a session that was made of several recordings, and when each waited for the others. A rank's
 * time is that of its lead thread: whose marks tell the steps, else the command's main thread, else who was
 * busiest.
 */
#ifndef WPROF_ANALYZE_RANK_WAITS_H
#define WPROF_ANALYZE_RANK_WAITS_H

#include "analyze/units.h"

struct rank_span {
    uint64_t start, end; /* in the session's time */
};

struct rank {
    uint32_t origin, task;       /* task: of the lead thread; 0: there is none */
    VEC(struct rank_span) waits; /* for other ranks; sorted, disjoint */
    VEC(uint32_t) events; /* of the lead thread, by time: samples, spans off the CPU and in the run queue */
    uint64_t offcpu, runq, samples, all_samples, cpu; /* lead's; samples and CPU time of all its tasks */
};

struct rank_waits {
    const struct session *s;
    VEC(struct rank) list; /* origins that are recordings, in their order */
    uint32_t *rank_of;     /* task id -> index + 1; 0: of none */
};

/*
 * What tells that a rank waits for others, the first that there is: its marks of barriers and collectives
 * (wprof-merge(1)) and kernels of collectives on its devices; else spans off the CPU and samples in functions
 * of MPI, NCCL, Gloo or torch.distributed, and spans off the CPU that wait for a TCP socket whose other end
 * is another rank's. The store's events must be in the order of time. units: NULL, or some of the session.
 */
void rank_waits_init(struct rank_waits *r, const struct session *s, const struct units *u,
                     const struct units_choice *steps);
void rank_waits_release(struct rank_waits *r);

/* How much of [from, to) a rank waited, ns. */
uint64_t rank_waited(const struct rank *k, uint64_t from, uint64_t to);

#endif
