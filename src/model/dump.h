/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every thread of some processes does at one moment, what it waits for and on whom: what `wprof dump`
 * shows. Pids are those of wprof's pid namespace.
 */
#ifndef WPROF_MODEL_DUMP_H
#define WPROF_MODEL_DUMP_H

#include "base/buf.h"
#include "base/vec.h"
#include "model/store.h"

#include <stddef.h>
#include <stdint.h>

/* By what a thread depends on another. */
enum dump_how {
    DUMP_MUTEX,
    DUMP_RWLOCK,
    DUMP_PYLOCK, /* threading.Lock, threading.RLock */
    DUMP_GIL,
    DUMP_JOIN,
    DUMP_CHILD, /* waits for the end of a process */
    DUMP_FILE_LOCK,
    DUMP_PIPE,
    DUMP_SOCKET,
    DUMP_TRACER,
};

struct dump_edge {
    uint32_t pid, tid; /* tid 0: any thread of the process */
    uint8_t how;       /* enum dump_how */
};

enum {
    DUMP_WHOLE = 1,     /* the stack reaches the thread's start */
    DUMP_NO_NATIVE = 2, /* a running thread's native frames could not be had */
    DUMP_SAMPLED = 4,   /* its stack is a sample's: it has run on since */
    DUMP_GIL_HELD = 16, /* it holds the GIL */
    DUMP_MOVED = 8,     /* it ran while the others were looked at: no circle is made of its waits */
};

struct dump_thread {
    uint32_t pid, tid;
    uint32_t comm;        /* strtab */
    uint32_t stack;       /* 0: none; `note` says why */
    uint32_t what;        /* strtab: what it waits for; 0: not named */
    uint32_t note;        /* strtab, 0: nothing to say */
    uint32_t edge, edges; /* a run in dump.edges: it goes on when one of these lets it */
    uint64_t wait_ns;     /* in this wait, at least; 0: not known */
    int32_t cpu;          /* where it runs, or ran last; -1: not known */
    char state;           /* as proc(5) has it: R S D T t Z X I; 'W': it waits for a CPU */
    uint8_t reason;       /* enum wait_reason */
    uint8_t flags;        /* DUMP_ */
};

struct dump_process {
    uint32_t pid, ppid;
    uint32_t comm, command; /* strtab; command: the arguments */
    uint32_t note;          /* strtab: why there is nothing of it; 0 */
    uint32_t first, n;      /* its run in dump.threads */
    uint16_t python;        /* 0x030b: CPython 3.11; 0: none */
    uint8_t asked;          /* named with -p */
    uint8_t free_threaded;
};

enum dump_answer_kind {
    DUMP_DEADLOCK, /* each of `path` waits for the next and the last for the first, on locks or ends */
    DUMP_CIRCLE,   /* the same, with pipes or sockets among it */
    DUMP_ROOT,     /* the last of `path` goes on by itself, and `waiting` threads wait for it */
};

struct dump_answer {
    uint8_t kind;
    uint32_t first, n; /* a run in dump.path */
    uint32_t waiting;  /* threads that wait for it in the end, those of the path too */
};

/* A step of an answer: a thread of the dump (index + 1), or a process that isn't in it. */
struct dump_step {
    uint32_t thread, pid;
};

/* A process that somebody waits for and that isn't in the dump. */
struct dump_other {
    uint32_t pid;
    uint32_t comm; /* strtab, 0: gone */
};

struct dump {
    struct store store;
    VEC(struct dump_process) processes;
    VEC(struct dump_thread) threads;
    VEC(struct dump_edge) edges;
    VEC(struct dump_other) others;
    VEC(struct dump_answer) answers; /* analyze/waitfor.h fills these */
    VEC(struct dump_step) path;
    char tier;
    char *unseen;         /* what this tier doesn't see, and why; NULL: nothing */
    uint64_t taken_ns;    /* CLOCK_REALTIME */
    uint64_t took_ns;     /* from the first look to the last */
    uint64_t refused;     /* threads whose place the kernel didn't tell */
    uint64_t torn;        /* looks that found a thread moving */
    uint8_t out_of_files; /* not everything could be looked at: too few descriptors are allowed */
};

void dump_release(struct dump *d);

const struct dump_process *dump_process(const struct dump *d, uint32_t pid); /* NULL: not in it */

const struct dump_thread *dump_thread(const struct dump *d, uint32_t tid);

/* "python3[42]" of a leader, "worker[42/57]" of another thread; control bytes become '?'. */
void dump_add_thread(const struct dump *d, const struct dump_thread *t, struct buf *out);

/* "redis-server[99]", whether it is in the dump or not. */
void dump_add_process(const struct dump *d, uint32_t pid, struct buf *out);

/* Where a stack is, as a person would say it: "slow_transform (train.py:31)"; the innermost Python function
 * of no library, else of one, else the innermost native one outside of the kernel and the C library. 0:
 * nothing was added. */
int dump_add_place(const struct dump *d, uint32_t stack, struct buf *out);

/* "running on CPU 3", "sleeping", "stopped" ... */
void dump_add_state(const struct dump_thread *t, struct buf *out);

const char *dump_how_name(enum dump_how how); /* "mutex", "pipe" ... */

#endif
