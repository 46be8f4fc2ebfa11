/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is sent of a thread's time off its CPU: listed spans, and the sums of short ones. */
#ifndef WPROF_BPF_OFF_SPAN_H
#define WPROF_BPF_OFF_SPAN_H

#include "bpf/off_task.h"

static __always_inline void off_fill_span(struct wire_span *r, struct off_task *o, struct task_struct *t,
                                          __u64 blocked, __u64 runnable, __u64 now)
{
    __u32 tgid = t->tgid;
    struct wire_proc *p;

    r->head.type = WIRE_SPAN;
    r->head.size = sizeof(*r);
    r->head.ts = o->out;
    task_describe(&r->task, t);
    r->blocked = blocked;
    r->runnable = runnable;
    r->woken = o->woken;
    r->queued = o->queued ? o->queued : o->woken;
    r->ran = now;
    r->wait = o->wait;
    r->gil = o->gil;
    p = bpf_map_lookup_elem(&procs, &tgid);
    r->image = p ? p->image : 0;
    r->cpu = o->cpu;
    r->flags = o->flags | (t->flags & PF_KTHREAD ? WIRE_SPAN_KTHREAD : 0);
    r->stack = o->stack;
}

/* ---- sums ---- */

static __always_inline void off_sum(struct off_cpu *c, struct off_task *o, __u32 reason, __u64 ns, __u64 now)
{
    if (!o->since)
        o->since = now;
    reason &= WIRE_OFF_REASONS - 1;
    o->ns[reason] += ns;
    o->n[reason]++;
    c->stats.summed++;
}

static __always_inline int off_send_sums(struct off_task *o, struct task_struct *t, int ended)
{
    struct wire_short *r = bpf_ringbuf_reserve(&samples, sizeof(*r), 0);

    if (!r)
        return -1;
    r->head.type = WIRE_SHORT;
    r->head.size = sizeof(*r);
    r->head.ts = o->since ? o->since : clock_now();
    r->ended = ended;
    r->pad = 0;
    task_describe(&r->task, t);
    __builtin_memcpy(r->ns, o->ns, sizeof(r->ns));
    __builtin_memcpy(r->n, o->n, sizeof(r->n));
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
    o->since = 0;
    __builtin_memset(o->ns, 0, sizeof(o->ns));
    __builtin_memset(o->n, 0, sizeof(o->n));
    return 0;
}

/* Before the last sums are sent. */
static __always_inline void off_settle(struct off_task *o, struct task_struct *t, __u64 now)
{
    __u32 reason = o->wait.reason & (WIRE_OFF_REASONS - 1);

    exact_left(&o->exact, t, now);
    o->ns[reason] = exact_settle(&o->exact.owe_blocked, o->ns[reason]);
    o->ns[WIRE_OFF_RUNNABLE] = exact_settle(&o->exact.owe_runnable, o->ns[WIRE_OFF_RUNNABLE]);
}

#endif
