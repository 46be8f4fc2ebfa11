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
    WIRE_MAP_FRAMEPTR = 2, /* code that keeps frame pointers: the process writes a perf map */
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
    WIRE_PYCODE,
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
    WIRE_PY_STATE = 16,     /* the thread has a Python thread state */
    WIRE_PY_ERROR = 32,     /* the Python walk ended at something that could not be read */
    WIRE_PY_FULL = 64,      /* deeper than PY_MAX_DEPTH */
    WIRE_KERNEL_LOST = 128, /* the kernel's part could not be had */
    WIRE_NO_MM = 512,       /* the task is exiting: its memory, and so its user stack, is gone */
    WIRE_EXECVE = 1024,     /* inside execve: perhaps between the old image and the new */
    WIRE_TOP = 256,         /* regs.ip is a pc itself, not a return address */
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

struct wire_fork {
    struct wire_head head;
    struct wire_task child; /* a process's leader: new threads are not reported */
    __u32 parent_tgid, pad;
};

struct wire_exec {
    struct wire_head head;
    struct wire_task task;
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

/* Counts of what could not be sent or kept, one set per CPU; and what we cost, where the kernel doesn't count
 * that. */
struct wire_lost {
    __u64 samples;            /* no room in `samples` */
    __u64 control;            /* no room in `control` */
    __u64 procs;              /* `procs` full: a process not followed */
    __u64 cost_ns, cost_runs; /* time in our programs by the clock, and runs of them; 0: not measured */
};

#ifndef __bpf__
_Static_assert(sizeof(struct wire_mapping) == 32, "an array of these is shared with BPF");
_Static_assert(sizeof(struct wire_proc) == 24, "a map value");
_Static_assert(sizeof(struct wire_task) == 56, "crosses in every record");
_Static_assert(sizeof(struct wire_thread) == 72, "the iterator writes these");
_Static_assert(sizeof(struct wire_sample) == 144, "crosses with every sample");
#endif

#endif
