/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/perf_data_threads.h"

#include <stdio.h>

void perf_threads_release(struct perf_threads *t)
{
    strtab_release(&t->names);
    map_release(&t->by_tid);
    vec_release(&t->list);
    buf_release(&t->who);
}

static struct perf_thread *thread_get(struct perf_threads *t, uint32_t tid)
{
    uint64_t *known = map_put(&t->by_tid, tid);

    if (!*known) {
        char name[32];

        snprintf(name, sizeof(name), ":%d", (int)tid);
        *vec_push(&t->list) = (struct perf_thread){.comm = strtab_add(&t->names, tid ? name : "swapper")};
        *known = t->list.n;
    }
    return &t->list.a[*known - 1];
}

void perf_threads_comm(struct perf_threads *t, uint32_t tid, const char *comm, size_t n)
{
    struct perf_thread *thread = thread_get(t, tid);

    thread->comm = n ? strtab_addn(&t->names, comm, n) : strtab_add(&t->names, "?");
    thread->task = 0;
}

/* A number that was used before is another thread's now. */
void perf_threads_fork(struct perf_threads *t, uint32_t tid, uint32_t from)
{
    uint32_t comm = thread_get(t, from)->comm;
    struct perf_thread *thread = thread_get(t, tid);

    thread->comm = comm;
    thread->task = 0;
}

uint32_t perf_threads_task(struct perf_threads *t, uint32_t pid, uint32_t tid)
{
    struct perf_thread *thread = thread_get(t, tid);
    struct perf_who ids = {.pid = pid, .tid = tid, .pid_told = 1};
    size_t comm_n;

    if (thread->task && thread->pid == pid)
        return thread->task;
    /* What its process is called is often told, even if it has no sample itself. */
    if (tid != pid && map_get(&t->by_tid, pid)) {
        perf_threads_task(t, pid, pid);
        thread = thread_get(t, tid);
    }
    buf_clear(&t->who);
    buf_addstr(&t->who, strtab_get(&t->names, thread->comm));
    comm_n = t->who.len;
    buf_addf(&t->who, " %u/%u", pid, tid);
    buf_reserve(&t->who, TOKENS_PAD);
    thread->task = perf_samples_task(t->out, t->who.data, t->who.len, comm_n, &ids);
    thread->pid = pid;
    return thread->task;
}
