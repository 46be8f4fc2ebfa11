/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What crosses from the kernel's side to ours: ring records and map values. Fixed widths, explicit padding,
 * no pointers. Pids are those of the initial pid namespace unless named otherwise. Include after the __u
 * types are known.
 */
#ifndef WPROF_BPF_WIRE_H
#define WPROF_BPF_WIRE_H

#include "bpf/py.h"
#include "bpf/unw.h"

enum {
    WIRE_KERNEL_MAX = 127, /* frames: the default of sysctl kernel.perf_event_max_stack */
    WIRE_NATIVE_MAX = 512,
    WIRE_PYTHON_MAX = PY_MAX_DEPTH,
    WIRE_STACK_MAX = 32768, /* bytes of user stack that cross where the walk stopped early */
    WIRE_STACK_CHUNK = 4096,
    WIRE_COMM = 16,
};

/* One executable mapping of a process, in its slice of the `mappings` array: sorted by start, not
 * overlapping. */
struct wire_mapping {
    __u64 start, end;
    __u64 base;  /* a row's pc = address - base; see unw.h */
    __u32 table; /* index into `tables`; 0: none */
    __u32 flags;
};

enum {
    WIRE_MAP_JIT = 1,      /* anonymous memory: no table will ever come */
    WIRE_MAP_FRAMEPTR = 2, /* code without a row keeps frame pointers; in a file, but for leaves */
    WIRE_MAP_JAVA = 4,     /* HotSpot: where it keeps none, user space searches in its own way */
};

/* Where a module's rows lie in `rows`: n of them; n == 0 as long as they are not there. */
struct wire_table {
    __u32 first, n;
};

enum { WIRE_TABLE_NONE = 0xffffffff }; /* `first` of a module that has no unwind information: scan */

/*
 * A followed process. The slice is written once and never changed while it is in use: a mapping event makes a
 * new slice and replaces this value, so a fork only copies the reference, and a walk never sees half an
 * update.
 */
struct wire_proc {
    __u64 start; /* start_boottime of the leader: tells a reused pid apart */
    __u32 map_first, map_n;
    __u32 slice; /* a number that no other slice's contents had, 0: none */
    __u32 image; /* + 1 at each exec */
};

struct wire_task {
    __u32 tgid, tid;
    __u32 ns_tgid, ns_tid; /* in wprof's own pid namespace; 0: not visible there */
    __u32 own_tgid, pad;   /* in the process's innermost pid namespace */
    __u64 start;           /* of the thread, CLOCK_BOOTTIME ns */
    __u64 leader_start;    /* of its process's leader */
    __u64 thread_id;       /* fsbase, which is pthread_self(); 0: not known */
    char comm[WIRE_COMM];
};

struct wire_head {
    __u32 type, size; /* of the whole record, header included */
    __u64 ts;         /* CLOCK_MONOTONIC ns */
};

enum wire_type {
    WIRE_SAMPLE = 1, /* ring `samples` */
    WIRE_FORK,       /* the rest: ring `control` */
    WIRE_EXEC,
    WIRE_EXIT,
    WIRE_PYCODE,  /* the last of `control` */
    WIRE_BLOCKED, /* a wire_sample: the stack of a thread that leaves its CPU */
    WIRE_WAKER,   /* a wire_sample: who wakes the thread `weight` and where; both are in ring `samples` */
    WIRE_SPAN,
    WIRE_SHORT,
    WIRE_USED,     /* a thread ended: what it used */
    WIRE_GPU_CALL, /* a wire_sample: a call of CUDA's libraries; weight: for how many it stands, pad: which */
    WIRE_TYPES,
};

struct wire_native {
    __u64 ip, sp; /* sp: as it was in this frame; ip may carry WIRE_IP_EXACT */
};

/* Set in ip where it is the pc itself (the top frame, what a signal interrupted) and not a return address. */
#define WIRE_IP_EXACT (1ULL << 63)

