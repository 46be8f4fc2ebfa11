/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of dump.c share. */
#ifndef WPROF_COLLECT_DUMP_JOB_H
#define WPROF_COLLECT_DUMP_JOB_H

#include "collect/dump.h"
#include "collect/outside.h"

/* One process's Python: its thread states, and what their frames hold. */
struct dump_python {
    uint32_t pid;
    VEC(struct py_thread) states;
    struct dump_holds *holds; /* dump_pylock.c; NULL: not looked for */
};

struct dump_job {
    struct dump *d;
    uint32_t unread; /* processes whose memory may not be read */
    struct record_ctx ctx;
    struct meta meta;
    struct outside o;
    VEC(struct dump_python) pythons;
    VEC(uint64_t) slices; /* by thread: how often it had been given a CPU when it was looked at; 0: unknown */
    struct dump_clock *clock; /* dump_since.c */
};

/* ---- dump_since.c: since when threads wait ---- */

struct dump_clock *dump_clock_new(void);
void dump_clock_free(struct dump_clock *c);
/* How long the thread, which ran last on `cpu`, has been off it; 0: not known. */
uint64_t dump_clock_off(struct dump_clock *c, pid_t pid, pid_t tid, int cpu);

/* ---- dump_wait.c: what a blocked thread waits for, and on whom ---- */

void dump_wait(struct dump_job *j, struct outside_thread *t, struct process *p,
               const struct proctask_call *call, struct dump_thread *out);
void dump_add_edge(struct dump_job *j, struct dump_thread *t, uint32_t pid, uint32_t tid, enum dump_how how);
uint32_t dump_text(struct dump_job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The thread of the process that has this id in its own pid namespace; NULL. */
struct outside_thread *dump_own_tid(struct dump_job *j, uint32_t pid, uint32_t own);

/* ---- dump_kernel.c ---- */

void dump_kernel_part(struct dump_job *j, struct dump_thread *t); /* puts its frames on t->stack */

/* ---- dump_futex.c ---- */

void dump_futex(struct dump_job *j, struct outside_thread *t, struct process *p,
                const struct proctask_call *call, struct dump_thread *out);

/* ---- dump_pylock.c ---- */

struct dump_python *dump_python_of(struct dump_job *j, struct process *p);
/* The thread waits at `futex`: is that a lock object's? Adds its owner where it can be told. 1: it is. */
int dump_pylock(struct dump_job *j, struct outside_thread *t, struct process *p, uint64_t futex,
                struct dump_thread *out);
/* Who waits for a lock itself doesn't hold it: once all threads were looked at. */
void dump_pylocks_settle(struct dump_job *j);
void dump_pythons_release(struct dump_job *j);

/* ---- dump_running.c ---- */

/* Samples the threads of the dump that run, where perf events are allowed: fills their stacks. */
void dump_running(struct dump_job *j);

#endif
