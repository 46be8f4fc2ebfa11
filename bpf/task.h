/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who a task is, in a form that can cross. */
#ifndef WPROF_BPF_TASK_H
#define WPROF_BPF_TASK_H

#include "bpf/maps.h"

#include <bpf/bpf_core_read.h>

/* When it began, as /proc tells wprof; of a task that the verifier does not trust. */
static __always_inline __u64 task_start_of(struct task_struct *t)
{
    __u64 start = bpf_core_field_exists(t->start_boottime)
                      ? BPF_CORE_READ(t, start_boottime)
                      : BPF_CORE_READ((struct task_struct___old *)t, real_start_time);

    return start + (__u64)config_boottime_ahead;
}

static __always_inline __u64 task_start(struct task_struct *t)
{
    return bpf_core_field_exists(t->start_boottime) ? t->start_boottime + (__u64)config_boottime_ahead
                                                    : task_start_of(t);
}

/* A field of pid's entry for a level: read by a helper, for the verifier allows no arithmetic with pointers
 * that it knows the type of. numbers[] is a flexible array whose elements are larger in the kernel than in
 * our few types: step by its size. */
static __always_inline void pid_entry(void *out, __u32 size, struct pid *pid, __u32 level, __u64 field)
{
    __u64 at =
        bpf_core_field_offset(struct pid, numbers) + (__u64)level * bpf_core_type_size(struct upid) + field;

    bpf_probe_read_kernel(out, size, (const char *)pid + at);
}

static __always_inline __u32 pid_number(struct pid *pid, __u32 level)
{
    __u32 nr = 0;

    pid_entry(&nr, sizeof(nr), pid, level, bpf_core_field_offset(struct upid, nr));
    return nr;
}

static __always_inline __u64 pid_namespace_at(struct pid *pid, __u32 level)
{
    __u64 ns = 0;

    pid_entry(&ns, sizeof(ns), pid, level, bpf_core_field_offset(struct upid, ns));
    return ns;
}

/* In wprof's own namespace, which is not the initial one; 0: it isn't there. Another namespace may be as
 * deep. */
static __always_inline __u32 pid_own_number(struct pid *pid, __u32 depth)
{
    __u32 own = own_pidns_level;

    return depth >= own && pid_namespace_at(pid, own) == own_pidns ? pid_number(pid, own) : 0;
}

/* Is t's process past its end? Its last thread still runs for a while, and frees its memory (since Linux 6.16
 * only after the tracepoint sched_process_exit). */
static __always_inline int task_process_ended(struct task_struct *t)
{
    return t->flags & PF_EXITING && BPF_CORE_READ(t, signal, live.counter) == 0;
}

/* The pid of a process, by that of its leader, in wprof's own pid namespace; 0: it is in none below that. */
static __always_inline __u32 task_pid_number(struct pid *pid, __u32 depth, __u32 tgid)
{
    return own_pidns_level ? pid_own_number(pid, depth) : tgid;
}

static __always_inline __u32 task_ns_tgid(struct task_struct *t)
{
    struct pid *pid = BPF_CORE_READ(t, group_leader, thread_pid);

    return task_pid_number(pid, BPF_CORE_READ(pid, level), t->tgid);
}

/*
 * t must be a pointer that the verifier trusts (a tracepoint's argument, the current task): plain loads are
 * cheaper than a helper's call for each. But not of pointers: of these the verifier looks through the names
 * of all the kernel's types, several times, which was two thirds of the time that our programs took to load.
 */
static __always_inline void task_describe(struct wire_task *out, struct task_struct *t)
{
    struct task_struct *leader = BPF_CORE_READ(t, group_leader);
    struct pid *pid = BPF_CORE_READ(leader, thread_pid);
    __u32 depth = BPF_CORE_READ(pid, level);

    out->tgid = t->tgid;
    out->tid = t->pid;
    out->ns_tgid = task_pid_number(pid, depth, out->tgid);
    out->ns_tid = out->tid;
    out->own_tgid = out->tgid;
    out->pad = 0;
    if (own_pidns_level)
        out->ns_tid = pid_own_number(BPF_CORE_READ(t, thread_pid), depth);
    if (depth)
        out->own_tgid = pid_number(pid, depth);
    out->start = task_start(t);
    out->leader_start = task_start_of(leader);
    out->thread_id = t->thread.fsbase;
    __builtin_memcpy(out->comm, t->comm, sizeof(out->comm));
}

/* The user's registers of a thread that is not the current one, as of when it last entered the kernel. */
static __always_inline void task_registers(struct walk_regs *out, struct task_struct *t)
{
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(t);

    out->ip = BPF_CORE_READ(regs, ip);
    out->sp = BPF_CORE_READ(regs, sp);
    out->bp = BPF_CORE_READ(regs, bp);
    out->r10 = BPF_CORE_READ(regs, r10);
    out->r13 = BPF_CORE_READ(regs, r13);
}

#endif
