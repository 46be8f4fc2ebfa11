/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and processes, keyed by {tid in the initial pid namespace, start time}: pids are used again, starts
 * not; of several hosts or recordings, by those, too (origins.h). A process that was recorded before and
 * after an exec is two tasks: each program has its own name.
 */
#ifndef WPROF_MODEL_TASKS_H
#define WPROF_MODEL_TASKS_H

#include "base/map.h"
#include "base/vec.h"

#include <stdint.h>

/* own_pid of an imported thread whose process was not told. */
#define TASK_PID_UNKNOWN UINT32_MAX

struct task {
    uint32_t pid, tid;          /* in the initial pid namespace; a leader has pid == tid */
    uint64_t start_ns;          /* CLOCK_BOOTTIME ns of the thread's start; 0: unknown */
    uint32_t leader;            /* task id of the process's leader; a leader names itself */
    uint32_t parent;            /* task id of the parent process's leader, 0: not observed */
    uint32_t ns_pid, ns_tid;    /* in wprof's own pid namespace */
    uint32_t own_pid;           /* in the task's own (innermost) pid namespace: names perf-PID.map */
    uint32_t image;             /* which of the programs that it executed in turn; not on disk */
    uint32_t comm;              /* strtab; the last name it had */
    uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC: seen from .. to (0: still there) */
    uint64_t cpu_ns;            /* CPU time while recorded, 0: not measured */
    uint32_t origin;            /* whose recording told of it (origins.h); 0: the session is of one */
    uint32_t is_root;           /* 1: folded, its own name is the root, with no frame of a thread (perf's) */
};

/* Pids and tids mean something within an origin; tids are used again. */
static inline int task_same_thread(const struct task *a, const struct task *b)
{
    return a->tid == b->tid && a->start_ns == b->start_ns && a->origin == b->origin;
}

static inline int task_same_process(const struct task *a, const struct task *b)
{
    return a->pid == b->pid && a->origin == b->origin;
}

struct tasks {
    VEC(struct task) list; /* task id is index + 1 */
    VEC(uint32_t) changed; /* ids to be written (again) by the session writer; it empties the list */
    struct index index;
};

void tasks_release(struct tasks *t);
uint32_t tasks_add(struct tasks *t,
                   const struct task *key); /* finds or adds; identity: tid, start_ns, image, origin */
struct task *tasks_get(struct tasks *t,
                       uint32_t id); /* NULL for 0 and beyond; to change one, call tasks_touch too */
void tasks_touch(struct tasks *t, uint32_t id); /* it changed: goes to disk with the next flush */
void tasks_touch_all(struct tasks *t);          /* for another log than the one that they came from */

#endif
