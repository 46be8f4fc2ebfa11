/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of CUDA's libraries by processes that are followed, at uprobes: counted all, with a stack now and
 * then. For what runs already, and can't be told to load the agent. The attachment's cookie says which
 * function it is.
 */
#include "bpf/stack.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* One element per CPU (set at open), as for samples. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct stack_scratch);
} gpu_scratch SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, WIRE_GPU_CALLS);
    __type(key, __u32);
    __type(value, struct wire_gpu_calls);
} gpu_calls SEC(".maps");

/* Of a CPU. A handler may be preempted, by another one, too: the second does without a stack. */
struct gpu_cpu {
    __u64 next; /* no stack before */
    __u32 busy, pad;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY); /* set at open, as above */
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct gpu_cpu);
} gpu_cpus SEC(".maps");

/* ns between two stacks on a CPU: 100 a second. */
#define GPU_EVERY 10000000ULL

static __always_inline void gpu_send(void *ctx, struct stack_scratch *s, struct wire_gpu_calls *n, __u64 ts,
                                     __u32 cpu, __u32 which, const struct wire_proc *p)
{
    struct wire_sample *out = &s->sample;
    struct task_struct *t = bpf_get_current_task_btf();
    __u32 size;

    out->head.type = WIRE_GPU_CALL;
    out->head.ts = ts;
    out->weight = n->calls - n->told;
    out->cpu = cpu;
    out->pad = which;
    out->flags = WIRE_USER; /* of the kernel's part there is none */
    out->image = p->image;
    task_describe(&out->task, t);
    size = stack_take(s, ctx, p);
    out->head.size = size;
    if (size > sizeof(*out) + sizeof(s->words))
        return;
    if (bpf_ringbuf_output(&samples, out, size, out->stack_n ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
        n->lost++;
    else
        n->told = n->calls;
}

static __always_inline void gpu_called(void *ctx)
{
    __u32 tgid = bpf_get_current_pid_tgid() >> 32, cpu = bpf_get_smp_processor_id(),
          which = bpf_get_attach_cookie(ctx);
    struct wire_proc *p = bpf_map_lookup_elem(&procs, &tgid);
    struct wire_gpu_calls *n = bpf_map_lookup_elem(&gpu_calls, &which);
    struct stack_scratch *s = bpf_map_lookup_elem(&gpu_scratch, &cpu);
    struct gpu_cpu *c = bpf_map_lookup_elem(&gpu_cpus, &cpu);
    __u64 ts = clock_now();

    if (!p || !n || !s || !c)
        return;
    n->calls++;
    if (ts < c->next || __sync_fetch_and_or(&c->busy, 1))
        return;
    c->next = ts + GPU_EVERY;
    gpu_send(ctx, s, n, ts, cpu, which, p);
    __sync_fetch_and_and(&c->busy, 0);
}

SEC("uprobe")
int gpu_call(void *ctx)
{
    __u64 t0 = cost_begin();

    gpu_called(ctx);
    return cost_end(t0);
}
