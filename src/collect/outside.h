/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The targets as they are seen without programs in the kernel: processes and threads by /proc, their memory
 * by process_vm_readv(2), never stopped. What tiers B and C share. Pids are those of wprof's pid namespace
 * throughout.
 */
#ifndef WPROF_COLLECT_OUTSIDE_H
#define WPROF_COLLECT_OUTSIDE_H

#include "collect/gil.h"
#include "collect/look_times.h"
#include "collect/stack.h"
#include "collect/wait_name.h"
#include "collect/who.h"
#include "model/collector.h"
#include "platform/proctask.h"
#include "unwind/py_walk.h"

#include <stdint.h>

/* Where a blocked thread is and what it waits for. */
struct outside_spot {
    uint32_t stack; /* 0: it was not looked at */
    uint32_t wait;
    uint16_t flags; /* EVENT_ */
    uint8_t at_gil; /* it waits for the GIL, which was like this */
    struct wire_gil gil;
};

/* Tier B: a wait that is over. */
struct outside_ended {
    uint64_t ts, dur;
    uint64_t queued; /* of dur, at its end: in the run queue */
    uint8_t gate;    /* for the recording to begin: of no interest */
    struct outside_spot spot;
};

/* Tier B: waits until it is known what of them was time in the run queue: wake_delay.h. */
struct outside_delay {
    VEC(struct outside_ended) ended;
    uint64_t read, read_ns; /* the thread's delay so far as it was read then; read_ns 0: not */
    uint64_t settled;       /* the delay that events stand for, and `left` */
    int64_t left;           /* delay that no event stands for; below 0: events stand for more */
    uint8_t unknown;        /* some of it was at a time when it wasn't followed */
    uint8_t gated;          /* the wait under way is for the recording to begin */
};

struct outside_thread {
    struct wire_task task;
    uint32_t own_tid;         /* in the innermost pid namespace */
    uint64_t run_ns;          /* on a CPU while recorded */
    int run_fd, call_fd;      /* schedstat and syscall in /proc, -1: not opened so far */
    struct outside_spot spot; /* of the wait under way */
    struct py_cache python;   /* its Python thread state; ts 0: not found so far */
    uint64_t python_id;       /* pthread_self() of it */
    uint64_t python_none_ns;  /* when it was looked for in vain */
    uint64_t named_ns;        /* when its name was last read */
    uint64_t short_ns[2];     /* waits, delays that were too short to list */
    uint32_t short_n[2];
    uint64_t short_since;     /* from when on these are */
    uint64_t last_ts;         /* tier C: when it was last looked at, 0: never; tier B: when it was switched */
    struct proctask_run last; /* tier C: its figures then, */
    struct look_times times;  /* and its time off the CPU */
    uint64_t off_since;       /* tier B: any time off the CPU */
    uint64_t owed_ns;         /* tier C: CPU time that no sample stands for yet */
    struct outside_delay delay;
    uint64_t sampled_ns; /* tier B: that samples stand for */
    uint64_t cpus;       /* tier B: those that it ran on, modulo 64 */
    uint32_t births;     /* tier B: threads and processes that it started */
    uint8_t state;       /* enum outside_state */
    uint8_t ended;
    uint64_t spot_ns;       /* tier B: when spot was looked at, 0: not */
    struct walk_regs known; /* dump: its registers where it is blocked; of use while sp is what /proc says */
};

enum { OUTSIDE_MEMORIES = 8 };

/* Tier B. Born: it didn't run so far. */
enum outside_state { OUTSIDE_UNKNOWN, OUTSIDE_BORN, OUTSIDE_ON, OUTSIDE_BLOCKED, OUTSIDE_TAKEN };

struct outside_process {
    uint32_t pid, parent; /* parent 0: not known */
    int task_dir;         /* /proc/PID/task, -1 */
    uint64_t links;       /* of it: 2 + threads */
    uint64_t stack_start; /* of its image */
    int image_fd;         /* /proc/PID/environ: empty once the image is gone; -1 */
    uint64_t born_ns;     /* it, or its image */
    uint32_t threads;     /* alive */
    uint64_t before_ns;   /* tier C: its CPU time before the beginning, */
    uint64_t seen_ns;     /* and what was seen since of its threads; */
    uint64_t children[2]; /* of children that had ended: before the beginning, and seen since */
    uint64_t checked_ns;  /* when that was last held against the whole, */
    uint64_t checked_run; /* and seen_ns then */
    uint8_t thread_ended; /* since then */
    uint8_t ended;
    VEC(struct py_thread) python;
    uint64_t python_ns; /* when they were listed */
};

/* Counts of what could not be seen. */
struct outside_stats {
    uint64_t torn;         /* stacks that changed while they were read */
    uint64_t python_stale; /* Python parts left out since they didn't fit the native part, or came too late */
    uint64_t not_looked;   /* spans that ended before the thread was looked at */
    uint64_t gil_looks;    /* threads met waiting for the GIL */
    uint64_t refused;      /* threads whose place the kernel didn't tell */
    uint64_t before_exec;  /* samples of our own child, left out */
};

struct outside {
    struct record_ctx *ctx;
    struct track *track;
    struct who who;
    struct stack_taker taker;
    struct wait_namer namer;
    struct gils gils;
    struct wire_off_config classes;
    VEC(struct outside_thread *) threads;
    VEC(struct outside_process *) processes;
    struct map by_tid, by_pid;
    size_t followed;   /* of the context's targets: it gets more */
    uint32_t gated;    /* our own child, from outside_begin() until it becomes the command; else 0 */
    int births_fd;     /* /proc/loadavg, which ends with the pid given last; -1 */
    char births[16];   /* it, at the last scan */
    pid_t scanned_pid; /* the one given last, when all processes were looked through */
    uint64_t boot_ns;  /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
    struct buf record; /* of the wire_sample that is being made */
    struct py_stack *python;
    struct py_process *memory[OUTSIDE_MEMORIES]; /* by pid: each knows what its process's walks take */
    uint8_t *stack;                              /* BLOCKED_COPY_MAX bytes, of a thread's */
    uint32_t markers[8];
    uint64_t visited;  /* the last pass of outside_ids() */
    uint64_t ended_ns; /* run_ns of threads that have ended */
    int off;           /* waits are wanted */
    struct outside_stats stats;
};

