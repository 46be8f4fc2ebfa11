/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a run beside each other: who comes last, and what it does while the others wait for it. */
#ifndef WPROF_ANALYZE_RANKS_H
#define WPROF_ANALYZE_RANKS_H

#include "analyze/gpu_trace.h"
#include "analyze/rank_waits.h"
#include "model/table.h"

/* A step as all ranks went through it. */
struct ranks_step {
    uint32_t unit;               /* index of the first's; UINT32_MAX: the whole time */
    uint32_t first, n;           /* of ranks.visits: one for each rank that has it */
    uint32_t last;               /* index of the rank that waited least; UINT32_MAX: none can be told */
    uint64_t own_mean, own_most; /* ns not waited for others */
    uint64_t waited;             /* how much more the others waited for others than the last, in sum */
};

struct ranks_visit {
    uint32_t rank;
    uint64_t start, end, own;
};

/* What a rank did while others waited for it: one kind of doing, at one place. */
struct ranks_did {
    uint32_t rank, state, where; /* state: RANKS_...; where: a string of the store, 0: not known */
    uint64_t ns;
};

enum {
    RANKS_RAN,
    RANKS_QUEUED,
    RANKS_GPU,     /* a kernel of its device ran; besides what the thread did */
    RANKS_BLOCKED, /* + enum wait_reason */
};

struct ranks {
    const struct session *s;
    struct gpu_trace gpu;
    struct units units;
    struct units_choice choice;
    struct rank_waits waits;
    VEC(struct ranks_step) steps;
    VEC(struct ranks_visit) visits;
    VEC(struct ranks_did) did; /* by rank, the longest first */
    uint64_t *last,
        *others;      /* by rank: in how many steps it came last; how long others waited then, in sum */
    size_t open;      /* steps that went on when their recording ended, in sum of all ranks: left out */
    const char *kind; /* of the steps; NULL: there are none, it is the whole time */
};

/* A session without origins has no ranks: the list of waits is empty then. */
void ranks_init(struct ranks *r, const struct session *s);
void ranks_release(struct ranks *r);

/* A rank that came last in half of the steps or more, and for which the others waited more than 1 % of their
 * time. */
int ranks_is_straggler(const struct ranks *r, size_t rank);

/*
 * A row for each rank. Columns: rank, host, process, pid, wall_ns, cpu_ns (of all its tasks, else what their
 * samples stand for), offcpu_ns, runq_ns (of the lead thread), waited_ns (for other ranks), gpu_busy_ns (its
 * devices', in sum), steps, last (in how many of them it came last), last_share, others_waited_ns (how much
 * longer the others waited in those, in sum), note ("straggler"), clock, offset_ns, error_ns (null: not
 * known).
 */
void ranks_table(struct table *t, const struct ranks *r);

/*
 * A row for each step; of more than `limit` (0: all) those in which the others waited longest. Columns: step,
 * ranks (that have it), start_ns, ns (of the longest), own_mean_ns, own_max_ns (not waited for others),
 * imbalance (the most by the mean, less 1), last (the rank), others_waited_ns, did (what that one did most
 * meanwhile).
 */
void ranks_steps_table(struct table *t, const struct ranks *r, size_t limit);

/* What ranks that came last did while most others waited, at most `limit` rows each. Columns: rank, host,
 * state, ns, share (of all that the rank did then), where. */
void ranks_did_table(struct table *t, const struct ranks *r, size_t limit);

/* "rank 2 on node1"; appended. "on CPU", "blocked: disk". */
void ranks_name(const struct ranks *r, size_t rank, struct buf *out);
char *ranks_state(uint32_t state);

/* ---- between the files of this unit ---- */

void ranks_find_did(struct ranks *r);
/* What the rank that came last did most in this step while others waited, the longest first; how many. */
size_t ranks_did_most(const struct ranks *r, const struct ranks_step *x, struct ranks_did *out, size_t max);
/* "on CPU in f"; appended. */
void ranks_did_text(const struct ranks *r, const struct ranks_did *d, struct buf *out);

#endif
