/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks of waits that were worth one, taken when the thread is back: see late.h. */
#ifndef WPROF_BPF_OFF_LATE_H
#define WPROF_BPF_OFF_LATE_H

#include "bpf/off_span.h"
#include "bpf/off_stack.h"

/* Sends a span that lies in its slot. */
static __always_inline void off_late_span(struct off_cpu *c, struct late *l)
{
    if (bpf_ringbuf_output(&samples, &l->span, sizeof(l->span), off_ring_flags()))
        c->stats.spans_lost++; /* and its time: it was taken from the sums */
    l->tid = 0;
}

/* It leaves its CPU before it came to where its stack could be taken. */
static __always_inline void off_late_give_up(struct off_cpu *c, struct off_task *o, struct task_struct *t)
{
    struct late *l;

    if (!__sync_val_compare_and_swap(&o->late, 1, 0))
        return;
    l = late_slot(t->pid);
    if (!l || l->tid != t->pid)
        return;
    l->span.stack = WIRE_STACK_BUDGET;
    off_late_span(c, l);
}

/* The stack of the current thread, whose kernel's frames are in l. */
static __always_inline void off_late_stack(struct off_cpu *c, struct late *l, struct task_struct *t)
{
    __u64 begin = bpf_ktime_get_ns(), n = l->kernel_n, took;
    __u32 cpu = bpf_get_smp_processor_id(), tgid = t->tgid;
    struct stack_scratch *s = bpf_map_lookup_elem(&off_scratch, &cpu);
    struct wire_proc *p = bpf_map_lookup_elem(&procs, &tgid);
    struct wire_sample *out;

    if (!s || n > WIRE_KERNEL_MAX)
        return;
    out = &s->sample;
    off_head(out, WIRE_BLOCKED, l->span.head.ts, p);
    out->task = l->span.task;
    out->kernel_n = n;
    bpf_probe_read_kernel(s->words, n * 8, l->kernel);
    s->pos = n;
    if (!off_output(c, s, stack_user(s, p)))
        l->span.stack = WIRE_STACK_SENT;
    took = bpf_ktime_get_ns() - begin;
    c->stats.walks++;
    c->stats.walk_ns += took;
    c->stats.late_ns += took;
    c->waits.tokens -= took;
}

/* On the way back to the user's code. Interrupts are off as in the other programs that use the scratch. */
static int off_late_take(struct bpf_map *map, void *key, void *value)
{
    struct task_struct *t = bpf_get_current_task_btf();
    struct off_task *o = bpf_task_storage_get(&off_tasks, t, 0, 0);
    struct late *l = value;
    unsigned long irqs;
    struct off_cpu *c;

    if (!o || l->tid != t->pid || !__sync_val_compare_and_swap(&o->late, 1, 0))
        return 0;
    bpf_local_irq_save(&irqs);
    c = off_here();
    if (c) {
        off_late_stack(c, l, t);
        off_late_span(c, l);
    }
    bpf_local_irq_restore(&irqs);
    return 0;
}

/* Into the thread's slot until its stack is taken. -1: that can't be. */
static __always_inline int off_late(struct off_cpu *c, struct off_task *o, struct task_struct *t,
                                    __u64 blocked, __u64 runnable, __u64 now)
{
    struct late *l;
    long n;

    if (!late_possible() || o->stack != WIRE_STACK_LATE || !off_may_walk(c, 1, now))
        return -1;
    l = late_slot(t->pid);
    if (!l || __sync_val_compare_and_swap(&l->tid, 0, t->pid))
        return -1;
    o->stack = WIRE_STACK_BUDGET; /* until it is taken */
    off_fill_span(&l->span, o, t, blocked, runnable, now);
    n = bpf_get_task_stack(t, l->kernel, sizeof(l->kernel), 0);
    l->kernel_n = n > 0 ? (__u32)n / 8 : 0;
    if (bpf_task_work_schedule_resume_impl(t, &l->work, &lates, off_late_take, 0)) {
        l->tid = 0;
        return -1;
    }
    o->late = 1;
    return 0;
}

#endif
