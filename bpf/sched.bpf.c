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
#include "bpf/off_late.h"
#include "bpf/off_wait.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- coming back ---- */

/* over: a constant, of a span whose thread doesn't come back right now: recording ends, or it was back
 * before. Its stack is not taken late. */
static __always_inline int off_send_span(struct off_cpu *c, struct off_task *o, struct task_struct *t,
                                         __u64 blocked, __u64 runnable, __u64 now, int over)
{
    struct wire_span *r;

    if (!off_span_room())
        return -1;
    if (!over && !off_late(c, o, t, blocked, runnable, now))
        return 0;
    if (!over && o->stack == WIRE_STACK_LATE)
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

static __always_inline void off_came(struct off_cpu *c, struct off_task *o, struct task_struct *t, __u64 now,
                                     int over)
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

        if (off_send_span(c, o, t, b, q, now, over)) {
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

/* A switch to t may not have been told: one to it from a task whose switches are hidden from tracing, or
 * while this program ran already. Its stack can't be taken any more. */
static __always_inline void off_untold(struct off_cpu *c, struct off_task *o, struct task_struct *t,
                                       __u64 now)
{
    if (!o->out)
        return;
    c->stats.untold++;
    if (o->stack == WIRE_STACK_LATE)
        o->stack = WIRE_STACK_BUDGET;
    off_came(c, o, t, exact_arrival(&o->exact, t, o->out, now), 1);
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

/* What becomes of the stack of a thread that leaves: enum wire_stack_state. */
static __always_inline __u8 off_take(struct off_cpu *c, void *ctx, struct off_task *o, struct task_struct *t,
                                     __u64 now)
{
    int preempted = o->flags & WIRE_SPAN_PREEMPTED;
    struct off_bucket *b;

    if (!preempted && o->gil_sp && o->gil_same)
        return WIRE_STACK_SAME;
    if (off_waits_for_length(o, t)) {
        o->gil_sp = 0;
        return WIRE_STACK_LATE;
    }
    b = off_may_walk(c, !preempted && *off_short_run(o) < OFF_SHORT_RUN, now);
    if (b && off_room()) {
        if (off_send_stack(c, b, ctx, WIRE_BLOCKED, now, 0, 0))
            o->gil_sp = 0;
        return WIRE_STACK_SENT;
    }
    o->gil_sp = 0;
    c->stats.no_room += b != 0;
    return b ? WIRE_STACK_ROOM : WIRE_STACK_BUDGET;
}

/* The last that is heard of it. */
static __always_inline void off_died(struct off_cpu *c, struct off_task *o, struct task_struct *t, __u64 now)
{
    o->out = 0;
    off_settle(o, t, now);
    if (off_send_sums(o, t, 1))
        for (int i = 0; i < WIRE_OFF_REASONS; i++)
            c->stats.sums_lost += o->ns[i];
}

enum { SYSCALL_SCHED_YIELD = 24 }; /* arch/x86/entry/syscalls/syscall_64.tbl */

static __always_inline void off_left(struct off_cpu *c, void *ctx, struct off_task *o, struct task_struct *t,
                                     int preempted, __u64 now)
{
    __u32 state = off_state(t);

    off_late_give_up(c, o, t);
    off_untold(c, o, t, now);
    if (state & TASK_DEAD) {
        off_died(c, o, t, now);
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
    o->place = off_place(o, t);
    o->stack = off_take(c, ctx, o, t, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(off_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
    struct off_task *o = bpf_task_storage_get(&off_tasks, next, 0, 0);
    struct off_cpu *c;
    __u64 now = 0, t0 = cost_begin();

    if (o) {
        c = off_here();
        now = clock_now();
        if (c)
            off_came(c, o, next, now, 0);
    }
    o = bpf_task_storage_get(&off_tasks, prev, 0, 0);
    if (!o)
        return now ? cost_end(t0) : 0;
    c = off_here();
    if (c)
        off_left(c, ctx, o, prev, preempt, now ? now : clock_now());
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
    now = clock_now();
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
        o->queued = clock_now();
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
    o->exact.ran = t->se.sum_exec_runtime;
    o->out = clock_now();
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
    if (t->on_cpu)
        off_untold(c, o, t, clock_now());
    o->flags |= WIRE_SPAN_OPEN;
    off_came(c, o, t, clock_now(), 1);
    if (o->since)
        off_send_sums(o, t, 0);
    return 0;
}
