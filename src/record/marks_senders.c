/* SPDX-License-Identifier: Apache-2.0 */
#include "record/marks_senders.h"

#include "base/hash.h"
#include "platform/proctask.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ANCESTORS = 256 };

#define LOOK_AGAIN  100000000ull /* ns */
#define CLOCK_TICKS 20000000ull  /* ns: two clock ticks, what start times from /proc may be off by */

void marks_senders_release(struct marks_senders *s)
{
    vec_release(&s->list);
    map_release(&s->by_pid);
    map_release(&s->leaders);
    map_release(&s->threads);
    map_release(&s->tids);
}

static int is_target(const struct record_ctx *ctx, pid_t pid)
{
    for (size_t i = 0; i < ctx->targets.n; i++)
        if (ctx->targets.a[i] == pid)
            return 1;
    return ctx->whole_machine;
}

static int descends(const struct record_ctx *ctx, pid_t pid, const struct proctask *st)
{
    struct proctask at = *st;

    for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++) {
        if (is_target(ctx, pid))
            return 1;
        pid = at.ppid;
        if (pid <= 1 || proctask_stat(pid, 0, &at))
            return 0;
    }
    return 0;
}

static uint32_t enter(struct marks_senders *s, const struct marks_sender *x)
{
    *vec_push(&s->list) = *x;
    *map_put(&s->by_pid, (uint64_t)x->pid) = s->list.n;
    return (uint32_t)s->list.n - 1;
}

/* Whose process it is, by who owns its directory in /proc; that it is root's where it may not be dumped does
 * no harm. */
static int is_of_user(pid_t pid, uid_t uid)
{
    char path[32];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return !stat(path, &st) && (st.st_uid == uid || !uid);
}

uint32_t marks_senders_find(struct marks_senders *s, pid_t pid, uid_t uid, pid_t claimed, uint64_t ts)
{
    struct marks_sender *known, x = {0};
    struct proctask st;
    uint64_t *at;

    if (claimed && is_of_user(claimed, uid))
        pid = claimed;
    at = map_get(&s->by_pid, (uint64_t)pid);
    known = at ? &s->list.a[*at - 1] : NULL;
    if (known && (!pid || ts < known->looked + LOOK_AGAIN))
        return (uint32_t)*at - 1;
    x.pid = pid;
    x.looked = s->ctx->now();
    if (pid && !proctask_stat(pid, 0, &st)) {
        x.start_ns = st.start_ns;
        x.inside = descends(s->ctx, pid, &st);
        memcpy(x.comm, st.comm, sizeof(x.comm));
    }
    if (!known || (x.start_ns && x.start_ns != known->start_ns))
        return enter(s, &x);
    known->looked = x.looked; /* the same, or gone by now: then the latest of that pid sent it */
    return (uint32_t)*at - 1;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static pid_t pid_of(const struct task *t)
{
    return (pid_t)(t->ns_pid ? t->ns_pid : t->pid);
}

static int same_start(const struct marks_sender *x, const struct task *t)
{
    return !x->start_ns || !t->start_ns || apart(x->start_ns, t->start_ns) <= CLOCK_TICKS;
}

/* Takes the store's new tasks. Later ones win: programs that a process executed in turn. */
static void scan(struct marks_senders *s)
{
    const struct tasks *tasks = &s->ctx->store->tasks;

    for (; s->scanned < tasks->list.n; s->scanned++) {
        const struct task *t = &tasks->list.a[s->scanned];

        *map_put(&s->threads, hash_mix((uint64_t)pid_of(t), t->ns_tid ? t->ns_tid : t->tid)) = s->scanned + 1;
        if (t->leader == s->scanned + 1)
            *map_put(&s->leaders, (uint64_t)pid_of(t)) = s->scanned + 1;
    }
}

/* The pid was given to another process since: look for the one before. */
static uint32_t older(const struct marks_senders *s, const struct marks_sender *x, uint32_t id)
{
    const struct tasks *tasks = &s->ctx->store->tasks;

    for (; id; id--) {
        const struct task *t = &tasks->list.a[id - 1];

        if (t->leader == id && pid_of(t) == x->pid && same_start(x, t))
            return id;
    }
    return 0;
}

static void find_task(struct marks_senders *s, struct marks_sender *x)
{
    uint64_t *latest;

    scan(s);
    latest = map_get(&s->leaders, (uint64_t)x->pid);
    if (!latest)
        return;
    if (same_start(x, &s->ctx->store->tasks.list.a[*latest - 1]))
        x->task = (uint32_t)*latest;
    else if (!x->task)
        x->task = older(s, x, (uint32_t)*latest);
}

static uint32_t enter_task(struct marks_senders *s, struct marks_sender *x)
{
    struct store *store = s->ctx->store;
    struct task key = {.pid = (uint32_t)x->pid,
                       .tid = (uint32_t)x->pid,
                       .start_ns = x->start_ns,
                       .ns_pid = (uint32_t)x->pid,
                       .ns_tid = (uint32_t)x->pid,
                       .own_pid = (uint32_t)x->pid};
    uint32_t id = tasks_add(&store->tasks, &key);

    tasks_get(&store->tasks, id)->comm =
        strtab_addn(&store->strings, x->comm, strnlen(x->comm, sizeof(x->comm)));
    tasks_touch(&store->tasks, id);
    return id;
}

/* marks_senders_thread() of its main thread. */
static int task_of(struct marks_senders *s, uint32_t sender, int last, uint32_t *task)
{
    struct marks_sender *x = &s->list.a[sender];

    if (x->pid)
        find_task(s, x);
    if (!x->task && x->inside && last)
        x->task = enter_task(s, x);
    *task = x->task;
    return x->task || !x->inside;
}

/* ---- threads ---- */

static pid_t find_tid(pid_t pid, pid_t own)
{
    struct pid_list threads = {0};
    struct proctask st;
    pid_t tid = 0;

    if (!pid)
        return own;
    if (!proctask_stat(pid, own, &st) && proctask_own_tid(pid, own) == (uint32_t)own)
        return own;
    if (proctask_threads(pid, &threads))
        threads.list.n = 0;
    for (size_t i = 0; i < threads.list.n && !tid; i++)
        if (proctask_own_tid(pid, threads.list.a[i]) == (uint32_t)own)
            tid = threads.list.a[i];
    vec_release(&threads.list);
    return tid ? tid : own;
}

pid_t marks_senders_tid(struct marks_senders *s, uint32_t sender, pid_t own)
{
    uint64_t *tid = map_put(&s->tids, (uint64_t)sender << 32 | (uint32_t)own);

    if (!*tid)
        *tid = (uint64_t)find_tid(s->list.a[sender].pid, own);
    return (pid_t)*tid;
}

int marks_senders_thread(struct marks_senders *s, uint32_t sender, pid_t tid, int last, uint32_t *task)
{
    const struct marks_sender *x = &s->list.a[sender];
    uint64_t *found;

    if (!task_of(s, sender, last, task))
        return 0;
    if (!*task || !tid || tid == x->pid)
        return 1;
    scan(s);
    found = map_get(&s->threads, hash_mix((uint64_t)x->pid, (uint64_t)tid));
    if (found && s->ctx->store->tasks.list.a[*found - 1].pid == s->ctx->store->tasks.list.a[*task - 1].pid)
        *task = (uint32_t)*found;
    else
        return last;
    return 1;
}
