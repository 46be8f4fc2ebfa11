/* SPDX-License-Identifier: Apache-2.0 */
/* Whose an agent's records are: from ids as the process sees them to tasks of the store. */
#ifndef WPROF_COLLECT_GPU_TASK_H
#define WPROF_COLLECT_GPU_TASK_H

#include "base/map.h"
#include "model/store.h"

#include <stdint.h>

struct gpu_tasks {
    struct store *store;
    uint64_t space;    /* inode of our own pid namespace */
    struct map by_tid; /* as we see it -> the newest task */
    struct map by_own; /* as the process itself sees its pid -> the newest leader */
    size_t scanned;    /* tasks that are in them */
    int past;          /* of a recording of the past, perhaps another machine's: nothing is asked of /proc */
};

void gpu_tasks_init(struct gpu_tasks *g, struct store *s);
void gpu_tasks_release(struct gpu_tasks *g);

/* Has another collector met the process? pid: as it sees itself, in the pid namespace `space`. */
int gpu_tasks_know(struct gpu_tasks *g, uint32_t pid, uint64_t space);

/* The store's task of one of its threads; entered where nobody has met it. Of a process in another pid
 * namespace threads can't be told: it is its leader. 0: not known either. */
uint32_t gpu_tasks_find(struct gpu_tasks *g, uint32_t pid, uint64_t space, uint32_t tid);

#endif
