/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks are one thread, and what threads and processes are called. */
#include "analyze/timeline_job.h"
#include "base/hash.h"

void timeline_tasks_init(struct timeline_job *j)
{
    const struct tasks *tasks = &j->s->store.tasks;
    size_t n = tasks->list.n;
    struct map first = {0};

    j->thread_of = mem_calloc(n + 1, sizeof(*j->thread_of));
    j->image_of = mem_calloc(n + 1, sizeof(*j->image_of));
    j->task_of = mem_calloc(n + 1, sizeof(*j->task_of));
    j->process_of = mem_calloc(n + 1, sizeof(*j->process_of));
    for (uint32_t id = 1; id <= n; id++) {
        const struct task *t = &tasks->list.a[id - 1];

        j->thread_of[id] = id;
        if (t->start_ns) {
            uint64_t *found = map_put(&first, hash_mix(t->tid, t->start_ns));

            *found = *found ? *found : id;
            j->thread_of[id] = (uint32_t)*found;
        }
        if (t->comm || !j->image_of[j->thread_of[id]])
            j->image_of[j->thread_of[id]] = id;
    }
    map_release(&first);
}

void timeline_tasks_release(struct timeline_job *j)
{
    free(j->thread_of);
    free(j->image_of);
    free(j->task_of);
    free(j->process_of);
}

uint32_t job_leader(const struct timeline_job *j, uint32_t task)
{
    const struct tasks *tasks = &j->s->store.tasks;
    uint32_t leader = task ? tasks->list.a[task - 1].leader : 0;

    return j->thread_of[leader && leader <= tasks->list.n ? leader : task];
}

static uint32_t add_name(struct timeline_job *j, uint32_t thread)
{
    const struct task *last = &j->s->store.tasks.list.a[j->image_of[thread] - 1];
    char *name = origins_task_name(&j->s->store, last, "?");
    uint32_t id = strtab_add(&j->t->stacks.strings, name);

    free(name);
    return id;
}

uint32_t job_process(struct timeline_job *j, uint32_t task)
{
    uint32_t leader = job_leader(j, task);
    const struct task *t;

    if (!leader)
        return 0;
    if (j->process_of[leader])
        return j->process_of[leader];
    t = &j->s->store.tasks.list.a[leader - 1];
    j->process_of[leader] = (uint32_t)j->t->processes.n;
    *vec_push(&j->t->processes) =
        (struct timeline_process){.pid = t->ns_pid ? t->ns_pid : t->pid, .name = add_name(j, leader)};
    return j->process_of[leader];
}

uint32_t job_task(struct timeline_job *j, uint32_t task)
{
    uint32_t thread = task <= j->s->store.tasks.list.n ? j->thread_of[task] : 0;
    const struct task *t;

    if (!thread)
        return 0;
    if (j->task_of[thread])
        return j->task_of[thread];
    t = &j->s->store.tasks.list.a[thread - 1];
    *vec_push(&j->t->tasks) = (struct timeline_task){.pid = t->ns_pid ? t->ns_pid : t->pid,
                                                     .tid = t->ns_tid ? t->ns_tid : t->tid,
                                                     .name = add_name(j, thread),
                                                     .process = job_process(j, thread)};
    j->task_of[thread] = (uint32_t)j->t->tasks.n;
    return j->task_of[thread];
}
