/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The user's registers of every thread, as they were when it last entered the kernel. */
#include "bpf/maps.h"
#include "bpf/task.h"

#include <bpf/bpf_tracing.h>

/* As struct wire_regs after struct wire_regs. Of one that runs in the program they are old. */
SEC("iter/task")
int dump_regs(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    struct wire_task who = {};
    struct wire_regs r = {};

    if (!t || BPF_CORE_READ(t, flags) & PF_KTHREAD)
        return 0;
    task_describe(&who, t);
    r.ns_tid = who.ns_tid;
    task_registers(&r.regs, t);
    bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
    return 0;
}
