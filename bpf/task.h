/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who a task is, in a form that can cross. */
#ifndef WPROF_BPF_TASK_H
#define WPROF_BPF_TASK_H

#include "bpf/maps.h"

#include <bpf/bpf_core_read.h>

static __always_inline __u64 task_start(struct task_struct *t)
{
    if (bpf_core_field_exists(t->start_boottime))
        return BPF_CORE_READ(t, start_boottime);
    return BPF_CORE_READ((struct task_struct___old *)t, real_start_time);
}

/* numbers[] is a flexible array whose elements are larger in the kernel than in our few types: step by its
 * size. */
static __always_inline __u32 pid_number(struct pid *pid, __u32 level)
{
    __u32 nr = 0;
    __u64 at = bpf_core_field_offset(struct pid, numbers) + (__u64)level * bpf_core_type_size(struct upid) +
               bpf_core_field_offset(struct upid, nr);

    bpf_probe_read_kernel(&nr, sizeof(nr), (const char *)pid + at);
    return nr;
}

static __always_inline void task_describe(struct wire_task *out, struct task_struct *t)
{
    struct pid *pid = BPF_CORE_READ(t, thread_pid), *lead = BPF_CORE_READ(t, group_leader, thread_pid);
    __u32 depth = lead ? BPF_CORE_READ(lead, level) : 0;
    __u32 own = own_pidns_level;

    out->tgid = BPF_CORE_READ(t, tgid);
    out->tid = BPF_CORE_READ(t, pid);
    out->ns_tgid = lead && depth >= own ? pid_number(lead, own) : 0;
    out->ns_tid = pid && depth >= own ? pid_number(pid, own) : 0;
    out->own_tgid = lead ? pid_number(lead, depth) : 0;
    out->pad = 0;
    out->start = task_start(t);
    out->leader_start = task_start(BPF_CORE_READ(t, group_leader));
    bpf_probe_read_kernel(out->comm, sizeof(out->comm), &t->comm);
}

#endif
