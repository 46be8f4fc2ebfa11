/* SPDX-License-Identifier: Apache-2.0 */
/* Whose marks they are: from a sender's pid to a task of the session. Inside of marks*.c. */
#ifndef WPROF_RECORD_MARKS_SENDERS_H
#define WPROF_RECORD_MARKS_SENDERS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/collector.h"

struct marks_sender {
    pid_t pid;         /* 0: none that can be seen from here */
    uint64_t start_ns; /* CLOCK_BOOTTIME, to a clock tick; 0: it was gone when we looked */
    uint64_t looked;   /* CLOCK_MONOTONIC ns: pids are used again */
    int inside;        /* it descends from what is recorded */
    char comm[16];
    uint32_t task; /* the session's, 0: not found so far */
};

struct marks_senders {
    struct record_ctx *ctx;
    VEC(struct marks_sender) list;
    struct map by_pid;  /* -> number of the latest + 1 */
    struct map leaders; /* pid -> the store's latest task that leads a process of that pid */
    struct map threads; /* hash of {pid, tid} -> the store's latest task of that thread */
    struct map tids;    /* sender << 32 | tid as it names itself -> tid in wprof's namespace */
    uint32_t scanned;   /* tasks of the store that are in it */
};

void marks_senders_release(struct marks_senders *s);

/*
 * The sender's number. claimed: the process that the mark says it is of, 0: the sender itself; believed only
 * where that process is the sender's own user's, or the sender is root. ts: when it was sent.
 */
uint32_t marks_senders_find(struct marks_senders *s, pid_t pid, uid_t uid, pid_t claimed, uint64_t ts);

/* The thread in wprof's pid namespace that names itself `own` in the sender's; `own` where that can't be
 * seen. */
pid_t marks_senders_tid(struct marks_senders *s, uint32_t sender, pid_t own);

/* The task of one of its threads in *task: 0 is the whole recording's, for marks from outside of what is
 * recorded. Returns 0 while that can't be said yet, for no collector has met the process. last: nobody will:
 * then it is entered, and stands for threads that none has met. */
int marks_senders_thread(struct marks_senders *s, uint32_t sender, pid_t tid, int last, uint32_t *task);

#endif
