/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is kept of threads off their CPU, for each thread and each CPU. */
#ifndef WPROF_BPF_OFF_TASK_H
#define WPROF_BPF_OFF_TASK_H

#include "bpf/off_exact.h"
#include "bpf/stack.h"

enum {
    OFF_BURST_NS = 5000000,         /* walking time that a CPU can save up */
    OFF_SMALL_SHARE = 20,           /* one part in that many of the budget is for what is worth less */
    OFF_SHORT_RUN = 8,              /* that many short spans one after the other: the next one will be, too */
    OFF_SHORT_RUN_LATE = 2,         /* where nothing is lost when it isn't */
    OFF_PLACES = 16,                /* kept apart of those; a power of two */
    OFF_WAKER_MINS = 100,           /* a thread's waker is walked each time that it waited that many min_ns */
    OFF_SUMS_EVERY_NS = 1000000000, /* at most that long are sums kept here */
    OFF_WAKE_BYTES = 1 << 20,       /* the reader is woken when that much of the ring is filled */
};

/* A followed thread, as long as it lives. */
struct off_task {
    __u64 out;    /* when it left its CPU; 0: it is on one, or was never seen leaving */
    __u64 woken;  /* by somebody; 0: not yet */
    __u64 queued; /* for a CPU, a little later and maybe on another one; 0: not yet */
    __u64 since;  /* of the sums; 0: there are none */
    struct wire_wait wait;
    struct wire_gil gil; /* of a wait for one */
    __u64 gil_at;        /* the one that the thread waited for last, and */
    __u64 gil_since;     /* when the wait for it began; 0: none is under way */
    __u64 gil_sp;        /* of the call whose stack was sent last; 0: another stack was */
    __u32 gil_of;        /* the generation of its process's Python then */
    __u32 gil_same;      /* this span's stack is that of the one before */
    __u64 unwalked;      /* ns that it waited for wakers that were not walked */
    __u32 image;
    __u16 cpu;
    __u8 stack; /* enum wire_stack_state */
    __u8 flags; /* WIRE_SPAN_ */
    __u8 place; /* of this span; see off_place() */
    __u8 pad[3];
    __u32 late;   /* 1: the last span is in its late_slot() */
    __u16 wakers; /* places whose waker was walked once: bits */
    __u16 pad2;
    __u8 shorts[OFF_PLACES]; /* spans there since the last one that was listed, up to OFF_SHORT_RUN */
    struct off_exact exact;
    __u64 ns[WIRE_OFF_REASONS];
    __u32 n[WIRE_OFF_REASONS];
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct off_task);
} off_tasks SEC(".maps");

struct off_bucket {
    __s64 tokens; /* ns of walking left */
    __u64 refilled;
};

struct off_cpu {
    struct off_bucket waits, rest;
    struct wire_off_stats stats;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct off_cpu);
} off_cpus SEC(".maps");

/* One element per CPU; set at open. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct stack_scratch);
} off_scratch SEC(".maps");

struct wire_off_config off_config = {};

static __always_inline struct off_cpu *off_here(void)
{
    __u32 zero = 0;

    return bpf_map_lookup_elem(&off_cpus, &zero);
}

static __always_inline __u32 off_state(struct task_struct *t)
{
    struct task_struct___state *old = (void *)t;

    if (bpf_core_field_exists(t->__state))
        return BPF_CORE_READ(t, __state);
    return BPF_CORE_READ(old, state);
}

#endif
