/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tier A: what threads used as our programs in the kernel tell it, with the CPUs they ran on, and what they
 * and their processes had used when they ended. Without them threads are read in /proc (metrics_thread.c).
 */
#include "collect/metrics.h"
#include "collect/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A process that began and ended between two looks is listed if it used that much; else it is summed up. */
#define LISTED_NS 10000000ull

static uint64_t grown(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

/* ---- threads ---- */

/* The place of tid in the sorted list, or where it belongs. */
static size_t place_of(const struct metrics_process *p, pid_t tid)
{
    size_t low = 0, high = p->threads.n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (p->threads.a[middle].tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct metrics_thread *thread_of(struct metrics *m, struct metrics_process *p,
                                        const struct wire_used *r)
{
    pid_t tid = (pid_t)r->task.ns_tid;
    size_t at = place_of(p, tid);
    struct metrics_thread *t;
    uint64_t birth = grown(m->boot_ns, r->task.start);

    if (at < p->threads.n && p->threads.a[at].tid == tid && p->threads.a[at].start_ns == r->task.start)
        return &p->threads.a[at];
    if (at < p->threads.n && p->threads.a[at].tid == tid) { /* the number is another thread's now */
        metrics_thread_leave(m, &p->threads.a[at]);
    } else {
        vec_push(&p->threads);
        memmove(&p->threads.a[at + 1], &p->threads.a[at], (p->threads.n - 1 - at) * sizeof(*p->threads.a));
    }
    t = &p->threads.a[at];
    *t = (struct metrics_thread){.tid = tid, .run_fd = -1, .start_ns = r->task.start};
    t->used_ts = m->begin && birth > m->begin ? birth : m->begin ? m->begin : r->head.ts;
    metrics_thread_counter(m, t);
    return t;
}

static void remove_thread(struct metrics *m, struct metrics_process *p, struct metrics_thread *t)
{
    size_t at = (size_t)(t - p->threads.a);

    metrics_thread_leave(m, t);
    memmove(t, t + 1, (p->threads.n - 1 - at) * sizeof(*t));
    p->threads.n--;
}

static struct metrics_oncpu *oncpu_of(struct metrics_thread *t, uint16_t cpu)
{
    struct metrics_oncpu *o;

    for (size_t i = 0; i < t->oncpus.n; i++)
        if (t->oncpus.a[i].cpu == cpu)
            return &t->oncpus.a[i];
    o = vec_push(&t->oncpus);
    *o = (struct metrics_oncpu){.cpu = cpu};
    metrics_begin(&o->series, t->used_ts, 0);
    return o;
}

static void count_cpus(struct metrics *m, struct metrics_thread *t, const struct wire_used *r)
{
    for (size_t i = 0; i < WIRE_USED_CPUS; i++)
        if (r->cpus[i].ns)
            oncpu_of(t, r->cpus[i].cpu < METRIC_ANY_CPU ? (uint16_t)r->cpus[i].cpu : METRIC_ANY_CPU)->sum +=
                r->cpus[i].ns;
    for (size_t i = 0; t->task && i < t->oncpus.n; i++)
        metrics_count(&m->out, &t->oncpus.a[i].series,
                      (struct metrics_key){METRIC_ID_SCHED_ONCPU, t->task, t->oncpus.a[i].cpu}, r->head.ts,
                      t->oncpus.a[i].sum);
    t->used_ts = r->head.ts;
}

static struct metrics_thread *take(struct metrics *m, struct metrics_process *p, const struct wire_used *r)
{
    struct metrics_thread *t = thread_of(m, p, r);

    p->delay_ns += metrics_delay_grown(m, t->run.delay_ns, r->delay, r->head.ts);
    p->switches.voluntary += grown(t->switches.voluntary, r->voluntary);
    p->switches.involuntary += grown(t->switches.involuntary, r->involuntary);
    t->run.delay_ns = r->delay;
    t->switches = (struct procuse_switches){r->voluntary, r->involuntary};
    if (t->tid == p->pid)
        t->task = p->task;
    else if (t->run.run_ns != r->run || !t->task)
        t->task = who_task(&m->ctx->trace->who, &r->task, r->head.ts);
    t->run.run_ns = r->run;
    count_cpus(m, t, r);
    return t;
}

/* ---- processes ---- */

static void put_sums(struct metrics *m, struct metrics_process *p, uint64_t ts)
{
    static const enum metric_id ids[] = {METRIC_ID_SCHED_DELAY, METRIC_ID_SWITCHES_VOLUNTARY,
                                         METRIC_ID_SWITCHES_INVOLUNTARY};
    const uint64_t values[] = {p->delay_ns, p->switches.voluntary, p->switches.involuntary};

    for (size_t i = 0; p->task && i < ARRAY_SIZE(ids); i++)
        metrics_count(&m->out, &p->series[ids[i]], (struct metrics_key){ids[i], p->task, 0}, ts, values[i]);
}

/* The exact run time, split as the ticks saw it and never below what was told already: as the kernel does. */
static void split_time(const struct metrics_process *p, const struct wire_used *r, uint64_t *user,
                       uint64_t *system)
{
    uint64_t ticks = r->user + r->system;

    *system = ticks ? (uint64_t)((double)r->group_run * ((double)r->system / (double)ticks)) : 0;
    if (*system < p->use.system_ns)
        *system = p->use.system_ns;
    *user = grown(*system, r->group_run);
    if (*user < p->use.user_ns) {
        *user = p->use.user_ns;
        *system = grown(*user, r->group_run);
    }
}

/* What it had used when it ended. */
static void put_last(struct metrics *m, struct metrics_process *p, const struct wire_used *r)
{
    static const enum metric_id ids[] = {METRIC_ID_CPU_USER,     METRIC_ID_CPU_SYSTEM, METRIC_ID_FAULTS_MINOR,
                                         METRIC_ID_FAULTS_MAJOR, METRIC_ID_IO_READ,    METRIC_ID_IO_WRITE,
                                         METRIC_ID_IO_IN,        METRIC_ID_IO_OUT};
    uint64_t user, system;

    split_time(p, r, &user, &system);
    const uint64_t values[] = {user, system, r->minor, r->major, r->read, r->written, r->in, r->out};

    for (size_t i = 0; p->task && i < ARRAY_SIZE(ids); i++)
        metrics_count(&m->out, &p->series[ids[i]], (struct metrics_key){ids[i], p->task, 0}, r->head.ts,
                      values[i]);
    if (p->task && r->max_rss)
        metrics_level(&m->out, &p->series[METRIC_ID_MEMORY_PEAK],
                      (struct metrics_key){METRIC_ID_MEMORY_PEAK, p->task, 0}, r->head.ts,
                      r->max_rss * (uint64_t)sysconf(_SC_PAGESIZE));
    p->final = 1;
}

/* One that no look has met. */
static struct metrics_process *late_process(struct metrics *m, const struct wire_used *r)
{
    struct wire_task leader = r->task;
    struct metrics_process *p;

    if (!r->last || r->group_run < LISTED_NS || !r->task.ns_tgid) {
        m->short_processes += r->last;
        m->short_ns += r->last ? r->group_run : 0;
        return NULL;
    }
    leader.tid = leader.tgid;
    leader.ns_tid = leader.ns_tgid;
    leader.start = leader.leader_start;
    p = metrics_process_enter(m, (pid_t)r->task.ns_tgid);
    p->start_ns = r->task.leader_start;
    p->birth = grown(m->boot_ns, p->start_ns);
    p->task = who_task(&m->ctx->trace->who, &leader, r->head.ts);
    metrics_process_begin(m, p, r->head.ts);
    return p;
}

static void on_end(void *arg, const void *record, size_t n)
{
    struct metrics *m = arg;
    const struct wire_used *r = record;
    struct metrics_process *p;

    if (n < sizeof(*r) || !m->begin)
        return;
    p = metrics_process_find(m, (pid_t)r->task.ns_tgid);
    if (!p && !(p = late_process(m, r)))
        return;
    remove_thread(m, p, take(m, p, r));
    put_sums(m, p, r->head.ts);
    if (r->last)
        put_last(m, p, r);
}

void metrics_used_start(struct metrics *m)
{
    struct trace *t = m->ctx->trace;
    struct err e = {0};

    if (!t || bpfside_used_start(t->bpf, &e)) {
        m->missing[METRICS_NO_PLACES]++;
        return;
    }
    m->used = t->bpf;
    trace_handle(t, WIRE_USED, on_end, m);
}

void metrics_used_look(struct metrics *m)
{
    struct bpfside_used all = {0};

    if (bpfside_used_look(m->used, &all, NULL))
        m->missing[METRICS_NO_DELAY]++;
    for (size_t i = 0; i < all.list.n; i++) {
        struct metrics_process *p = metrics_process_find(m, (pid_t)all.list.a[i].task.ns_tgid);

        if (p && !p->final)
            take(m, p, &all.list.a[i]);
    }
    vec_release(&all.list);
    for (size_t i = 0; i < m->processes.n; i++)
        if (!m->processes.a[i]->final)
            put_sums(m, m->processes.a[i], m->ctx->now());
}

void metrics_used_stop(struct metrics *m)
{
    if (!m->used)
        return;
    bpfside_used_stop(m->used);
    trace_handle(m->ctx->trace, WIRE_USED, NULL, NULL);
    m->used = NULL;
}