int outside_init(struct outside *o, struct record_ctx *ctx, struct err *e);
struct store_visit;
void outside_ids(struct outside *o, struct store_visit *v); /* model/store_visit.h; more than once is fine */
void outside_release(struct outside *o);

/* ---- who there is ---- */

/* Enters the targets and all they have started so far; -1 where none is there. */
int outside_follow(struct outside *o, struct err *e);
/* Those that have become targets since, with their threads. */
void outside_follow_more(struct outside *o);

/* Looks in /proc for what began, ended or has a new image since. */
void outside_scan(struct outside *o);

/* The recording begins. Our own child, which waits for that, is still a copy of us until its first exec; that
 * it did one already, with --delay, a scan must have told. */
void outside_begin(struct outside *o);
/* n samples of t: 1 where they are of that child, so that they are left out, and counted. */
int outside_before_exec(struct outside *o, const struct outside_thread *t, uint64_t n);

struct outside_thread *outside_find(const struct outside *o, uint32_t tid);
struct outside_process *outside_find_process(const struct outside *o, uint32_t pid);
/* Entered when new; from /proc, or as born at ts where it is gone from there. */
struct outside_thread *outside_thread(struct outside *o, uint32_t pid, uint32_t tid, uint64_t ts);
/* The process pid began at ts as a copy of `parent`. */
void outside_forked(struct outside *o, uint32_t pid, uint32_t parent, uint64_t ts);
void outside_rename(struct outside *o, struct outside_thread *t, const char *name, uint64_t ts);
void outside_ended(struct outside *o, struct outside_thread *t, uint64_t ts);
void outside_sweep(struct outside *o); /* forgets the ended; nothing may point to them any more */
int outside_alive(const struct outside *o);

/* Its process for walks (never NULL), and its id in the store. */
struct process *outside_walked(struct outside *o, const struct outside_thread *t, uint64_t ts, uint32_t *id);

/* Looks for Python in mappings that came since they were last read, where nobody tells of new ones. */
void outside_find_python(struct outside *o, struct process *p, uint64_t ts);

/* ---- what they do ---- */

/* The process's memory as of now; borrowed until the next call. */
struct py_mem outside_memory(struct outside *o, const struct process *p);

/* The Python stack of t at this moment into o->python: 1; 0: it runs no Python; -1: it can't be read. mem as
 * of outside_memory(), or with something in front. */
int outside_python(struct outside *o, struct outside_thread *t, struct process *p, const struct py_mem *mem);

/* Does t, which is blocked in this call, wait for its GIL? 1: yes, and *out is that GIL. */
int outside_gil(struct outside *o, struct outside_thread *t, const struct process *p,
                const struct py_mem *mem, const struct proctask_call *call, uint64_t ts,
                struct wire_gil *out);

/* Whether t holds its GIL: WIRE_GIL_ flags. After outside_python() with the same memory. */
uint16_t outside_gil_held(struct outside *o, const struct outside_thread *t, const struct process *p,
                          const struct py_mem *mem);

/* The wire_sample in o->record, without parts; its header's size is set by outside_record_end. */
struct wire_sample *outside_record(struct outside *o, const struct outside_thread *t, uint64_t ts);
struct wire_sample *outside_record_add(struct outside *o, const void *p, size_t n);
uint32_t outside_record_end(struct outside *o, struct process *p, uint16_t *flags); /* the stack's id */

/* Where the blocked thread t is: 0 and *spot; 1: it runs, or moved on meanwhile; -1: the kernel doesn't tell.
 */
int outside_look(struct outside *o, struct outside_thread *t, uint64_t ts, struct outside_spot *spot);

/* Who will end the wait of a thread of p, where only one process can: its first thread, what it does now,
 * below
 * `[inferred]`, into *wait. Uses o->python and o->record. */
void outside_infer_waker(struct outside *o, const struct process *p, const struct wire_wait *w, uint64_t ts,
                         struct wait *wait);

/* ---- events ---- */

enum outside_marker {
    OUTSIDE_SHORT_WAITS,
    OUTSIDE_SHORT_DELAYS,
    OUTSIDE_NOT_LOOKED, /* it was over before anybody looked */
    OUTSIDE_NATIVE,     /* code that runs natively, whose stack can't be had */
    OUTSIDE_BETWEEN,    /* ran between two looks only */
    OUTSIDE_BRIEF,      /* ran for less than a period */
    OUTSIDE_INFERRED,   /* a waker that nobody saw */
};

uint32_t outside_marker(struct outside *o, enum outside_marker m); /* a stack of that one frame */

/* Time off the CPU from ts on, of kind EVENT_OFFCPU or EVENT_RUNQ; short ones are summed. */
void outside_span(struct outside *o, struct outside_thread *t, uint16_t kind, uint64_t ts, uint64_t dur,
                  const struct outside_spot *spot, uint16_t flags);
/* A wait of dur, after which the thread was in the run queue for `queued`. */
void outside_wait(struct outside *o, struct outside_thread *t, uint64_t ts, uint64_t dur, uint64_t queued,
                  const struct outside_spot *spot);
void outside_spans_end(struct outside *o, struct outside_thread *t, uint64_t ts); /* the sums */

void outside_counters(struct outside *o);

#endif
