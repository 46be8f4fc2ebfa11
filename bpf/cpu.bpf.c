/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* On-CPU samples: one program at one perf event per CPU. */
#include "bpf/stack.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* One element per CPU (set at open): a per-CPU map's elements are limited to 32 KiB. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct stack_scratch);
} cpu_scratch SEC(".maps");

/* Wake the reader early when that much of the ring is filled; else it comes by time. */
enum { CPU_WAKE_BYTES = 1 << 20 };

static __always_inline void cpu_lost(void)
{
    struct wire_lost *l = lost_here();

    if (l)
        l->samples++;
}

/* A process that -a meets for the first time. */
static __always_inline void cpu_meet(__u32 tgid, struct task_struct *t)
{
    struct wire_proc p = {};

    p.start = task_start_of(BPF_CORE_READ(t, group_leader));
    if (bpf_map_update_elem(&procs, &tgid, &p, BPF_NOEXIST)) {
        struct wire_lost *l = lost_here();

        if (l)
            l->procs++;
    }
}

static __always_inline void cpu_take(struct bpf_perf_event_data *ctx)
{
    __u32 tgid = bpf_get_current_pid_tgid() >> 32, cpu = bpf_get_smp_processor_id(), size;
    struct stack_scratch *s;
    struct wire_sample *out;
    struct task_struct *t;
    struct wire_proc *p;
    __u64 flags;

    if (!tgid) /* idle */
        return;
    p = bpf_map_lookup_elem(&procs, &tgid);
    if (!p && !config_whole_machine)
        return;
    s = bpf_map_lookup_elem(&cpu_scratch, &cpu);
    if (!s)
        return;
    out = &s->sample;
    t = bpf_get_current_task_btf();
    out->head.type = WIRE_SAMPLE;
    out->head.ts = clock_now();
    out->weight = ctx->sample_period;
    out->cpu = cpu;
    out->pad = 0;
    out->flags = (ctx->regs.cs & 3) ? WIRE_USER : 0;
    if (t->flags & PF_KTHREAD)
        out->flags |= WIRE_KTHREAD;
    else if (!BPF_CORE_READ(t, mm) || t->flags & (PF_IO_WORKER | PF_USER_WORKER) || task_process_ended(t))
        out->flags |= WIRE_NO_MM;
    else if (BPF_CORE_READ_BITFIELD(t, in_execve))
        out->flags |= WIRE_EXECVE;
    else if (!p)
        cpu_meet(tgid, t);
    out->image = p ? p->image : 0;
    task_describe(&out->task, t);
    size = stack_take(s, ctx, p);
    out->head.size = size;
    if (size > sizeof(*out) + sizeof(s->words))
        return;
    flags = out->stack_n || bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > CPU_WAKE_BYTES
                ? BPF_RB_FORCE_WAKEUP
                : BPF_RB_NO_WAKEUP;
    if (bpf_ringbuf_output(&samples, out, size, flags))
        cpu_lost();
}

SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
    __u64 t0 = cost_begin();

    cpu_take(ctx);
    return cost_end(t0);
}
