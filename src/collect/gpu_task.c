/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu_task.h"

#include "platform/proctask.h"

#include <string.h>
#include <sys/stat.h>

void gpu_tasks_init(struct gpu_tasks *g, struct store *s)
{
    struct stat st;

    *g = (struct gpu_tasks){.store = s};
    if (!stat("/proc/self/ns/pid", &st))
        g->space = st.st_ino;
}

void gpu_tasks_release(struct gpu_tasks *g)
{
    map_release(&g->by_tid);
    map_release(&g->by_own);
}

static uint32_t seen_tid(const struct task *t)
{
    return t->ns_tid ? t->ns_tid : t->tid;
}

static void scan(struct gpu_tasks *g)
{
    const struct tasks *tasks = &g->store->tasks;

    for (; g->scanned < tasks->list.n; g->scanned++) {
        const struct task *t = &tasks->list.a[g->scanned];

        *map_put(&g->by_tid, seen_tid(t)) = g->scanned + 1;
        if (t->pid == t->tid)
            *map_put(&g->by_own, t->own_pid ? t->own_pid : seen_tid(t)) = g->scanned + 1;
    }
}

/* Of the past: where the recorder, too, has seen the process by its own pid. */
static int is_same_space(struct gpu_tasks *g, uint32_t pid, uint64_t space)
{
    const uint64_t *at;
    const struct task *t;

    if (!g->past)
        return !space || space == g->space;
    at = map_get(&g->by_tid, pid);
    t = at ? &g->store->tasks.list.a[*at - 1] : NULL;
    return !t || (t->pid == t->tid && (!t->own_pid || t->own_pid == pid));
}

static uint32_t known(struct gpu_tasks *g, uint32_t pid, uint64_t space, uint32_t tid)
{
    uint64_t *at;

    scan(g);
    at = is_same_space(g, pid, space) ? map_get(&g->by_tid, tid) : map_get(&g->by_own, pid);
    return at ? (uint32_t)*at : 0;
}

int gpu_tasks_know(struct gpu_tasks *g, uint32_t pid, uint64_t space)
{
    return known(g, pid, space, pid) != 0;
}

static uint32_t enter(struct gpu_tasks *g, uint32_t pid, uint32_t tid)
{
    struct task key = {.pid = pid, .tid = tid, .ns_pid = pid, .ns_tid = tid, .own_pid = pid};
    struct proctask st = {0};
    uint32_t id;

    if (!g->past && !proctask_stat((pid_t)pid, (pid_t)tid, &st))
        key.start_ns = st.start_ns;
    if (tid != pid)
        key.leader = gpu_tasks_find(g, pid, g->space, pid);
    id = tasks_add(&g->store->tasks, &key);
    tasks_get(&g->store->tasks, id)->comm =
        strtab_addn(&g->store->strings, st.comm, strnlen(st.comm, sizeof(st.comm)));
    tasks_touch(&g->store->tasks, id);
    return id;
}

uint32_t gpu_tasks_find(struct gpu_tasks *g, uint32_t pid, uint64_t space, uint32_t tid)
{
    uint32_t id = known(g, pid, space, tid);

    return id || !is_same_space(g, pid, space) ? id : enter(g, pid, tid);
}
