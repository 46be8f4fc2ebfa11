/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/runtime.h"

#include "base/hash.h"

void runtime_release(struct runtime *r)
{
    map_release(&r->before);
    map_release(&r->execs);
}

static uint64_t key_of(const struct wire_task *t)
{
    return hash_mix(t->start, t->tid);
}

static uint64_t since_begin(const struct runtime *r, const struct wire_task *t, uint64_t ns)
{
    const uint64_t *before = map_get(&r->before, key_of(t));

    return before && ns >= *before ? ns - *before : ns;
}

/* What one program of a task used: `ns` is the thread's since the recording began. */
static uint64_t since_exec(const struct runtime *r, const struct wire_task *t, uint64_t ns)
{
    const uint64_t *before = map_get(&r->execs, key_of(t));

    return before && ns >= *before ? ns - *before : ns;
}

int runtime_begin(struct runtime *r, struct bpfside *b, struct err *e)
{
    struct bpfside_threads all = {0};
    int rc = bpfside_threads(b, &all, e);

    for (size_t i = 0; i < all.list.n; i++)
        *map_put(&r->before, key_of(&all.list.a[i].task)) = all.list.a[i].runtime;
    vec_release(&all.list);
    return rc;
}

static void note(struct who *w, uint32_t id, uint64_t ns, uint64_t last)
{
    struct task *task = tasks_get(&w->store->tasks, id);

    if (!task || (task->cpu_ns == ns && !last))
        return;
    task->cpu_ns = ns;
    task->last_ns = last;
    tasks_touch(&w->store->tasks, id);
}

void runtime_exit(struct runtime *r, struct who *w, const struct wire_exit *x)
{
    uint64_t ns = since_begin(r, &x->task, x->runtime);

    r->ended_ns += ns;
    who_ended(w, &x->task, since_exec(r, &x->task, ns), x->head.ts);
}

void runtime_exec(struct runtime *r, struct who *w, const struct wire_exec *x)
{
    uint64_t ns = since_begin(r, &x->task, x->runtime);

    uint32_t id = who_find(w, x->task.tid, x->task.start), before = who_before_exec(w, id);

    if (before == id) /* nothing was recorded of the old one: all counts for the new */
        return;
    note(w, before, since_exec(r, &x->task, ns), x->head.ts);
    *map_put(&r->execs, key_of(&x->task)) = ns;
}

uint64_t runtime_now(struct runtime *r, struct bpfside *b, struct who *w, const struct processes *ps,
                     int whole)
{
    struct bpfside_threads all = {0};
    uint64_t sum = r->ended_ns;

    if (bpfside_threads(b, &all, NULL) < 0)
        return sum;
    for (size_t i = 0; i < all.list.n; i++) {
        const struct wire_thread *t = &all.list.a[i];
        const struct process *p = processes_find(ps, t->task.tgid);
        uint64_t ns;

        if (!whole && (!p || p->gone || p->outside))
            continue;
        ns = since_begin(r, &t->task, t->runtime);
        sum += ns;
        note(w, who_find(w, t->task.tid, t->task.start), since_exec(r, &t->task, ns), 0);
    }
    vec_release(&all.list);
    return sum;
}
