/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libwprof-cuda.so: what the CUDA driver loads into a target for us. It must never harm the target: nothing
 * aborts, nothing is thrown, no symbol but the three entry points is visible, errno and signals are left
 * alone, a child of fork(2) does nothing but write down what it marks by NVTX.
 *
 * Threads: the target's, in CUPTI's callbacks (calls.c) and NVTX's functions (nvtx.c); CUPTI's own, which
 * hands over full buffers (records.c); and ours, the keeper, which flushes each second (keeper.c). Locks:
 * walk.lock, then out.lock; neither is held over a call of CUPTI or the loader.
 */
#ifndef WPROF_AGENT_AGENT_H
#define WPROF_AGENT_AGENT_H

#include "agent/cupti.h"
#include "agent/out.h"
#include "agent/table.h"

#include <stdatomic.h>
#include <sys/types.h>
#include <sys/un.h>

enum agent_table { TABLE_TEXTS, TABLE_WORKS, TABLE_MODULES, TABLE_CODES, TABLE_FRAMES, TABLE_STACKS, TABLES };

enum { LOG_NONE, LOG_ON, LOG_OVER };

struct agent {
    pid_t pid;      /* whose the log is: a child of fork(2) is another */
    char dir[256];  /* where logs are; "": nowhere */
    atomic_int log; /* LOG_* */
    atomic_int on;  /* records are taken; 0: not yet, no more, or we are in a child */
    struct cupti cupti;
    uint32_t version; /* CUPTI's */
    void *subscriber;
    unsigned long tick_ms;
    struct sockaddr_un recorder; /* where it takes marks; sun_family 0: not known */
    int whole_graphs;            /* CUPTI is to tell of graphs, not of their nodes */
    struct out out;
    struct table tables[TABLES]; /* under out.lock */
    uint32_t generation;         /* of their ids, + 1 at each reset; under out.lock */
    atomic_uint_fast64_t counts[GPU_COUNTS_N];
    atomic_uint_fast64_t buffers; /* asked for or handed over so far */
    int kinds_on;
    atomic_int taken; /* another profiler has the records */
    int ask_devices;  /* the driver has yet to tell which there are */
    atomic_int wake;  /* the keeper is to look at what is loaded */
};

/* The only one. */
struct agent *agent_get(void);

/* Whether to do anything: not in a child, not before and not after. */
static inline int agent_is_on(const struct agent *a)
{
    return atomic_load_explicit(&a->on, memory_order_relaxed);
}

static inline void agent_count(struct agent *a, enum gpu_count what, uint64_t n)
{
    atomic_fetch_add_explicit(&a->counts[what], n, memory_order_relaxed);
}

uint64_t agent_clock(void); /* CLOCK_MONOTONIC ns */
pid_t agent_tid(void);
void agent_child(void); /* in a child of fork(2): its thread has another one */

/* ---- items; the lock is taken where it says so ---- */

void agent_state(struct agent *a, enum gpu_state state, uint64_t number); /* takes it, flushes */
/* takes it; all from before ts is told */
void agent_counts(struct agent *a, uint64_t ts);
/* Ids, defined when new. The lock is held. What does not fit any more resets all tables: then ids from before
 * are void, as `generation` tells. */
uint32_t agent_text(struct agent *a, const char *p, size_t n);
uint32_t agent_work(struct agent *a, const struct gpu_wire_work *w);
/* The id of `key` in a table, 0: new, and added: the caller writes the item that defines it. *id: always. */
int agent_known(struct agent *a, enum agent_table t, const void *key, size_t n, uint32_t *id);

/* ---- parts ---- */

/* Memory for records, and what is in them: CUPTI's callbacks. */
void records_requested(uint8_t **buffer, size_t *size, size_t *records);
void records_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* Says which rank of a job this is; and which devices there are: -1: not known yet. */
void who_rank(struct agent *a);
int who_devices(struct agent *a);

/* Tells CUPTI which calls we want to see, and which are to leave no record. */
void calls_choose(struct agent *a);
void calls_seen(void *arg, uint32_t domain, uint32_t cbid, const void *data); /* CUPTI's callback */
/* "cudaLaunchKernel" of a call's number; NULL: unknown. */
const char *calls_name(struct agent *a, uint32_t domain, uint32_t cbid);

/* Asks for the records that we want, all at once; counts in a->kinds_on what is given. */
void inject_kinds(struct agent *a);
/* No more of them; but not while another profiler has them. */
void inject_kinds_off(struct agent *a);

/* Another profiler that takes the records: at each flush; and at each launch, from its thread. */
void others_look(struct agent *a);
void others_launch(struct agent *a);

int keeper_start(struct agent *a);
void keeper_child(void); /* in a child of fork(2), which has no keeper */
void keeper_wake(struct agent *a);
void keeper_flush(struct agent *a, int last);
void keeper_stop(struct agent *a, enum gpu_state why);

#endif
