/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps a thread's times off its CPU in step with the scheduler's own figures. Those begin and end at the run
 * queue's clock, and the tracepoints come up to some us later: a task's run begins at its wakeup where the
 * CPU was idle, and between a remote wakeup and its tracepoint an interrupt is sent. For waits of a few us
 * that is much. When a thread leaves its CPU, its figures until then are known exactly: what they differ by
 * from what was told is put into the spans that come.
 */
#ifndef WPROF_BPF_OFF_EXACT_H
#define WPROF_BPF_OFF_EXACT_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>

/* Time of interrupts and of a hypervisor is in none of the scheduler's figures of a task, and so looks like
 * blocked: so much of it may be owed, and then a thread computes. */
enum { EXACT_MOST_NS = 10000000 };

struct off_exact {
    __u64 at, ran, delayed;  /* when it last left its CPU; the scheduler's figures then; 0: not seen yet */
    __u64 blocked, runnable; /* what was measured since */
    __s64 owe_blocked, owe_runnable; /* not told so far; below 0: too much was */
};

/* t leaves its CPU at `now`. */
static __always_inline void exact_left(struct off_exact *x, struct task_struct *t, __u64 now)
{
    __u64 before = x->ran, delayed;
    __s64 blocked, runnable;

    x->ran = t->se.sum_exec_runtime;
    if (!bpf_core_field_exists(t->sched_info.run_delay))
        return;
    delayed = t->sched_info.run_delay;
    if (x->at) {
        runnable = delayed - x->delayed;
        blocked = (__s64)(now - x->at) - (__s64)(x->ran - before) - runnable;
        x->owe_blocked += blocked - (__s64)x->blocked;
        if (x->owe_blocked > EXACT_MOST_NS)
            x->owe_blocked = EXACT_MOST_NS;
        x->owe_runnable += runnable - (__s64)x->runnable;
    }
    x->at = now;
    x->delayed = delayed;
    x->blocked = x->runnable = 0;
}

/* When t, which leaves its CPU at `now`, came to it after it had left at `out`. */
static __always_inline __u64 exact_arrival(const struct off_exact *x, struct task_struct *t, __u64 out,
                                           __u64 now)
{
    __u64 ran = t->se.sum_exec_runtime - x->ran;

    return ran < now - out ? now - ran : out;
}

/* ns and what is owed of it: short ones, of which the sum counts, change by half at most, longer ones less
 * than one can see. */
static __always_inline __u64 exact_settle(__s64 *owe, __u64 ns)
{
    __s64 most = ns < 100000 ? ns >> 1 : ns < 1000000 ? ns >> 4 : ns >> 8, d = *owe;

    if (d > most)
        d = most;
    if (d < -most)
        d = -most;
    *owe -= d;
    return ns + d;
}

/* It is back, after so long. */
static __always_inline void exact_came(struct off_exact *x, __u64 *blocked, __u64 *runnable)
{
    x->blocked += *blocked;
    x->runnable += *runnable;
    *blocked = exact_settle(&x->owe_blocked, *blocked);
    *runnable = exact_settle(&x->owe_runnable, *runnable);
}

#endif
