/* SPDX-License-Identifier: Apache-2.0 */
/* The report view: all that a report says, as data; renderers lay it out. */
#ifndef WPROF_MODEL_REPORT_H
#define WPROF_MODEL_REPORT_H

#include "base/buf.h"
#include "model/comparison.h"
#include "model/findings.h"
#include "model/quality.h"
#include "model/session.h"
#include "model/table.h"

/* Where the main thread's wall time went, or its workers'. */
struct report_part {
    const char *key, *label; /* static */
    uint64_t ns;
    int blocked; /* off the CPU */
};

/* Where the wall time of an accelerator went: parts that ran on it, and (`blocked`) why it was idle between
 * them. */
struct report_device {
    char *name; /* "GPU 0" */
    VEC(struct report_part) parts;
    uint64_t ns, busy_ns, unseen_ns; /* the sum of all parts and of what is before and after them is ns */
};

/* What whoever fed accelerators did while these were idle, all of them together. */
struct report_blame {
    char *state; /* "on CPU", "off CPU: futex"; the states of gpu_blame.h */
    char *where; /* the function with the most of it; NULL: none is known */
    uint64_t ns;
};

/* Processes of one program. */
struct report_program {
    char *name;
    char *where; /* the function with most of its own time; NULL: none has much, or samples are few */
    double where_share;
    uint64_t cpu_ns, delay_ns; /* delay_ns: run queue */
    size_t processes;
};

enum report_table {
    REPORT_DEVICES, /* accelerators: how busy ... */
    REPORT_IDLE,    /* ... and why not */
    REPORT_KERNELS,
    REPORT_SELF,  /* functions by self */
    REPORT_TOTAL, /* by total */
    REPORT_LINES, /* Python lines by self, with their text where it was recorded */
    REPORT_PROCESSES,
    REPORT_WAITS,
    REPORT_GIL,
    REPORT_UNITS,       /* kinds of steps and requests */
    REPORT_SLOW,        /* what slow ones spend more time in, */
    REPORT_SLOW_STACKS, /* and where */
    REPORT_STEPS,
    REPORT_METRICS, /* the machine's */
    REPORT_CGROUP,
    REPORT_PEERS, /* who talks to whom: the topology's flows and waits */
    REPORT_TABLES
};

/* A table with its place in the report; those without rows are left out. */
struct report_section {
    const char *key, *heading; /* static */
    struct table table;
};

/* AIProf's summary of folded text. */
struct report_stack {
    char *text; /* root first */
    uint64_t value;
};

struct report_folded {
    uint64_t stacks, samples, cuda;       /* unique stacks, all samples, those with a CUDA: frame */
    VEC(struct report_stack) top, leaves; /* five each */
};

struct report {
    const struct meta *meta; /* borrowed, like the quality */
    const struct quality *quality;
    struct findings findings;
    char *lead;        /* "python3[42]", whose wall time it is; NULL: there is none */
    int lead_is_child; /* the command itself only waited for that */
    VEC(struct report_part) wall;
    uint64_t wall_ns, unseen_ns; /* the sum of all parts and unseen_ns is wall_ns */
    int waits_measured;
    VEC(struct report_program) programs; /* who used the CPUs, the most first; none: `wall` tells that */
    uint64_t cpus_ns;      /* of their bar: of all CPUs of a whole machine, else what they used */
    uint64_t cpus_used_ns; /* all of them */
    int whole_machine;     /* is what was recorded */
    char *crew; /* "4 threads (work)", "4 processes (python3)", that work while the main thread waits:
                   findings are about their time; NULL: it is the main thread that works */
    VEC(struct report_part) crew_wall;
    uint64_t crew_ns;      /* the time of all of them, summed up, without ... */
    uint64_t crew_idle_ns; /* ... when they waited for something to do */
    VEC(struct report_device) devices;
    VEC(struct report_blame) blame; /* the most first */
    uint64_t idle_ns;               /* their sum */
    struct report_section sections[REPORT_TABLES];
    struct report_folded folded;
    char *slow_units;       /* sentences on slow steps or requests; NULL: none are slow, or none are marked */
    struct comparison slow; /* slow ones against typical ones: a tree and names alone; empty like that */
    size_t processes, nodes, edges; /* of the topology; nodes 0: there is none */
};

void report_release(struct report *r);

/* "5.99 s of the 6.00 s of 2 CPUs", "3.20 s of CPU time, 1.1 CPUs on average": what programs used. Appended.
 */
void report_programs_words(const struct report *r, struct buf *out);

/* One sentence on what was looked for: "57 rules: 2 found something, ...". Owned by the caller. */
char *report_checked(const struct report *r);

/* What it means that there are no findings: where most could not be looked for, little. Appended. */
void report_no_findings(const struct report *r, struct buf *out);

#endif
