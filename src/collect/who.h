/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks as the kernel's side describes them, entered into the store. */
#ifndef WPROF_COLLECT_WHO_H
#define WPROF_COLLECT_WHO_H

#include <linux/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/wire.h"
#include "model/store.h"
#include "unwind/process.h"

#include <stdint.h>

struct who_name {
    char comm[WIRE_COMM];
    uint8_t used;    /* something was recorded of it */
    uint32_t before; /* task id of the program before the last exec */
};

/* A thread that ended before anything was recorded of it: whom it woke by that may still be told. */
struct who_gone {
    uint64_t key;
    uint64_t ns, ts; /* its CPU time, when it ended */
};

struct who {
    struct store *store;
    VEC(struct who_gone) gone; /* the last WHO_GONE, in a circle */
    struct map gone_at;        /* hash of {tid, start} -> place in it + 1 */
    size_t next_gone;
    struct map ids;             /* hash of {tid, start} -> task id */
    VEC(struct who_name) names; /* by task id - 1: the name that the store has */
};

void who_release(struct who *w);

/* The store's id of a thread; entered, its process's leader too, when new; its name brought up to date. */
uint32_t who_task(struct who *w, const struct wire_task *t, uint64_t ts);
/* The leader of a process that has not been met otherwise; 0 where its start isn't known. */
uint32_t who_leader(struct who *w, const struct process *p, uint64_t ts);
/* A process begins another program. Where something was recorded of the old one it becomes another task, so
 * that the old keeps its name. Gives the task; 0: not met yet. */
uint32_t who_exec(struct who *w, const struct process *p);
uint32_t who_before_exec(const struct who *w,
                         uint32_t id); /* the task that it was; itself where it did not change */
enum { WHO_GONE = 4096 };

/* It has ended. Where it is not met yet, that is kept for when it is, if that is soon. */
void who_ended(struct who *w, const struct wire_task *t, uint64_t cpu_ns, uint64_t ts);
void who_use(struct who *w, uint32_t id);                             /* something is recorded of it */
uint32_t who_find(const struct who *w, uint32_t tid, uint64_t start); /* 0: not met yet */

#endif
