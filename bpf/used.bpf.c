/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What followed threads use, and on which CPU. The kernel counts a thread's time itself; it is put down to a
 * CPU when the thread leaves it for another one, and when user space asks: nothing is done at a switch.
 */
#include "bpf/maps.h"
#include "bpf/task.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A followed thread: how much of its time is put down, and where since it was last asked. */
struct used_task {
    __u64 put;
    __u64 ns[WIRE_USED_CPUS];
    __u32 cpu[WIRE_USED_CPUS]; /* number + 1; 0: free */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct used_task);
} used_tasks SEC(".maps");

static __always_inline __u32 used_cpu(struct task_struct *t)
{
    if (bpf_core_field_exists(t->thread_info.cpu))
        return BPF_CORE_READ(t, thread_info.cpu);
    return BPF_CORE_READ((struct task_struct___cpu *)t, cpu);
}

/* A migration and a question may come at once: each ns is taken by one of them. */
static __always_inline void used_put(struct used_task *u, struct task_struct *t)
{
    __u64 run = BPF_CORE_READ(t, se.sum_exec_runtime), before = __sync_lock_test_and_set(&u->put, run);
    __u32 cpu = used_cpu(t) + 1;

    if (run <= before)
        return;
    for (int i = 0; i < WIRE_USED_CPUS; i++) {
        if (u->cpu[i] && u->cpu[i] != cpu && i + 1 < WIRE_USED_CPUS)
            continue;
        if (!u->cpu[i])
            u->cpu[i] = cpu;
        else if (u->cpu[i] != cpu) /* more CPUs than there is room for */
            u->cpu[i] = WIRE_USED_NO_CPU;
        __sync_fetch_and_add(&u->ns[i], run - before);
        return;
    }
}

static __always_inline void used_fill(struct wire_used *r, struct used_task *u, struct task_struct *t)
{
    r->head.type = WIRE_USED;
    r->head.size = sizeof(*r);
    r->head.ts = clock_now();
    task_describe(&r->task, t);
    r->run = BPF_CORE_READ(t, se.sum_exec_runtime);
    r->delay = BPF_CORE_READ(t, sched_info.run_delay);
    r->voluntary = BPF_CORE_READ(t, nvcsw);
    r->involuntary = BPF_CORE_READ(t, nivcsw);
    r->last = 0;
    r->pad = 0;
    for (int i = 0; i < WIRE_USED_CPUS; i++) {
        __u32 cpu = u->cpu[i];

        r->cpus[i].ns = __sync_lock_test_and_set(&u->ns[i], 0);
        r->cpus[i].cpu = cpu == WIRE_USED_NO_CPU ? cpu : cpu - 1;
        r->cpus[i].pad = 0;
        u->cpu[i] = 0;
    }
}

static __always_inline void used_add_thread(struct wire_used *r, struct task_struct *t)
{
    r->group_run += BPF_CORE_READ(t, se.sum_exec_runtime);
    r->user += BPF_CORE_READ(t, utime);
    r->system += BPF_CORE_READ(t, stime);
    r->minor += BPF_CORE_READ(t, min_flt);
    r->major += BPF_CORE_READ(t, maj_flt);
    if (bpf_core_field_exists(t->ioac.rchar)) {
        r->in += BPF_CORE_READ(t, ioac.rchar);
        r->out += BPF_CORE_READ(t, ioac.wchar);
    }
    if (bpf_core_field_exists(t->ioac.read_bytes)) {
        r->read += BPF_CORE_READ(t, ioac.read_bytes);
        r->written += BPF_CORE_READ(t, ioac.write_bytes);
    }
}

/* The process ends with t: threads before it are summed up in its signal_struct, but for the leader, who
 * stays until it is waited for. */
static __always_inline void used_group(struct wire_used *r, struct task_struct *t)
{
    struct task_struct *leader = t->group_leader;
    struct signal_struct *s = t->signal;

    r->last = 1;
    r->group_run = BPF_CORE_READ(s, sum_sched_runtime);
    r->user = BPF_CORE_READ(s, utime);
    r->system = BPF_CORE_READ(s, stime);
    r->minor = BPF_CORE_READ(s, min_flt);
    r->major = BPF_CORE_READ(s, maj_flt);
    r->max_rss = BPF_CORE_READ(s, maxrss);
    if (bpf_core_field_exists(s->ioac.rchar)) {
        r->in = BPF_CORE_READ(s, ioac.rchar);
        r->out = BPF_CORE_READ(s, ioac.wchar);
    }
    if (bpf_core_field_exists(s->ioac.read_bytes)) {
        r->read = BPF_CORE_READ(s, ioac.read_bytes);
        r->written = BPF_CORE_READ(s, ioac.write_bytes);
    }
    used_add_thread(r, t);
    if (leader != t)
        used_add_thread(r, leader);
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(used_migrate, struct task_struct *t, int to)
{
    struct used_task *u = bpf_task_storage_get(&used_tasks, t, 0, 0);

    if (u)
        used_put(u, t);
    return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(used_fork, struct task_struct *parent, struct task_struct *child)
{
    struct used_task *u;
    struct wire_lost *l;

    if (!bpf_task_storage_get(&used_tasks, parent, 0, 0))
        return 0;
    u = bpf_task_storage_get(&used_tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (u)
        return 0;
    l = lost_here();
    if (l)
        l->used++;
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(used_exit, struct task_struct *t)
{
    struct used_task *u = bpf_task_storage_get(&used_tasks, t, 0, 0);
    struct wire_used *r;
    struct wire_lost *l;

    if (!u)
        return 0;
    used_put(u, t);
    r = bpf_ringbuf_reserve(&samples, sizeof(*r), 0);
    if (!r) {
        l = lost_here();
        if (l)
            l->used++;
        return 0;
    }
    used_fill(r, u, t);
    r->group_run = r->user = r->system = r->minor = r->major = 0;
    r->read = r->written = r->in = r->out = r->max_rss = 0;
    if (BPF_CORE_READ(t, signal, live.counter) == 0)
        used_group(r, t);
    bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
    return 0;
}

/* All followed threads that are there when recording begins. */
SEC("iter/task")
int used_begin(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    struct used_task *u;
    __u32 tgid;

    if (!t)
        return 0;
    tgid = t->tgid;
    if (!config_whole_machine && !bpf_map_lookup_elem(&procs, &tgid))
        return 0;
    u = bpf_task_storage_get(&used_tasks, t, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (u)
        u->put = BPF_CORE_READ(t, se.sum_exec_runtime);
    return 0;
}

/* What each has used, as struct wire_used after struct wire_used. */
SEC("iter/task")
int used_look(struct bpf_iter__task *ctx)
{
    struct task_struct *t = ctx->task;
    struct wire_used r = {};
    struct used_task *u;

    if (!t)
        return 0;
    u = bpf_task_storage_get(&used_tasks, t, 0, 0);
    if (!u)
        return 0;
    used_put(u, t);
    used_fill(&r, u, t);
    bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
    return 0;
}
