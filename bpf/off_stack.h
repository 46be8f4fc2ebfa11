/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks of threads off their CPU and of who wakes them: within a budget of time, and of the ring's room. */
#ifndef WPROF_BPF_OFF_STACK_H
#define WPROF_BPF_OFF_STACK_H

#include "bpf/late.h"
#include "bpf/off_task.h"

static __always_inline __u64 off_ring_flags(void)
{
    return bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > OFF_WAKE_BYTES ? BPF_RB_FORCE_WAKEUP
                                                                           : BPF_RB_NO_WAKEUP;
}

/* Half of the ring is for on-CPU samples: stacks go into the other half, spans, which are small, a bit
 * further. */
static __always_inline int off_room(void)
{
    return bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) < bpf_ringbuf_query(&samples, BPF_RB_RING_SIZE) / 2;
}

static __always_inline int off_span_room(void)
{
    return bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) <
           bpf_ringbuf_query(&samples, BPF_RB_RING_SIZE) / 4 * 3;
}

/* Where the current thread leaves its CPU, as far as that tells how long for: pushed off it, for the GIL, or
 * else the stack pointer and the address of its call. */
static __always_inline __u8 off_place(const struct off_task *o, struct task_struct *t)
{
    const struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(t);

    if (o->flags & WIRE_SPAN_PREEMPTED)
        return 0;
    if (o->wait.reason == off_config.gil)
        return 1;
    return 2 + (((r->sp ^ r->ip) * STACK_GOLDEN >> 32) % (OFF_PLACES - 2));
}

static __always_inline __u8 *off_short_run(struct off_task *o)
{
    return &o->shorts[o->place & (OFF_PLACES - 1)];
}

/* The bucket that a walk may be taken from; 0: there is no time. What a thread's spans were at a place tells
 * what the next one will be: stacks of short ones are not listed. Where a thread that did not wait was is
 * what on-CPU samples tell. Both get a small part. */
static __always_inline struct off_bucket *off_may_walk(struct off_cpu *c, int worth, __u64 now)
{
    struct off_bucket *b = worth ? &c->waits : &c->rest;
    __u64 part = worth ? 1 : late_possible() ? 2 * OFF_SMALL_SHARE : OFF_SMALL_SHARE;
    __u64 passed = now - b->refilled, share = 1000 * part;
    __s64 most = OFF_BURST_NS / part;

    if (passed > OFF_BURST_NS * 1000ULL) /* it is full after that, whatever the share */
        passed = OFF_BURST_NS * 1000ULL;
    b->refilled = now;
    b->tokens += passed * off_config.walk_permille / share;
    if (b->tokens > most)
        b->tokens = most;
    if (b->tokens > 0)
        return b;
    c->stats.over_budget++;
    return 0;
}

/* What a record of the current thread begins with: p is its process, or NULL; who it is comes after that. */
static __always_inline void off_head(struct wire_sample *out, __u32 type, __u64 ts, const struct wire_proc *p)
{
    out->head.type = type;
    out->head.ts = ts;
    out->weight = 0;
    out->cpu = bpf_get_smp_processor_id();
    out->pad = 0;
    out->flags = 0;
    out->kernel_n = out->native_n = out->python_n = 0;
    out->status = WALK_ROOT;
    out->stack_n = 0;
    out->image = p ? p->image : 0;
}

/* The record of `size` bytes in the scratch goes into the ring. */
static __always_inline int off_output(struct off_cpu *c, struct stack_scratch *s, __u32 size)
{
    struct wire_sample *out = &s->sample;

    out->head.size = size;
    if (size > sizeof(*out) + sizeof(s->words))
        return -1;
    if (bpf_ringbuf_output(&samples, out, size, out->stack_n ? BPF_RB_FORCE_WAKEUP : off_ring_flags())) {
        c->stats.stacks_lost++;
        return -1;
    }
    return 0;
}

/* The current task's stack into the ring, as a record of `type`; over budget: only the kernel's part. */
static __always_inline int off_send_stack(struct off_cpu *c, struct off_bucket *b, void *ctx, __u32 type,
                                          __u64 ts, __u64 weight, __u32 pad)
{
    __u32 cpu = bpf_get_smp_processor_id(), tgid, size;
    struct task_struct *t = bpf_get_current_task_btf();
    struct stack_scratch *s = bpf_map_lookup_elem(&off_scratch, &cpu);
    struct wire_sample *out;
    struct wire_proc *p;
    __u64 after;

    if (!s)
        return -1;
    tgid = t->tgid;
    p = bpf_map_lookup_elem(&procs, &tgid);
    out = &s->sample;
    off_head(out, type, ts, p);
    out->weight = weight;
    out->pad = pad;
    if (t->flags & PF_KTHREAD)
        out->flags |= WIRE_KTHREAD;
    else if (!BPF_CORE_READ(t, mm) || task_process_ended(t))
        out->flags |= WIRE_NO_MM;
    task_describe(&out->task, t);
    if (type == WIRE_WAKER && pad) {
        stack_kernel(s, ctx);
        size = sizeof(*out) + s->pos * 8;
    } else {
        size = stack_take(s, ctx, p);
    }
    if (off_output(c, s, size))
        return -1;
    after = clock_now();
    if (b)
        b->tokens -= after - ts;
    c->stats.walks += type != WIRE_WAKER || !pad;
    c->stats.walk_ns += after - ts;
    return 0;
}

#endif