enum {
    WIRE_USER = 1,          /* the CPU was in user mode */
    WIRE_KTHREAD = 2,       /* no user stack exists */
    WIRE_SCANNED = 4,       /* a native frame was found by scanning */
    WIRE_FRAMEPTR = 8,      /* a native frame was found by frame pointer */
    WIRE_PY_ERROR = 32,     /* the Python walk ended at something that could not be read */
    WIRE_PY_FULL = 64,      /* deeper than PY_MAX_DEPTH */
    WIRE_KERNEL_LOST = 128, /* the kernel's part could not be had */
    WIRE_NO_MM = 512,       /* the task is exiting: its memory, and so its user stack, is gone */
    WIRE_EXECVE = 1024,     /* inside execve: perhaps between the old image and the new */
    WIRE_TOP = 256,         /* regs.ip is a pc itself, not a return address */
    WIRE_STACK_OLD = 2048,  /* the copy of the stack is older than memory is now: nothing beyond it holds */
    WIRE_GIL_READ = 4096,   /* whether it held the GIL was read */
    WIRE_GIL_HELD = 8192,   /* and it did */
};

/* Followed by kernel_n x u64 (innermost first), native_n x wire_native (innermost first), python_n x py_frame
 * (innermost first), stack_n bytes of stack from regs.sp upwards. */
struct wire_sample {
    struct wire_head head;
    struct wire_task task;
    __u64 weight; /* the period that it stands for */
    __u32 image;  /* of the process when taken */
    __u16 cpu, flags;
    __u16 kernel_n, native_n, python_n;
    __u16 status; /* enum walk_status */
    __u32 stack_n, pad;
    struct walk_regs regs; /* where the walk stopped */
};

enum { WIRE_GPU_CALLS = 64 }; /* functions that are told apart */

/* Of one function, on one CPU. */
struct wire_gpu_calls {
    __u64 calls, told; /* told: of them, those that a record stands for */
    __u64 lost;        /* records */
};

struct wire_fork {
    struct wire_head head;
    struct wire_task child; /* a process's leader: new threads are not reported */
    __u32 parent_tgid, pad;
    struct wire_task parent; /* its leader, where the whole machine is followed; tgid 0: not told */
};

struct wire_exec {
    struct wire_head head;
    struct wire_task task; /* of the new image */
    __u64 runtime;         /* ns on a CPU until now */
    __u32 image, pad;
};

struct wire_exit {
    struct wire_head head;
    struct wire_task task;
    __u64 runtime;   /* ns on a CPU since the thread's start */
    __u32 last, pad; /* 1: the process is gone with it */
};

/* Which code object: an address alone may be used again. */
struct wire_pykey {
    __u64 code;
    __u32 generation, firstline, name, pad; /* generation: py_proc's; the rest: py_frame's */
};

/* The names of a code object, when one of its frames is first met. */
struct wire_pycode {
    struct wire_head head;
    struct wire_pykey key;
    struct py_str func, file;
};

/* A thread as the task iterator finds it: identities and run times, before, and again at the end. */
struct wire_thread {
    struct wire_task task;
    __u64 runtime;
    __u32 parent_tgid;
    __u32 kthread;
};

/* A thread's registers on the user's side. */
struct wire_regs {
    __u32 ns_tid; /* in wprof's pid namespace, 0: in none below it */
    __u32 pad;
    struct walk_regs regs;
};

/* A descriptor of a pipe or socket. */
struct wire_holder {
    __u64 ino;
    __u32 ns_tgid; /* of its process, in wprof's pid namespace, 0: in none below it */
    __u32 modes;   /* WIRE_READS, WIRE_WRITES */
};

enum { WIRE_READS = 1, WIRE_WRITES = 2 };

