/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Off-CPU time: a followed thread is stamped when it leaves its CPU, when it is woken and when it runs again.
 * Whoever is not followed costs a look at the two tasks' storage. Stacks are walked while the thread is still
 * current, within a budget of time per CPU; spans and sums are complete whatever the budget leaves out.
 *
 * These programs run with interrupts off (the run queue's or the task's lock is held), so they share one
 * scratch space per CPU.
 */
#include "bpf/gil.h"
#include "bpf/late.h"
#include "bpf/off_task.h"
#include "bpf/off_wait.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

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

/* ---- stacks ---- */

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
    out = &s->sample;
    out->head.type = type;
    out->head.ts = ts;
    out->weight = weight;
    out->cpu = cpu;
    out->pad = pad;
    out->flags = 0;
    out->kernel_n = out->native_n = out->python_n = 0;
    out->status = WALK_ROOT;
    out->stack_n = 0;
    if (t->flags & PF_KTHREAD)
        out->flags |= WIRE_KTHREAD;
    else if (!t->mm || task_process_ended(t))
        out->flags |= WIRE_NO_MM;
    tgid = t->tgid;
    p = bpf_map_lookup_elem(&procs, &tgid);
    out->image = p ? p->image : 0;
    task_describe(&out->task, t);
    if (type == WIRE_WAKER && pad) {
        stack_kernel(s, ctx);
        size = sizeof(*out) + s->pos * 8;
    } else {
        size = stack_take(s, ctx, p);
    }
    out->head.size = size;
    if (size > sizeof(*out) + sizeof(s->words))
        return -1;
    if (bpf_ringbuf_output(&samples, out, size, out->stack_n ? BPF_RB_FORCE_WAKEUP : off_ring_flags())) {
        c->stats.stacks_lost++;
        return -1;
    }
    after = bpf_ktime_get_ns();
    if (b)
        b->tokens -= after - ts;
    c->stats.walks += type != WIRE_WAKER || !pad;
    c->stats.walk_ns += after - ts;
    return 0;
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
    r->head.ts = o->since ? o->since : bpf_ktime_get_ns();
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

/* ---- stacks of those that are back ---- */

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
    __u32 cpu = bpf_get_smp_processor_id(), tgid = t->tgid, size;
    struct stack_scratch *s = bpf_map_lookup_elem(&off_scratch, &cpu);
    struct wire_proc *p = bpf_map_lookup_elem(&procs, &tgid);
    struct wire_sample *out;

    if (!s || n > WIRE_KERNEL_MAX)
        return;
    out = &s->sample;
    out->head.type = WIRE_BLOCKED;
    out->head.ts = l->span.head.ts;
    out->weight = 0;
    out->cpu = cpu;
    out->pad = 0;
    out->flags = 0;
    out->image = p ? p->image : 0;
    out->task = l->span.task;
    out->kernel_n = n;
    bpf_probe_read_kernel(s->words, n * 8, l->kernel);
    s->pos = n;
    size = stack_user(s, p);
    out->head.size = size;
    if (size > sizeof(*out) + sizeof(s->words))
        return;
    if (bpf_ringbuf_output(&samples, out, size, out->stack_n ? BPF_RB_FORCE_WAKEUP : off_ring_flags()))
        c->stats.stacks_lost++;
    else
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

/* ---- leaving ---- */

/*
 * The futex that the current thread goes to sleep on may be its GIL's: 0. A wait for the GIL is mostly
 * several of these; it began in gil_since. It goes on unless the thread has had the GIL in between, of which
 * CPython counts the changes of hands; and from one stack pointer it is one call, with the same stack.
 */
static __always_inline int off_gil(struct off_task *o, struct task_struct *t, __u64 now)
{
    __u32 tgid = t->tgid, tid = t->pid, layout, switches = o->gil.switches;
    const struct py_proc *proc = bpf_map_lookup_elem(&py_procs, &tgid);
    __u64 at = o->wait.arg0, sp = ((struct pt_regs *)bpf_task_pt_regs(t))->sp;
    const struct py_layout *lay;

    if (!proc)
        return -1;
    layout = proc->layout;
    lay = bpf_map_lookup_elem(&py_layouts, &layout);
    if (!lay || lay->flags & PY_LAYOUT_FREE_THREADED)
        return -1;
    if (o->gil_of != proc->generation || at - o->gil_at >= lay->gil_size) {
        __u64 gil = gil_find(lay, proc, tid, at);

        if (!gil)
            return -1;
        o->gil_at = gil;
        o->gil_of = proc->generation;
    }
    o->wait.reason = off_config.gil;
    gil_read(lay, o->gil_at, &o->gil);
    o->gil_same = o->gil_since && o->gil.holder != t->thread.fsbase && o->gil.switches - switches <= 1;
    if (!o->gil_same)
        o->gil_since = now;
    o->gil_same = o->gil_same && sp == o->gil_sp;
    o->gil_sp = sp;
    return 0;
}

