/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/lanes.h"

/* Beyond Linux's PID_MAX_LIMIT, 4194304 (include/linux/threads.h). */
#define FIRST_NARROWED 0x80000000u

static uint64_t key_of(uint32_t pid, uint32_t tid)
{
    return (uint64_t)pid << 32 | tid;
}

uint32_t lanes_task(struct lanes *t, uint32_t pid, uint32_t tid)
{
    uint64_t key = key_of(pid, tid), *id;
    struct task task = {.pid = pid, .tid = tid, .ns_pid = pid, .ns_tid = tid, .own_pid = pid};

    if (t->last && t->key == key)
        return t->last;
    id = map_put(&t->ids, key);
    if (!*id) {
        if (pid != tid)
            task.leader = lanes_task(t, pid, pid);
        task.image = (uint32_t)t->store->tasks.list.n + 1; /* makes it unlike any other */
        task.first_ns = UINT64_MAX;
        id = map_put(&t->ids, key);
        *id = tasks_add(&t->store->tasks, &task);
    }
    t->key = key;
    t->last = (uint32_t)*id;
    return t->last;
}

uint32_t lanes_narrow(struct lanes *t, uint64_t id)
{
    uint64_t *known;

    if (id && id < FIRST_NARROWED)
        return (uint32_t)id;
    known = map_put(&t->wide, id);
    if (!*known)
        *known = FIRST_NARROWED + t->wide.n;
    return (uint32_t)*known;
}

static void seen(struct tasks *tasks, uint32_t id, const struct event *ev)
{
    struct task *task = tasks_get(tasks, id);

    if (!task)
        return;
    task->first_ns = ev->ts < task->first_ns ? ev->ts : task->first_ns;
    task->last_ns = ev->ts + ev->dur > task->last_ns ? ev->ts + ev->dur : task->last_ns;
    if (task->leader != id)
        seen(tasks, task->leader, ev);
}

void lanes_name(struct lanes *t, uint32_t pid, uint32_t tid, const char *name)
{
    if (*name)
        *map_put(&t->names, key_of(pid, tid)) = strtab_add(&t->store->strings, name);
}

void lanes_finish(struct lanes *t, size_t first)
{
    struct map_slot *slot;

    for (size_t i = first; i < t->store->events.n; i++)
        seen(&t->store->tasks, t->store->events.a[i].task, &t->store->events.a[i]);
    for (size_t i = 0; (slot = map_next(&t->ids, &i));) {
        struct task *task = tasks_get(&t->store->tasks, (uint32_t)slot->val);
        const uint64_t *process = map_get(&t->names, key_of(task->pid, 0));
        const uint64_t *thread = map_get(&t->names, key_of(task->pid, task->tid));
        uint32_t name = (uint32_t)(process ? *process : 0);

        if (task->first_ns > task->last_ns)
            task->first_ns = task->last_ns;
        if (!process)
            name = strtab_add(&t->store->strings, "process");
        if (task->pid == task->tid)
            task->comm = name;
        else
            task->comm = thread ? (uint32_t)*thread : name;
        tasks_touch(&t->store->tasks, (uint32_t)slot->val);
    }
}

void lanes_release(struct lanes *t)
{
    map_release(&t->ids);
    map_release(&t->names);
    map_release(&t->wide);
}
