/* SPDX-License-Identifier: Apache-2.0 */
/* The processes named by -p: checked once, then watched until all are gone. */
#ifndef WPROF_RECORD_TARGETS_H
#define WPROF_RECORD_TARGETS_H

#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>
#include <sys/types.h>

struct target {
    pid_t pid; /* of the process, also where a thread of it was named */
    int fd;    /* pidfd; -1: none to be had, or it ended */
    int ended;
};

struct targets {
    VEC(struct target) list;
};

/*
 * Takes n pids, as text. Those that do not exist are said (log) and left out, threads stand for their
 * process. -1 with `e` when none is left, or one is no number.
 */
int targets_take(struct targets *t, const char *const *pids, size_t n, struct err *e);

/* Looks again; gives how many are alive. */
size_t targets_alive(struct targets *t);
void targets_release(struct targets *t);

/* The arguments of a process, NULL-terminated, from /proc; to be freed with targets_free_argv(). Empty when
 * unreadable. */
char **targets_argv(pid_t pid);
char **targets_env(pid_t pid);
void targets_free_argv(char **argv);

/* CPU time of a process and its reaped children so far, ns; 0 when it is gone. */
uint64_t targets_cpu_ns(pid_t pid);

#endif
