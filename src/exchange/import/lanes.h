/* SPDX-License-Identifier: Apache-2.0 */
/* The processes and threads of one trace: found by pid and tid, named at the end. */
#ifndef WPROF_EXCHANGE_LANES_H
#define WPROF_EXCHANGE_LANES_H

#include "base/map.h"
#include "model/store.h"

struct lanes {
    struct store *store;
    struct map ids;   /* {pid, tid} -> task id */
    struct map names; /* {pid, tid} -> strtab; tid 0: the process's */
    struct map wide;  /* ids of more than 32 bits -> what stands for them */
    uint64_t key;     /* of the last one asked for */
    uint32_t last;
};

/* The task of a thread; its process's leader is made, too. pid and tid are not 0. Traces that are imported at
 * once may have the same pids, and one trace a tid in several processes: none of them is the other. */
uint32_t lanes_task(struct lanes *t, uint32_t pid, uint32_t tid);

/* A tid for an id that may be wider, as pthread_self() is: itself where it fits, else a number that no thread
 * of Linux has. */
uint32_t lanes_narrow(struct lanes *t, uint64_t id);

/* A name for what may be seen later, or never; tid 0: the process. */
void lanes_name(struct lanes *t, uint32_t pid, uint32_t tid, const char *name);

/* Gives everyone its name, a thread without one its process's. When they were seen is told by the store's
 * events from `first` on. */
void lanes_finish(struct lanes *t, size_t first);

void lanes_release(struct lanes *t);

#endif
