/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc tells of single threads, without any privilege over one's own: who they are, how long they ran
 * and waited for a CPU, where they are blocked. Pids are those of the reader's pid namespace. proc(5).
 */
#ifndef WPROF_PLATFORM_PROCTASK_H
#define WPROF_PLATFORM_PROCTASK_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdint.h>
#include <sys/types.h>

struct proctask {
    pid_t ppid;
    char state;
    char comm[16];
    uint64_t start_ns;        /* CLOCK_BOOTTIME, to a clock tick (10 ms) */
    uint64_t user_ns, sys_ns; /* CPU time, to a tick */
    uint64_t children_ns;     /* that of children that have ended and were waited for, to a tick */
    uint64_t stack_start;     /* address: another one after exec; 0 where that may not be read */
    int kernel_thread;
    int cpu; /* on which it ran last; -1: not told */
};

/* Of thread tid of process pid; of the whole process, where tid is 0. -1: gone. */
int proctask_stat(pid_t pid, pid_t tid, struct proctask *out);

/* The text of a stat file; -1: malformed. */
int proctask_parse_stat(const char *text, struct proctask *out);

/* The thread's id in its own, innermost pid namespace; tid where that can't be read. */
uint32_t proctask_own_tid(pid_t pid, pid_t tid);

/* Appends the text of a file of the directory of thread tid; of the process's, where tid is 0. -1: gone, or
 * not to be read. */
int proctask_read(pid_t pid, pid_t tid, const char *name, struct buf *out);

/* Such a file, to be read again and again; -1. */
int proctask_open(pid_t pid, pid_t tid, const char *name);

struct proctask_run {
    uint64_t run_ns;   /* on a CPU */
    uint64_t delay_ns; /* runnable, waiting for one */
    uint64_t slices;   /* times it got one */
};

/* From an open schedstat file; -1: gone, or the kernel doesn't keep these. */
int proctask_run(int fd, struct proctask_run *out);

struct proctask_call {
    int nr;           /* system call, -1: in none (a page fault) */
    uint64_t args[6]; /* valid where nr >= 0 */
    uint64_t sp, pc;  /* of the user's side */
};

/* From an open syscall file: 1 and where the thread is blocked; 0: it runs, or could; -1: gone, or refused.
 */
int proctask_call(int fd, struct proctask_call *out);
int proctask_parse_call(const char *text, struct proctask_call *out);

struct pid_list {
    VEC(pid_t) list;
};

/* Appends the ids of a process's threads; -1: gone. */
int proctask_threads(pid_t pid, struct pid_list *out);
int proctask_threads_at(int root, pid_t pid, struct pid_list *out); /* below a root: sysfile.h */
/* Appends the processes that are children of one of its threads; -1: gone, or the kernel has no such list. */
int proctask_children(pid_t pid, struct pid_list *out);
/* All processes there are. */
int proctask_processes(struct pid_list *out);

#endif