/* What a thread was doing when it left its CPU to wait. */
struct wire_wait {
    __s32 syscall; /* its number, -1: in none (a page fault) */
    __u32 state;   /* of the task, as in include/linux/sched.h */
    __u32 reason;  /* as in wire_off_config */
    __s32 fd;      /* what the call is about, -1: no descriptor */
    __u32 mode;    /* that file's, as in stat(2); 0: unknown */
    __u32 owner;   /* of the mutex that the futex seems to be, in the innermost pid namespace; 0: of none */
    __u64 ino;
    __u64 arg0, arg1; /* of the system call */
};

/* A GIL as it was when a thread began to wait for it. */
struct wire_gil {
    __u64 holder;   /* wire_task.thread_id of who has it, or had it last; 0: unknown */
    __u32 switches; /* how often it has changed hands, the low bits */
    __u32 locked;   /* 1: held */
};

enum {
    WIRE_OFF_SYSCALLS = 512, /* numbers below that are classified */
    WIRE_OFF_REASONS = 16,
    WIRE_OFF_FD = 0x80,     /* in of_syscall: the first argument is a descriptor, its mode may say more */
    WIRE_OFF_POLLFD = 0x40, /* it points to an array of struct pollfd, the second one is its length */
    WIRE_OFF_EPOLL = 0x20,  /* it is a descriptor whose mode says nothing */
};

/* Reasons are numbers below WIRE_OFF_REASONS - 1 whose meaning is user space's. */
struct wire_off_config {
    __u64 min_ns;        /* shorter spans are summed */
    __u64 sums_ns;       /* sums that are older are sent when the thread next leaves its CPU; 0: at the end */
    __u32 walk_permille; /* of each CPU's time may go into walking stacks */
    __u32 launched;      /* the targets wait at our gate */
    __u8 of_syscall[WIRE_OFF_SYSCALLS];
    __u8 of_mode[16]; /* by st_mode >> 12; 0: what the call says */
    __u8 fault, disk, lock, stopped, other;
    __u8 futex, gil; /* waits of the first kind whose futex lies in a GIL are of the second */
    __u8 pad;
};

/* `pad` of a WIRE_BLOCKED. */
enum {
    WIRE_BLOCKED_BEFORE = 1, /* it was blocked when the recording began: the user's part is to be read */
};

/* `pad` of a WIRE_WAKER. */
enum {
    WIRE_WAKER_BUDGET = 1, /* only the kernel's part was taken, for want of time, or */
    WIRE_WAKER_SHORT = 2,  /* since the wait was short, and the thread's waits before it, too */
};

/* Why a span has no stack of its own. */
enum wire_stack_state {
    WIRE_STACK_SENT, /* as WIRE_BLOCKED with the same task and time, or lost on its way */
    WIRE_STACK_BUDGET,
    WIRE_STACK_ROOM,   /* the ring was too full */
    WIRE_STACK_BEFORE, /* it began before the recording; of a wait, WIRE_BLOCKED_BEFORE was sent, or lost */
    WIRE_STACK_NEW,    /* a new thread that has not run yet */
    WIRE_STACK_LATE, /* to be taken when the thread is back; at the end: WIRE_BLOCKED_BEFORE was sent, or lost
                      */
    WIRE_STACK_SAME, /* it is still in the call whose stack was sent last */
};

enum {
    WIRE_SPAN_PREEMPTED = 1, /* runnable from the start */
    WIRE_SPAN_OPEN = 2,      /* not over when the recording ended */
    WIRE_SPAN_IRQ = 4,       /* woken from an interrupt */
    WIRE_SPAN_WAKER = 8,     /* WIRE_WAKER was sent, at time `woken` */
    WIRE_SPAN_KTHREAD = 32,
    WIRE_SPAN_YIELD = 16, /* it gave the CPU away: sched_yield(2) */
};

/* A thread off its CPU: head.ts is when it left. Parts below min_ns are 0 here and summed, but for waits for
 * the GIL. */