/* Will the stack be taken when the thread is back, if the wait turns out long enough? */
static __always_inline int off_waits_for_length(struct off_task *o, struct task_struct *t)
{
    return late_possible() && !(o->flags & WIRE_SPAN_PREEMPTED) &&
           !(t->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER | PF_EXITING)) &&
           *off_short_run(o) >= OFF_SHORT_RUN_LATE;
}

enum { SYSCALL_SCHED_YIELD = 24 }; /* arch/x86/entry/syscalls/syscall_64.tbl */

static __always_inline void off_left(struct off_cpu *c, void *ctx, struct off_task *o, struct task_struct *t,
                                     int preempted, __u64 now)
{
    __u32 state = off_state(t);
    struct off_bucket *b;

    off_late_give_up(c, o, t);
    if (state & TASK_DEAD) {
        o->out = 0;
        off_settle(o, t, now);
        if (off_send_sums(o, t, 1))
            for (int i = 0; i < WIRE_OFF_REASONS; i++)
                c->stats.sums_lost += o->ns[i];
        return;
    }
    c->stats.switches++;
    if (off_config.sums_ns && o->since && now - o->since > off_config.sums_ns)
        off_send_sums(o, t, 0); /* for want of room they stay, and come later */
    exact_left(&o->exact, t, now);
    o->out = now;
    o->woken = o->queued = 0;
    o->cpu = bpf_get_smp_processor_id();
    o->flags = 0;
    off_wait(&o->wait, t, state);
    if (preempted || !state)
        o->gil_sp = 0;
    else if (o->wait.reason != off_config.futex || off_gil(o, t, now))
        o->gil_since = o->gil_sp = 0;
    if (!preempted && state && o->wait.reason == off_config.futex)
        o->wait.owner = off_owner(&o->wait, t);
    if (preempted || !state) {
        o->flags = WIRE_SPAN_PREEMPTED;
        if (!preempted && o->wait.syscall == SYSCALL_SCHED_YIELD)
            o->flags |= WIRE_SPAN_YIELD;
    }
    preempted = o->flags & WIRE_SPAN_PREEMPTED;
    o->place = off_place(o, t);
    if (!preempted && o->gil_sp && o->gil_same) {
        o->stack = WIRE_STACK_SAME;
        return;
    }
    if (off_waits_for_length(o, t)) {
        o->stack = WIRE_STACK_LATE;
        o->gil_sp = 0;
        return;
    }
    b = off_may_walk(c, !preempted && *off_short_run(o) < OFF_SHORT_RUN, now);
    if (!b) {
        o->stack = WIRE_STACK_BUDGET;
    } else if (!off_room()) {
        o->stack = WIRE_STACK_ROOM;
        c->stats.no_room++;
    } else {
        o->stack = WIRE_STACK_SENT;
        if (off_send_stack(c, b, ctx, WIRE_BLOCKED, now, 0, 0))
            o->gil_sp = 0;
        return;
    }
    o->gil_sp = 0;
}

/* ---- coming back ---- */

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

