/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Follows the targets through fork, exec and exit. Nothing here looks at a process that is not followed
 * beyond one hash lookup (none with -a, where every process is told of).
 */
#include "bpf/maps.h"
#include "bpf/task.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__u32 own_pidns_level = 0;
__u64 own_pidns = 0;
const volatile __u32 config_whole_machine = 0;
const volatile __u32 config_row_sets = ROW_SETS;
const volatile __u32 config_clock = 0;
const volatile __s64 config_monotonic_ahead = 0;
const volatile __s64 config_boottime_ahead = 0;

static __always_inline void control_lost(void)
{
    struct wire_lost *l = lost_here();

    if (l)
        l->control++;
}

static __always_inline void head_fill(struct wire_head *h, __u32 type, __u32 size)
{
    h->type = type;
    h->size = size;
    h->ts = clock_now();
}

/* Run once, by hand (BPF_PROG_TEST_RUN), in wprof's own context. */
SEC("raw_tp/own_level")
int own_level(void *ctx)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();

    own_pidns_level = BPF_CORE_READ(t, thread_pid, level);
    own_pidns = pid_namespace_at(BPF_CORE_READ(t, thread_pid), own_pidns_level);
    return 0;
}

/* Every thread there is, as struct wire_thread after struct wire_thread. */
SEC("iter/task")
int each_thread(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    struct wire_thread r = {};

    if (!t)
        return 0;
    task_describe(&r.task, t);
    r.runtime = BPF_CORE_READ(t, se.sum_exec_runtime);
    r.parent_tgid = BPF_CORE_READ(t, real_parent, tgid);
    r.kthread = !!(BPF_CORE_READ(t, flags) & PF_KTHREAD);
    bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
    return 0;
}

static __always_inline void follow_fork(struct task_struct *parent, struct task_struct *child)
{
    __u32 from = parent->tgid, to = child->tgid;
    struct wire_proc *p, copy = {};
    struct wire_fork *r;
    struct py_proc *py;

    if (child->pid != to) /* a thread */
        return;
    p = bpf_map_lookup_elem(&procs, &from);
    if (p)
        copy = *p;
    else if (!config_whole_machine)
        return;
    copy.start = task_start(child);
    if (bpf_map_update_elem(&procs, &to, &copy, BPF_ANY)) {
        struct wire_lost *l = lost_here();

        if (l)
            l->procs++;
        return;
    }
    py = bpf_map_lookup_elem(&py_procs, &from); /* the same interpreter at the same address, until exec */
    if (py) {
        struct py_proc same = *py;

        bpf_map_update_elem(&py_procs, &to, &same, BPF_ANY);
    } else
        bpf_map_delete_elem(&py_procs, &to);
    r = bpf_ringbuf_reserve(&control, sizeof(*r), 0);
    if (!r) {
        control_lost();
        return;
    }
    head_fill(&r->head, WIRE_FORK, sizeof(*r));
    task_describe(&r->child, child);
    r->parent_tgid = from;
    r->pad = 0;
    __builtin_memset(&r->parent, 0, sizeof(r->parent));
    if (config_whole_machine) /* it may have been there before, and nobody has told of it */
        task_describe(&r->parent, parent->group_leader);
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(proc_fork, struct task_struct *parent, struct task_struct *child)
{
    __u64 t0 = cost_begin();

    follow_fork(parent, child);
    return cost_end(t0);
}

static __always_inline void follow_exec(struct task_struct *task)
{
    __u32 tgid = task->tgid;
    struct wire_proc *p = bpf_map_lookup_elem(&procs, &tgid), next = {};
    struct wire_exec *r;

    if (!p)
        return;
    next.start = p->start;
    next.image = p->image + 1;
    bpf_map_update_elem(&procs, &tgid, &next, BPF_ANY);
    bpf_map_delete_elem(&py_procs, &tgid);
    r = bpf_ringbuf_reserve(&control, sizeof(*r), 0);
    if (!r) {
        control_lost();
        return;
    }
    head_fill(&r->head, WIRE_EXEC, sizeof(*r));
    task_describe(&r->task, task);
    r->runtime = BPF_CORE_READ(task, se.sum_exec_runtime);
    r->image = next.image;
    r->pad = 0;
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(proc_exec, struct task_struct *task)
{
    __u64 t0 = cost_begin();

    follow_exec(task);
    return cost_end(t0);
}

static __always_inline void follow_exit(struct task_struct *task)
{
    __u32 tgid = task->tgid;
    struct wire_exit *r;
    int last;

    if (!config_whole_machine && !bpf_map_lookup_elem(&procs, &tgid))
        return;
    /* do_exit() counts the thread out of signal->live before this tracepoint. */
    last = BPF_CORE_READ(task, signal, live.counter) == 0;
    if (last)
        bpf_map_delete_elem(&py_procs, &tgid);
    r = bpf_ringbuf_reserve(&control, sizeof(*r), 0);
    if (!r) {
        control_lost();
        return;
    }
    head_fill(&r->head, WIRE_EXIT, sizeof(*r));
    task_describe(&r->task, task);
    r->runtime = BPF_CORE_READ(task, se.sum_exec_runtime);
    r->last = last;
    r->pad = 0;
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(proc_exit, struct task_struct *task)
{
    __u64 t0 = cost_begin();

    follow_exit(task);
    return cost_end(t0);
}

/* Followed until now: what a process does after sched_process_exit, and for a short one that is much, is
 * sampled, too. The tgid may be another process's by now. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(proc_free, struct task_struct *task)
{
    __u32 tgid = task->tgid;
    struct wire_proc *p;

    if (task->pid != tgid)
        return 0;
    p = bpf_map_lookup_elem(&procs, &tgid);
    if (p && p->start == task_start(task))
        bpf_map_delete_elem(&procs, &tgid);
    return 0;
}