struct wire_span {
    struct wire_head head;
    struct wire_task task;
    __u64 blocked, runnable; /* ns */
    __u64 woken;             /* when somebody woke it; 0: unknown */
    __u64 queued;            /* when it began to wait for a CPU; 0: unknown */
    __u64 ran;               /* when it ran again, or the recording ended */
    struct wire_wait wait;
    struct wire_gil gil; /* of waits for one */
    __u32 image;
    __u16 cpu;
    __u8 flags, stack; /* stack: enum wire_stack_state */
};

/* Sums of short spans since head.ts, by reason; the last: runnable. */
struct wire_short {
    struct wire_head head;
    struct wire_task task;
    __u64 ns[WIRE_OFF_REASONS];
    __u32 n[WIRE_OFF_REASONS];
    __u32 ended, pad; /* 1: the thread has run for the last time */
};

enum { WIRE_OFF_RUNNABLE = WIRE_OFF_REASONS - 1 };

/* One set per CPU. */
struct wire_off_stats {
    __u64 switches;    /* of followed threads, away from a CPU */
    __u64 untold;      /* to a CPU, without a switch that was traced */
    __u64 spans;       /* sent */
    __u64 summed;      /* short ones */
    __u64 over_budget; /* stacks not walked for want of time */
    __u64 no_room;     /* stacks not walked for want of room in the ring */
    __u64 stacks_lost; /* walked, but not sent */
    __u64 spans_lost;  /* summed instead, since they could not be sent */
    __u64 sums_lost;   /* of threads that ended: ns */
    __u64 unfollowed;  /* new threads for which there was no memory */
    __u64 walks, walk_ns;
    __u64 late_ns; /* of walk_ns: in none of our programs' run time */
};

enum { WIRE_USED_CPUS = 16, WIRE_USED_NO_CPU = 0xffffffff };

/* What a thread used since it began, and where it ran since it was last asked. Times are ns. */
struct wire_used {
    struct wire_head head; /* size: of all of it */
    struct wire_task task;
    __u64 run, delay; /* on a CPU; runnable without one */
    __u64 voluntary, involuntary;
    __u32 last; /* of its process: the group's figures are there */
    __u32 pad;
    /* Of the process, threads that ended before included. */
    __u64 group_run, user, system; /* user and system as the kernel's ticks split them */
    __u64 minor, major;
    __u64 read, written, in, out; /* bytes: storage, system calls */
    __u64 max_rss;                /* pages */
    struct {
        __u64 ns;
        __u32 cpu; /* the last of them: WIRE_USED_NO_CPU, where there were more CPUs than room */
        __u32 pad;
    } cpus[WIRE_USED_CPUS]; /* those with ns */
};

/* Counts of what could not be sent or kept, one set per CPU; and what we cost, where the kernel doesn't count
 * that. */
struct wire_lost {
    __u64 samples;                   /* no room in `samples` */
    __u64 control;                   /* no room in `control` */
    __u64 procs;                     /* `procs` full: a process not followed */
    __u64 used;                      /* threads whose use isn't told: no memory, no room in `samples` */
    __u64 flow_messages, flow_bytes; /* what went over sockets and pipes that `flows` had no room for */
    __u64 cost_ns, cost_runs; /* time in our programs by the clock, and runs of them; 0: not measured */
};

#ifndef __bpf__
_Static_assert(sizeof(struct wire_mapping) == 32, "an array of these is shared with BPF");
_Static_assert(sizeof(struct wire_proc) == 24, "a map value");
_Static_assert(sizeof(struct wire_task) == 64, "crosses in every record");
_Static_assert(sizeof(struct wire_thread) == 80, "the iterator writes these");
_Static_assert(sizeof(struct wire_regs) == 48, "the iterator writes these");
_Static_assert(sizeof(struct wire_holder) == 16, "the iterator writes these");
_Static_assert(sizeof(struct wire_used) == 456, "one for each thread that ran, each second");
_Static_assert(sizeof(struct wire_wait) == 48, "crosses with every span");
_Static_assert(sizeof(struct wire_sample) == 152, "crosses with every sample");
#endif

#endif
