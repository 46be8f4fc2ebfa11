/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What libwprof-cuda.so, inside a target, writes for the recorder: a file of model/wlog.h's framing,
 * gpu/PID-TIME.wlog in the session's directory, whose blocks of type GPU_WIRE_BLOCK are runs of items. An
 * item: a byte, enum gpu_item, then its fields: LEB128 numbers; `signed` ones zigzag; text: its length, its
 * bytes. Ids count from 1 in the order of the items that define them, from anew after GPU_RESET; 0 is none.
 * Include after the __u types are known.
 */
#ifndef WPROF_BPF_WIRE_GPU_H
#define WPROF_BPF_WIRE_GPU_H

enum {
    GPU_WIRE_BLOCK = 256, /* enum wlog_type ends below */
    GPU_WIRE_VERSION = 2,
    GPU_WIRE_TEXT = 4096,     /* bytes of a text at most */
    GPU_WIRE_LINES = 1 << 16, /* and of a line table */
    GPU_WIRE_RANKS = 1 << 15, /* ranks and devices are below */
    GPU_WIRE_DEVICES = 1 << 10,
};

/* The directory that the agent writes to; absolute. */
#define GPU_WIRE_ENV "WPROF_GPU"
/* ms between two flushes, for tests; default 1000. */
#define GPU_WIRE_TICK_ENV "WPROF_GPU_TICK_MS"
/* "whole": each run of a graph is one record, in the place of those of its nodes. */
#define GPU_WIRE_GRAPHS_ENV "WPROF_GPU_GRAPHS"

/* The recorder's socket (collect/marks.c): who is bound to it lives. */
#define GPU_WIRE_MARKS_ENV "WPROF_MARKS"

enum gpu_item {
    GPU_HELLO = 1, /* version, pid, CLOCK_MONOTONIC ns, inode of its pid namespace; first of all */
    GPU_STATE,     /* enum gpu_state, a number, CLOCK_MONOTONIC ns */
    GPU_CLOCK,     /* CUPTI's clock, CLOCK_MONOTONIC at the same moment, how far that may be off; ns */
    GPU_TEXT,      /* text: defines a text id */
    GPU_WORK,      /* struct gpu_wire_work's fields: defines a work id */
    GPU_MODULE,    /* text id of its path, text of its build id: defines a module id */
    GPU_CODE,   /* CPython's version, first line, text id of its name, of its file, text of its line table */
    GPU_FRAME,  /* module id, address in its file; or 0, code id, signed offset in bytecode */
    GPU_STACK,  /* stack id of the caller, frame id: defines a stack id */
    GPU_LAUNCH, /* correlation id signed minus that of the last item of this block, tid, stack id */
    GPU_RAN,    /* on the device: correlation as above, start signed minus that of the last one, ns of
                   CUPTI's clock; duration, work id */
    GPU_CALL,   /* on the host: the same, tid */
    GPU_MEMORY, /* an allocation: correlation, moment as above, work id, address */
    GPU_MARK,   /* of NVTX: CLOCK_MONOTONIC ns, enum gpu_mark, id, text id, tid */
    GPU_NODE, /* of a graph: its id, that of the one that it is a copy of or 0, stack id of where it was made
               */
    GPU_COUNTS, /* how many, then each of enum gpu_count so far; all until this CLOCK_MONOTONIC ns is told */
    GPU_RESET,  /* all ids begin anew */
    GPU_RANK,   /* of the process, in a job of several */
    GPU_DEVICE_IS, /* a number as the process has it, the machine's as far as it knows, text of its UUID or
                    * none
                    */
    GPU_ITEMS,
};

/* What has happened to the agent. */
enum gpu_state {
    GPU_ARMED = 1, /* number: CUPTI's version */
    GPU_NO_CUPTI,  /* no library of it was found; number: 1: one lacks a function that is needed */
    GPU_OTHER,     /* another profiler has subscribed: CUPTI's error 39 */
    GPU_REFUSED,   /* number: the error */
    GPU_TAKEN, /* calls go on, records stop: another profiler took the buffers over; number: since when, ns */
    GPU_RETAKEN,      /* and we took them back */
    GPU_ENDED,        /* the process ended in an orderly way */
    GPU_STOPPED,      /* the recording was over */
    GPU_KIND_REFUSED, /* number: a kind of record that can't be had */
    GPU_PYTHON,       /* number: its version, whose frames are read */
    GPU_NO_PYTHON,    /* number: the version whose frames can't be read */
    GPU_STATES,
};

/* Of enum gpu_op: what both sides must agree upon is in the model; here it is a number. */
struct gpu_wire_work {
    __u32 op, name; /* name: text id; 0: the fields say it */
    __u32 device;   /* + 1, 0: none */
    __u32 context, stream;
    __u32 grid[3], block[3];
    __u32 shared, registers;
    __u32 graph, node; /* the low 32 bits, as the model has them */
    __u32 what;        /* kind of copy, sync, overhead, memory operation: CUPTI's number */
    __u32 from, to;    /* kinds of memory: CUPTI's numbers */
    __u32 result;      /* of a call */
    __u64 bytes;
};

enum { GPU_WIRE_WORK_FIELDS = 20 };

enum gpu_mark { GPU_MARK_INSTANT = 1, GPU_MARK_BEGIN, GPU_MARK_END };

enum gpu_count {
    GPU_N_RECORDS,  /* read from CUPTI's buffers */
    GPU_N_UNKNOWN,  /* of kinds that we do not know */
    GPU_N_DROPPED,  /* that CUPTI dropped for want of buffers */
    GPU_N_TIMES,    /* with a start or end of 0, or an end before the start: left out */
    GPU_N_LAUNCHES, /* calls seen that launch something, nodes of graphs made */
    GPU_N_STACKS,   /* whose stack was taken */
    GPU_N_BUDGET,   /* not: over the budget */
    GPU_N_CUT,      /* stacks whose native part ends before the thread's start */
    GPU_N_NOPYTHON, /* stacks whose Python part could not be read */
    GPU_N_FOREIGN,  /* buffers completed that were not ours */
    GPU_N_RESETS,   /* tables were full */
    GPU_COUNTS_N,
};

#endif
