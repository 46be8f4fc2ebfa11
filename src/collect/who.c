/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/who.h"

#include "base/hash.h"
#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

void who_release(struct who *w)
{
    map_release(&w->ids);
    map_release(&w->gone_at);
    vec_release(&w->gone);
    vec_release(&w->names);
}

static uint64_t key_of(uint32_t tid, uint64_t start)
{
    return hash_mix(start, tid);
}

uint32_t who_find(const struct who *w, uint32_t tid, uint64_t start)
{
    uint64_t *id = map_get(&w->ids, key_of(tid, start));

    return id ? (uint32_t)*id : 0;
}

static void rename_task(struct who *w, uint32_t id, const char comm[WIRE_COMM])
{
    struct who_name *n;

    while (w->names.n < id)
        *vec_push(&w->names) = (struct who_name){{0}};
    n = &w->names.a[id - 1];
    if (!memcmp(n->comm, comm, WIRE_COMM))
        return;
    memcpy(n->comm, comm, WIRE_COMM);
    tasks_get(&w->store->tasks, id)->comm = strtab_addn(&w->store->strings, comm, strnlen(comm, WIRE_COMM));
    tasks_touch(&w->store->tasks, id);
}

/* A leader that has not been sampled itself: its name is still in /proc, or was never seen. */
static void leader_comm(const struct wire_task *t, char comm[WIRE_COMM])
{
    struct buf b = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/comm", t->ns_tgid);
    if (t->ns_tgid && !io_read_file(AT_FDCWD, path, &b, NULL)) {
        size_t n = strcspn(b.data, "\n");

        memset(comm, 0, WIRE_COMM);
        memcpy(comm, b.data, n < WIRE_COMM ? n : WIRE_COMM - 1);
    }
    buf_release(&b);
}

/* What was kept of its end. */
static void end_late(struct who *w, uint32_t id, uint64_t key)
{
    const uint64_t *at = map_get(&w->gone_at, key);
    struct task *task = tasks_get(&w->store->tasks, id);

    if (!at)
        return;
    task->cpu_ns = w->gone.a[*at - 1].ns;
    task->last_ns = w->gone.a[*at - 1].ts;
    if (task->first_ns > task->last_ns)
        task->first_ns = task->last_ns;
    map_del(&w->gone_at, key);
}

static void keep_end(struct who *w, const struct who_gone *x)
{
    size_t at = w->next_gone++ % WHO_GONE;
    const uint64_t *old;

    if (at == w->gone.n) {
        *vec_push(&w->gone) = *x;
    } else {
        old = map_get(&w->gone_at, w->gone.a[at].key);
        if (old && *old == at + 1)
            map_del(&w->gone_at, w->gone.a[at].key);
        w->gone.a[at] = *x;
    }
    *map_put(&w->gone_at, x->key) = at + 1;
}

void who_ended(struct who *w, const struct wire_task *t, uint64_t cpu_ns, uint64_t ts)
{
    uint32_t id = who_find(w, t->tid, t->start);
    struct task *task = tasks_get(&w->store->tasks, id);

    if (!task) {
        keep_end(w, &(struct who_gone){key_of(t->tid, t->start), cpu_ns, ts});
        return;
    }
    task->cpu_ns = cpu_ns;
    task->last_ns = ts;
    tasks_touch(&w->store->tasks, id);
}

static uint32_t enter(struct who *w, const struct wire_task *t, uint32_t image, uint64_t ts)
{
    struct task key = {.pid = t->tgid,
                       .tid = t->tid,
                       .start_ns = t->start,
                       .ns_pid = t->ns_tgid,
                       .ns_tid = t->ns_tid,
                       .own_pid = t->own_tgid,
                       .image = image,
                       .first_ns = ts};
    uint32_t id;

    if (t->tid != t->tgid) {
        struct wire_task lead = *t;

        lead.tid = t->tgid;
        lead.ns_tid = t->ns_tgid;
        lead.start = t->leader_start;
        key.leader = who_find(w, lead.tid, lead.start);
        if (!key.leader) {
            leader_comm(t, lead.comm);
            key.leader = who_task(w, &lead, ts);
        }
    }
    id = tasks_add(&w->store->tasks, &key);
    *map_put(&w->ids, key_of(t->tid, t->start)) = id;
    end_late(w, id, key_of(t->tid, t->start));
    return id;
}

uint32_t who_task(struct who *w, const struct wire_task *t, uint64_t ts)
{
    uint32_t id = who_find(w, t->tid, t->start);

    if (!id)
        id = enter(w, t, 0, ts);
    rename_task(w, id, t->comm);
    return id;
}

void who_use(struct who *w, uint32_t id)
{
    w->names.a[id - 1].used = 1;
}

static struct wire_task leader_of(const struct process *p)
{
    return (struct wire_task){.tgid = p->tgid,
                              .tid = p->tgid,
                              .ns_tgid = p->ns_tgid,
                              .ns_tid = p->ns_tgid,
                              .own_tgid = p->own_tgid,
                              .start = p->start,
                              .leader_start = p->start};
}

uint32_t who_exec(struct who *w, const struct process *p)
{
    struct wire_task t = leader_of(p);
    uint32_t old = who_find(w, t.tid, t.start), id;
    struct task was;

    if (!old || !w->names.a[old - 1].used)
        return old;
    was = *tasks_get(&w->store->tasks, old);
    id = enter(w, &t, was.image + 1, 0);
    tasks_get(&w->store->tasks, id)->parent = was.parent;
    rename_task(w, id, t.comm); /* none yet: its first record brings it */
    w->names.a[id - 1].before = old;
    return id;
}

uint32_t who_before_exec(const struct who *w, uint32_t id)
{
    uint32_t before = id && id <= w->names.n ? w->names.a[id - 1].before : 0;

    return before ? before : id;
}

uint32_t who_leader(struct who *w, const struct process *p, uint64_t ts)
{
    struct wire_task t = leader_of(p);

    if (!p->start)
        return 0;
    leader_comm(&t, t.comm);
    return who_task(w, &t, ts);
}