/* Into the thread's slot until its stack is taken. -1: that can't be. */
static __always_inline int off_late(struct off_cpu *c, struct off_task *o, struct task_struct *t,
                                    __u64 blocked, __u64 runnable, __u64 now)
{
    struct late *l;
    long n;

    if (!late_possible() || o->stack != WIRE_STACK_LATE || o->flags & WIRE_SPAN_OPEN ||
        !off_may_walk(c, 1, now))
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

static __always_inline int off_send_span(struct off_cpu *c, struct off_task *o, struct task_struct *t,
                                         __u64 blocked, __u64 runnable, __u64 now)
{
    struct wire_span *r;

    if (!off_span_room())
        return -1;
    if (!off_late(c, o, t, blocked, runnable, now))
        return 0;
    if (o->stack == WIRE_STACK_LATE && !(o->flags & WIRE_SPAN_OPEN))
        o->stack = WIRE_STACK_BUDGET;
    r = bpf_ringbuf_reserve(&samples, sizeof(*r), 0);
    if (!r)
        return -1;
    off_fill_span(r, o, t, blocked, runnable, now);
    bpf_ringbuf_submit(r, off_ring_flags());
    return 0;
}

/* What belongs to a long wait for the GIL is not summed with what doesn't, however short. */
static __always_inline __u64 off_gil_min(const struct off_task *o, __u64 now)
{
    return now - o->gil_since >= off_config.min_ns ? 0 : off_config.min_ns;
}

static __always_inline void off_came(struct off_cpu *c, struct off_task *o, struct task_struct *t, __u64 now)
{
    int preempted = o->flags & WIRE_SPAN_PREEMPTED;
    __u64 until = o->queued ? o->queued : o->woken ? o->woken : now, blocked, runnable;
    __u64 min = off_config.min_ns;
    __u8 *shorts;
    int listed;

    if (!o->out)
        return;
    if (preempted)
        until = o->out;
    blocked = until - o->out;
    runnable = now - until;
    exact_came(&o->exact, &blocked, &runnable);
    if (!preempted && o->wait.reason == off_config.gil)
        min = off_gil_min(o, now);
    listed = blocked >= min || runnable >= min;
    shorts = off_short_run(o);
    if (listed)
        *shorts = 0;
    else if (*shorts < OFF_SHORT_RUN)
        (*shorts)++;
    if (listed) {
        __u64 b = blocked >= min ? blocked : 0, q = runnable >= min ? runnable : 0;

        if (off_send_span(c, o, t, b, q, now)) {
            c->stats.spans_lost++;
        } else {
            c->stats.spans++;
            blocked -= b;
            runnable -= q;
        }
    }
    if (blocked)
        off_sum(c, o, o->wait.reason, blocked, now);
    if (runnable)
        off_sum(c, o, WIRE_OFF_RUNNABLE, runnable, now);
    o->out = 0;
    if (o->since && now - o->since > OFF_SUMS_EVERY_NS)
        off_send_sums(o, t, 0);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(off_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
    struct off_task *o = bpf_task_storage_get(&off_tasks, next, 0, 0);
    struct off_cpu *c;
    __u64 now = 0, t0 = cost_begin();

    if (o) {
        c = off_here();
        now = bpf_ktime_get_ns();
        if (c)
            off_came(c, o, next, now);
    }
    o = bpf_task_storage_get(&off_tasks, prev, 0, 0);
    if (!o)
        return now ? cost_end(t0) : 0;
    c = off_here();
    if (c)
        off_left(c, ctx, o, prev, preempt, now ? now : bpf_ktime_get_ns());
    return cost_end(t0);
}

/* ---- waking ---- */

/* Not in the kernel by its own will: an interrupt wakes. One that interrupts a system call or a kernel thread
 * is told by its stack, in user space. */
static __always_inline int off_interrupted(struct task_struct *t)
{
    struct pt_regs *r;

    if (!t->pid)
        return 1; /* idle */
    if (t->flags & PF_KTHREAD)
        return 0;
    r = (struct pt_regs *)bpf_task_pt_regs(t);
    return (long)r->orig_ax < 0;
}

/* How much of the waker's stack is taken: wakers by the time that was waited for them, so that the many short
 * waits, which are next to no time, cost next to none; and once at each place. */
static __always_inline __u32 off_waker_part(struct off_task *o, struct off_cpu *c, __u64 waited, __u64 now,
                                            struct off_bucket **b)
{
    __u16 place = 1 << (o->place & (OFF_PLACES - 1));

    o->unwalked += waited;
    if (o->unwalked < off_config.min_ns * OFF_WAKER_MINS && o->wakers & place)
        return WIRE_WAKER_SHORT;
    *b = off_may_walk(c, 1, now);
    if (!*b)
        return WIRE_WAKER_BUDGET;
    o->unwalked = 0;
    o->wakers |= place;
    return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(off_waking, struct task_struct *p)
{
    struct off_task *o = bpf_task_storage_get(&off_tasks, p, 0, 0);
    struct task_struct *waker = bpf_get_current_task_btf();
    struct off_bucket *b = 0;
    struct off_cpu *c;
    __u64 now, waited;
    __u32 part;

    if (!o || !o->out || o->woken || (o->flags & WIRE_SPAN_PREEMPTED))
        return 0;
    now = bpf_ktime_get_ns();
    o->woken = now;
    waited = now - (o->wait.reason == off_config.gil ? o->gil_since : o->out);
    if (waited < off_config.min_ns)
        return 0;
    if (off_interrupted(waker)) {
        o->flags |= WIRE_SPAN_IRQ;
        return 0;
    }
    c = off_here();
    if (!c)
        return 0;
    if (!off_room()) {
        c->stats.no_room++;
        return 0;
    }
    part = off_waker_part(o, c, waited, now, &b);
    if (!off_send_stack(c, b, ctx, WIRE_WAKER, now, p->pid, part))
        o->flags |= WIRE_SPAN_WAKER;
    return cost_end(config_clock ? now : 0);
}

/* The scheduler's own figures count waiting for a CPU from here. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(off_wakeup, struct task_struct *p)
{
    struct off_task *o = bpf_task_storage_get(&off_tasks, p, 0, 0);

    if (o && o->out && !o->queued && !(o->flags & WIRE_SPAN_PREEMPTED))
        o->queued = bpf_ktime_get_ns();
    return 0;
}

/* ---- beginning and end ---- */

/* A thread that nobody saw leaving its CPU, because it began or we began. */
static __always_inline void off_open(struct off_task *o, struct task_struct *t, __u32 stack, int runnable)
{
    o->stack = stack;
    o->flags = runnable ? WIRE_SPAN_PREEMPTED : 0;
    o->woken = o->queued = 0;
    o->cpu = bpf_get_smp_processor_id();
    o->out = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(off_fork, struct task_struct *parent, struct task_struct *child)
{
    struct off_task *o;
    struct off_cpu *c;

    if (!bpf_task_storage_get(&off_tasks, parent, 0, 0))
        return 0;
    o = bpf_task_storage_get(&off_tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (o) {
        o->wait.fd = o->wait.syscall = -1;
        off_open(o, child, WIRE_STACK_NEW, 1);
        return 0;
    }
    c = off_here();
    if (c)
        c->stats.unfollowed++;
    return 0;
}

/* Where a thread is that is blocked when recording begins: the kernel's frames, and the registers from which
 * user space reads the rest. Nobody may write to it before it is sent: no room in off_scratch is safe here.
 */
static __always_inline void off_send_before(struct off_task *o, struct task_struct *t, struct wire_proc *p)
{
    struct {
        struct wire_sample s;
        __u64 kernel[WIRE_KERNEL_MAX];
    } * r;
    long n;

    r = off_room() ? bpf_ringbuf_reserve(&samples, sizeof(*r), 0) : 0;
    if (!r) {
        struct off_cpu *c = off_here();

        if (c)
            c->stats.no_room++;
        return;
    }
    __builtin_memset(&r->s, 0, sizeof(r->s));
    r->s.head.type = WIRE_BLOCKED;
    r->s.head.ts = o->out;
    r->s.pad = WIRE_BLOCKED_BEFORE;
    r->s.image = p ? p->image : 0;
    r->s.status = WALK_NOTABLE;
    r->s.flags = WIRE_TOP;
    task_describe(&r->s.task, t);
    if (t->flags & PF_KTHREAD)
        r->s.flags = WIRE_KTHREAD;
    else
        task_registers(&r->s.regs, t);
    n = bpf_get_task_stack(t, r->kernel, sizeof(r->kernel), 0);
    r->s.kernel_n = n > 0 ? (__u32)n / 8 : 0;
    r->s.head.size = sizeof(r->s) + r->s.kernel_n * 8;
    bpf_ringbuf_submit(r, off_ring_flags());
}

/* All threads that are there when recording begins. */
SEC("iter/task")
int off_begin(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    struct wire_proc *p;
    struct off_task *o;
    __u32 tgid, state;

    if (!t)
        return 0;
    tgid = t->tgid;
    p = bpf_map_lookup_elem(&procs, &tgid);
    if (!p && !config_whole_machine)
        return 0;
    o = bpf_task_storage_get(&off_tasks, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!o) {
        struct off_cpu *c = off_here();

        if (c)
            c->stats.unfollowed++;
        return 0;
    }
    state = off_state(t);
    if (o->out || t->on_cpu || (state & TASK_DEAD))
        return 0;
    if (off_config.launched && p && !p->image) /* waits at our gate */
        return 0;
    off_wait(&o->wait, t, state);
    off_open(o, t, WIRE_STACK_BEFORE, !state);
    if (state)
        off_send_before(o, t, p);
    return 0;
}

/* Before that: whoever's stack was to be taken when it is back stands still, to be looked at. */
SEC("iter/task")
int off_rest(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    struct wire_proc *p;
    struct off_task *o;
    __u32 tgid;

    if (!t)
        return 0;
    tgid = t->tgid;
    p = bpf_map_lookup_elem(&procs, &tgid);
    o = bpf_task_storage_get(&off_tasks, t, 0, 0);
    if (o && o->out && !o->woken && o->stack == WIRE_STACK_LATE)
        off_send_before(o, t, p);
    return 0;
}

/* All spans that are open when it ends; run after the others are detached. */
SEC("iter/task")
int off_end(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    struct off_task *o;
    struct off_cpu *c;

    if (!t)
        return 0;
    o = bpf_task_storage_get(&off_tasks, t, 0, 0);
    c = off_here();
    if (!o || !c)
        return 0;
    off_late_give_up(c, o, t);
    o->flags |= WIRE_SPAN_OPEN;
    off_came(c, o, t, bpf_ktime_get_ns());
    if (o->since)
        off_send_sums(o, t, 0);
    return 0;
}
