/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are measured, and what they are called in the store: as the other collectors of the
 * recording know them, else looked for here. */
#include "collect/looks.h"
#include "collect/metrics.h"
#include "collect/rings.h"
#include "collect/trace.h"
#include "platform/clock.h"
#include "platform/procfs.h"
#include "platform/sysfile.h"

#include <stdio.h>
#include <string.h>

/* Tiers B and C; NULL as well where no collector turns them, so that they know nothing new. */
static struct outside *outside_of(struct metrics *m)
{
    struct looks *l = m->ctx->looks;
    struct rings *r = m->ctx->rings;

    if (l)
        return l->sampling || l->outside.off ? &l->outside : NULL;
    return r && (r->sampling || r->outside.off) ? &r->outside : NULL;
}

/* ---- which ---- */

/* Looking for children of thousands takes long: at most that part of a CPU's time. */
enum { WALK_SHARE = 200 };

/* Whether any process has begun since this was last asked. */
static int births(struct metrics *m)
{
    char *last;

    if (sysfile_read_path(m->root, "proc/loadavg", &m->text))
        return 1;
    last = strrchr(m->text.data, ' ');
    if (!last || strlen(last) >= sizeof(m->loadavg) || strcmp(last, m->loadavg)) {
        snprintf(m->loadavg, sizeof(m->loadavg), "%s", last ? last : "");
        return 1;
    }
    return 0;
}

/* Those that are known, and their children, which come behind them. */
static void descend(struct metrics *m, struct pid_list *out)
{
    uint64_t begin = clock_thread_cpu();
    struct map seen = {0};
    int born;

    for (size_t i = 0; i < m->processes.n; i++)
        *vec_push(&out->list) = m->processes.a[i]->pid;
    if (!m->rounds)
        for (size_t i = 0; i < m->ctx->targets.n; i++)
            *vec_push(&out->list) = m->ctx->targets.a[i];
    born = (m->last || m->ts - m->walk_ts >= m->walk_ns * WALK_SHARE) && births(m);
    for (size_t i = 0; i < out->list.n; i++)
        *map_put(&seen, (uint64_t)out->list.a[i]) = 1;
    for (size_t i = 0; born && i < out->list.n; i++) {
        size_t from = out->list.n, n = from;

        proctask_children(out->list.a[i], out);
        for (size_t k = from; k < out->list.n; k++) {
            uint64_t *known = map_put(&seen, (uint64_t)out->list.a[k]);

            if (!*known)
                out->list.a[n++] = out->list.a[k];
            *known = 1;
        }
        out->list.n = n;
    }
    map_release(&seen);
    if (born) {
        m->walk_ns = clock_thread_cpu() - begin;
        m->walk_ts = m->ts;
    }
}

void metrics_targets(struct metrics *m, struct pid_list *out)
{
    const struct outside *o = outside_of(m);

    if (m->ctx->whole_machine) {
        proctask_processes(out);
    } else if (m->ctx->trace) {
        const struct processes *ps = track_processes(m->ctx->trace->track);

        for (size_t i = 0; i < ps->list.n; i++)
            if (ps->list.a[i]->ns_tgid && !ps->list.a[i]->outside)
                *vec_push(&out->list) = (pid_t)ps->list.a[i]->ns_tgid;
    } else if (o) {
        for (size_t i = 0; i < o->processes.n; i++)
            if (!o->processes.a[i]->ended)
                *vec_push(&out->list) = (pid_t)o->processes.a[i]->pid;
    } else {
        descend(m, out);
    }
}

/* ---- what they are called ---- */

/* Where tasks are known by their ids in wprof's own pid namespace alone. */
static struct who *who_of(struct metrics *m)
{
    struct outside *o = outside_of(m);

    return o ? &o->who : &m->own_who;
}

static struct wire_task describe(pid_t pid, pid_t tid, uint64_t start, uint64_t leader_start,
                                 const char *comm)
{
    struct wire_task t = {.tgid = (uint32_t)pid,
                          .tid = (uint32_t)tid,
                          .ns_tgid = (uint32_t)pid,
                          .ns_tid = (uint32_t)tid,
                          .own_tgid = (uint32_t)pid,
                          .start = start,
                          .leader_start = leader_start};

    memcpy(t.comm, comm, strnlen(comm, WIRE_COMM));
    return t;
}

uint32_t metrics_task(struct metrics *m, const struct metrics_process *p, const char *comm)
{
    struct wire_task t = describe(p->pid, p->pid, p->start_ns, p->start_ns, comm);
    struct process *known;

    if (!m->ctx->trace)
        return who_task(who_of(m), &t, m->ts);
    known = processes_find_ns(track_processes(m->ctx->trace->track), (uint32_t)p->pid);
    if (!known) /* -a: one that nothing was recorded of so far */
        return p->task ? p->task : metrics_thread_task(m, p, p->pid, p->start_ns, comm);
    t.tgid = t.tid = known->tgid;
    t.own_tgid = known->own_tgid;
    t.start = t.leader_start = known->start;
    known->leader = who_task(&m->ctx->trace->who, &t, m->ts);
    return known->leader;
}

/* Those that the store has got since. */
static void index_tasks(struct metrics *m)
{
    const struct tasks *tasks = &m->ctx->store->tasks;

    for (; m->indexed < tasks->list.n; m->indexed++)
        *map_put(&m->by_tid, tasks->list.a[m->indexed].ns_tid) = m->indexed + 1;
}

uint32_t metrics_thread_task(struct metrics *m, const struct metrics_process *p, pid_t tid, uint64_t start_ns,
                             const char *comm)
{
    struct wire_task t = describe(p->pid, tid, start_ns, p->start_ns, comm);
    const struct task *task;
    const uint64_t *id;

    if (!m->ctx->trace)
        return who_task(who_of(m), &t, m->ts);
    index_tasks(m);
    id = map_get(&m->by_tid, (uint64_t)tid);
    task = id ? tasks_get(&m->ctx->store->tasks, (uint32_t)*id) : NULL;
    /* That one's start is exact, ours to a tick below. */
    return task && task->start_ns >= start_ns && task->start_ns - start_ns < METRICS_TICK_NS ? (uint32_t)*id
                                                                                             : 0;
}
