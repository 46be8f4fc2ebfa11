/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf events on some processes and all that they become: samples with registers and a copy of the stack, and
 * records of their switches, mappings, names, births and ends. What an ordinary user may have of own
 * processes. One ring per CPU, since an event that is inherited can't be mapped otherwise; a record's CPU is
 * its ring's.
 */
#ifndef WPROF_PLATFORM_PERF_TASK_H
#define WPROF_PLATFORM_PERF_TASK_H

#include <linux/types.h>

#include "bpf/unw.h"
#include "platform/perf_event.h"

struct perf_task {
    struct pfm_event event;
    uint64_t frequency;
    uint32_t stack_bytes; /* of a copy */
    uint64_t period;      /* ns, of a clock; 0: the kernel adjusts it to the frequency */
    int kernel;           /* the kernel's side is sampled, too */
    int64_t ahead;        /* what is added to the kernel's times: see clock.h */
    VEC(uint32_t) cpus;
    VEC(struct perf_ring) rings; /* one for each of cpus, of the first event there */
    VEC(int) fds;                /* of all other events */
};

/* Nothing is opened yet but what CPUs there are. */
int perf_task_init(struct perf_task *t, const struct pfm_event *ev, uint64_t hz, struct err *e);
void perf_task_release(struct perf_task *t);

/* Adds thread tid; what it makes from now on is followed. Disabled until perf_task_enable(). -1 with `e`. */
int perf_task_add(struct perf_task *t, pid_t tid, struct err *e);
void perf_task_enable(struct perf_task *t, int on);

enum perf_task_kind {
    PERF_TASK_NONE,
    PERF_TASK_CODE,   /* a mapping, a new image, losses: `code` */
    PERF_TASK_SAMPLE, /* `sample` */
    PERF_TASK_IN,     /* got the CPU */
    PERF_TASK_OUT,    /* waits from now on */
    PERF_TASK_TAKEN,  /* its CPU was taken from it */
    PERF_TASK_FORK,   /* a thread or process began: ppid, ptid */
    PERF_TASK_EXIT,
    PERF_TASK_COMM, /* `name` */
};

struct perf_task_sample {
    int user;     /* the CPU was in user mode */
    int has_user; /* regs are there: it is a thread of a process */
    struct walk_regs regs;
    const uint64_t *kernel; /* innermost first */
    uint32_t kernel_n;
    const uint8_t *stack; /* from regs.sp on */
    uint32_t stack_n;
};

/* Pointers are into the record. */
struct perf_task_record {
    enum perf_task_kind kind;
    uint64_t ts;
    uint32_t pid, tid, ppid, ptid;
    const char *name;
    struct perf_record code;
    struct perf_task_sample sample;
};

/* Of one record's bytes, header included. 0: of no interest, or malformed. */
int perf_task_parse(const struct perf_task *t, const uint8_t *p, size_t n, struct perf_task_record *out);

#endif
