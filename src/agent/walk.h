/* SPDX-License-Identifier: Apache-2.0 */
/* Where the calling thread is: Python's frames and native ones, as one stack of the log. */
#ifndef WPROF_AGENT_WALK_H
#define WPROF_AGENT_WALK_H

#include "agent/agent.h"
#include "bpf/py.h"

/* Of each thread. */
struct walk_thread {
    struct py_cache cache;
    int64_t budget_ns; /* time that it may be walked for; below 0: it was walked for longer */
    uint64_t filled;   /* as of when */
};

/*
 * A thread's stacks may take a hundredth of its time, and begin with what some hundred take. Taking the lock
 * of `out`, which stays taken: the stack's id, 0: it was not taken, as the counts say.
 */
uint32_t walk_here(struct agent *a, struct walk_thread *t);

int walk_init(struct agent *a);  /* -1: no memory */
void walk_look(struct agent *a); /* at what is loaded; from the keeper */

#endif
