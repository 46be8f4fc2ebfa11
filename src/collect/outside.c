/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/outside.h"

#include "base/mem.h"
#include "collect/blocked.h"
#include "collect/untaken.h"
#include "collect/wait_class.h"
#include "model/store_visit.h"
#include "platform/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* So long after its birth, a process is looked at closely for an exec: one made by vfork has its parent's
 * memory till then. */
#define YOUNG_NS 1000000000ull

/* ---- changes, as struct track tells of them ---- */

static void on_fork(void *arg, struct process *child, const struct wire_fork *r)
{
    struct outside *o = arg;
    struct process *parent = processes_find(track_processes(o->track), r->parent_tgid);
    uint32_t id = who_task(&o->who, &r->child, r->head.ts);

    child->leader = id;
    if (parent && !parent->leader)
        parent->leader = who_leader(&o->who, parent, r->head.ts);
    if (parent && parent->leader) {
        tasks_get(&o->ctx->store->tasks, id)->parent = parent->leader;
        tasks_touch(&o->ctx->store->tasks, id);
    }
    pythons_forked(&o->taker.pythons, child, parent);
}

static void on_exec(void *arg, struct process *p)
{
    struct outside *o = arg;

    if (o->gated == p->ns_tgid)
        o->gated = 0;
    pythons_execed(&o->taker.pythons, p);
}

static void on_mapped(void *arg, struct process *p, uint32_t file, const struct mapping *m)
{
    struct outside *o = arg;

    pythons_mapped(&o->taker.pythons, p, file, m);
}

/* ---- life ---- */

/* Two descriptors a thread, three a process, one a file with code. */
static void raise_file_limit(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

int outside_init(struct outside *o, struct record_ctx *ctx, struct err *e)
{
    struct track_hooks hooks = {.arg = o, .fork = on_fork, .exec = on_exec, .mapped = on_mapped};

    *o = (struct outside){.ctx = ctx, .who = {.store = ctx->store}};
    raise_file_limit();
    o->births_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    o->boot_ns = clock_ns(CLOCK_BOOTTIME) - clock_monotonic();
    o->track = track_new(NULL, NULL, 0, &hooks, e);
    if (!o->track)
        return -1;
    stack_taker_init(&o->taker, ctx->store, ctx->meta, NULL, o->track);
    wait_namer_init(&o->namer, ctx->store, o->track);
    wait_classes(&o->classes);
    gils_init(&o->gils, ctx->store);
    o->python = mem_calloc(1, sizeof(*o->python));
    o->stack = mem_alloc(BLOCKED_COPY_MAX);
    return 0;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void thread_free(struct outside_thread *t)
{
    close_fd(t->run_fd);
    close_fd(t->call_fd);
    vec_release(&t->delay.ended);
    free(t);
}

static void process_free(struct outside_process *p)
{
    close_fd(p->task_dir);
    close_fd(p->image_fd);
    vec_release(&p->python);
    free(p);
}

void outside_ids(struct outside *o, struct store_visit *v)
{
    if (o->visited == v->pass)
        return;
    o->visited = v->pass;
    stack_taker_ids(&o->taker, v);
    wait_namer_ids(&o->namer, v);
    gils_ids(&o->gils, v);
    for (size_t i = 0; i < ARRAY_SIZE(o->markers); i++)
        store_visit_stack(v, &o->markers[i]);
    for (size_t i = 0; i < o->threads.n; i++) {
        struct outside_thread *t = o->threads.a[i];

        store_visit_stack(v, &t->spot.stack);
        store_visit_wait(v, &t->spot.wait);
        for (size_t k = 0; k < t->delay.ended.n; k++) {
            store_visit_stack(v, &t->delay.ended.a[k].spot.stack);
            store_visit_wait(v, &t->delay.ended.a[k].spot.wait);
        }
    }
}

void outside_release(struct outside *o)
{
    for (size_t i = 0; i < o->threads.n; i++)
        thread_free(o->threads.a[i]);
    for (size_t i = 0; i < o->processes.n; i++)
        process_free(o->processes.a[i]);
    vec_release(&o->threads);
    vec_release(&o->processes);
    map_release(&o->by_tid);
    map_release(&o->by_pid);
    if (o->track) {
        wait_namer_release(&o->namer);
        gils_release(&o->gils);
        stack_taker_release(&o->taker);
    }
    track_free(o->track);
    who_release(&o->who);
    buf_release(&o->record);
    close_fd(o->births_fd);
    for (size_t i = 0; i < OUTSIDE_MEMORIES; i++)
        free(o->memory[i]);
    free(o->python);
    free(o->stack);
}

/* ---- threads and processes ---- */

struct outside_thread *outside_find(const struct outside *o, uint32_t tid)
{
    uint64_t *at = map_get(&o->by_tid, tid);

    return at ? (struct outside_thread *)(uintptr_t)*at : NULL;
}

struct outside_process *outside_find_process(const struct outside *o, uint32_t pid)
{
    uint64_t *at = map_get(&o->by_pid, pid);

    return at ? (struct outside_process *)(uintptr_t)*at : NULL;
}

/* st: of its leader */
static void watch_image(struct outside_process *p, const struct proctask *st)
{
    close_fd(p->image_fd);
    p->image_fd = proctask_open((pid_t)p->pid, 0, "environ");
    p->stack_start = st->stack_start;
}

static struct outside_process *enter_process(struct outside *o, uint32_t pid)
{
    struct outside_process *p = outside_find_process(o, pid);
    struct proctask st = {0};

    if (p && !p->ended)
        return p;
    p = mem_calloc(1, sizeof(*p));
    p->pid = pid;
    p->image_fd = -1;
    p->task_dir = proctask_open((pid_t)pid, 0, "task");
    p->born_ns = clock_monotonic();
    proctask_stat((pid_t)pid, (pid_t)pid, &st);
    watch_image(p, &st);
    *vec_push(&o->processes) = p;
    *map_put(&o->by_pid, pid) = (uintptr_t)p;
    return p;
}

/* Who it is, by /proc; by the time of its birth where it has gone. */
static void identify(const struct outside *o, struct outside_thread *t, uint64_t ts)
{
    pid_t pid = (pid_t)t->task.tgid, tid = (pid_t)t->task.tid;
    const struct outside_thread *leader = pid == tid ? t : outside_find(o, t->task.tgid);
    struct proctask st = {.start_ns = ts + o->boot_ns}, first;

    proctask_stat(pid, tid, &st);
    t->task.start = st.start_ns;
    memcpy(t->task.comm, st.comm, sizeof(t->task.comm));
    t->own_tid = proctask_own_tid(pid, tid);
    if (leader && leader->task.start) {
        t->task.leader_start = leader->task.start;
        t->task.own_tgid = leader->own_tid;
        return;
    }
    t->task.own_tgid = proctask_own_tid(pid, pid);
    t->task.leader_start = proctask_stat(pid, pid, &first) ? st.start_ns : first.start_ns;
}

struct outside_thread *outside_thread(struct outside *o, uint32_t pid, uint32_t tid, uint64_t ts)
{
    struct outside_thread *t = outside_find(o, tid);

    if (t && !t->ended)
        return t;
    t = mem_calloc(1, sizeof(*t));
    t->task = (struct wire_task){.tgid = pid, .tid = tid, .ns_tgid = pid, .ns_tid = tid};
    t->run_fd = t->call_fd = -1;
    identify(o, t, ts);
    enter_process(o, pid)->threads++;
    *vec_push(&o->threads) = t;
    *map_put(&o->by_tid, tid) = (uintptr_t)t;
    return t;
}

struct process *outside_walked(struct outside *o, const struct outside_thread *t, uint64_t ts, uint32_t *id)
{
    struct wire_task leader = t->task;
    struct process *p;

    leader.tid = leader.tgid;
    leader.start = leader.leader_start;
    p = track_process(o->track, &leader, 0);
    *id = who_task(&o->who, &t->task, ts);
    if (!p->leader)
        p->leader = tasks_get(&o->ctx->store->tasks, *id)->leader;
    return p;
}

void outside_forked(struct outside *o, uint32_t pid, uint32_t parent, uint64_t ts)
{
    struct outside_thread *t = outside_thread(o, pid, pid, ts);
    struct wire_fork r = {.head = {WIRE_FORK, sizeof(r), ts}, .child = t->task, .parent_tgid = parent};

    track_tell_control(o->track, &r, sizeof(r));
    enter_process(o, pid)->parent = parent;
}

/* Its mappings are read. */
static void new_image(struct outside *o, uint32_t pid, uint64_t ts)
{
    struct perf_record r = {.kind = PERF_KIND_EXEC, .ts = ts, .pid = pid, .tid = pid};
    struct outside_process *op = outside_find_process(o, pid);
    struct outside_thread *leader = outside_find(o, pid);
    struct proctask st = {0};
    struct process *p;

    track_tell(o->track, &r);
    track_apply(o->track, ts);
    p = processes_find_ns(track_processes(o->track), pid);
    if (p) {
        p->rescan_ns = 0;
        track_rescan(o->track, p);
    }
    if (!proctask_stat((pid_t)pid, (pid_t)pid, &st) && leader)
        outside_rename(o, leader, st.comm, ts);
    if (op) {
        op->born_ns = ts;
        watch_image(op, &st);
        vec_clear(&op->python);
        op->python_ns = 0;
    }
}

void outside_find_python(struct outside *o, struct process *p, uint64_t ts)
{
    const struct outside_process *op = outside_find_process(o, p->ns_tgid);

    if (p->python || !op)
        return;
    if (ts - op->born_ns < YOUNG_NS) /* its libraries are being loaded */
        p->stale = 1;
    track_rescan(o->track, p);
}

void outside_rename(struct outside *o, struct outside_thread *t, const char *name, uint64_t ts)
{
    memset(t->task.comm, 0, sizeof(t->task.comm));
    memcpy(t->task.comm, name, strnlen(name, sizeof(t->task.comm) - 1));
    if (who_find(&o->who, t->task.tid, t->task.start))
        who_task(&o->who, &t->task, ts);
}

static void note_run(struct outside *o, const struct outside_thread *t, uint64_t ended)
{
    uint32_t id = who_find(&o->who, t->task.tid, t->task.start);
    struct task *task = tasks_get(&o->ctx->store->tasks, id);

    if (!task || (task->cpu_ns == t->run_ns && !ended))
        return;
    task->cpu_ns = t->run_ns;
    task->last_ns = ended;
    tasks_touch(&o->ctx->store->tasks, id);
}

void outside_ended(struct outside *o, struct outside_thread *t, uint64_t ts)
{
    struct outside_process *op = outside_find_process(o, t->task.tgid);
    struct process *p = processes_find_ns(track_processes(o->track), t->task.tgid);

    if (t->ended)
        return;
    t->ended = 1;
    gils_ended(&o->gils, &t->task);
    o->ended_ns += t->run_ns;
    note_run(o, t, ts);
    if (!op || --op->threads)
        return;
    op->ended = 1;
    if (p) {
        pythons_execed(&o->taker.pythons, p);
        p->gone = 1;
    }
}

void outside_sweep(struct outside *o)
{
    for (size_t i = o->threads.n; i-- > 0;) {
        struct outside_thread *t = o->threads.a[i];

        if (!t->ended)
            continue;
        if (outside_find(o, t->task.tid) == t)
            map_del(&o->by_tid, t->task.tid);
        o->threads.a[i] = o->threads.a[--o->threads.n];
        thread_free(t);
    }
    for (size_t i = o->processes.n; i-- > 0;) {
        struct outside_process *p = o->processes.a[i];

        if (!p->ended)
            continue;
        if (outside_find_process(o, p->pid) == p)
            map_del(&o->by_pid, p->pid);
        o->processes.a[i] = o->processes.a[--o->processes.n];
        process_free(p);
    }
    track_publish(o->track);
}

int outside_alive(const struct outside *o)
{
    int n = 0;

    for (size_t i = 0; i < o->processes.n; i++)
        n += !o->processes.a[i]->ended;
    return n;
}

/* CPU time seen; also enters each thread's in the store. */
static uint64_t sum_run(struct outside *o)
{
    uint64_t sum = o->ended_ns;

    for (size_t i = 0; i < o->threads.n; i++) {
        if (o->threads.a[i]->ended)
            continue;
        sum += o->threads.a[i]->run_ns;
        note_run(o, o->threads.a[i], 0);
    }
    return sum;
}

/* ---- /proc ---- */

static void scan_threads(struct outside *o, struct outside_process *p, uint64_t now)
{
    struct pid_list ids = {0};
    struct stat st;

    if (p->task_dir < 0 || fstat(p->task_dir, &st))
        return;
    if (st.st_nlink == p->links && st.st_nlink == p->threads + 2) /* else one has taken another's place */
        return;
    p->links = st.st_nlink;
    proctask_threads((pid_t)p->pid, &ids);
    for (size_t i = 0; i < ids.list.n; i++)
        outside_thread(o, p->pid, (uint32_t)ids.list.a[i], now);
    vec_release(&ids.list);
}

static void child_found(struct outside *o, uint32_t pid, uint32_t parent, uint64_t now)
{
    if (outside_find(o, pid))
        return;
    outside_forked(o, pid, parent, now);
    track_apply(o->track, now);
}

/* Without the kernel's lists of children (CONFIG_PROC_CHILDREN): the parent of everybody who came since the
 * last scan. Pids go up, until they begin anew. */
static void scan_parents(struct outside *o, uint64_t now)
{
    struct pid_list all = {0};
    pid_t last = (pid_t)atoi(o->births), from = o->scanned_pid;

    if (last < from || !o->births[0])
        from = 0;
    o->scanned_pid = last;
    proctask_processes(&all);
    for (size_t i = 0; i < all.list.n; i++) {
        struct proctask st;

        if (all.list.a[i] > from && !outside_find_process(o, (uint32_t)all.list.a[i]) &&
            !proctask_stat(all.list.a[i], 0, &st) && outside_find_process(o, (uint32_t)st.ppid))
            child_found(o, (uint32_t)all.list.a[i], (uint32_t)st.ppid, now);
    }
    vec_release(&all.list);
}

static int scan_children(struct outside *o, const struct outside_process *p, uint64_t now)
{
    struct pid_list ids = {0};
    int rc = proctask_children((pid_t)p->pid, &ids);

    for (size_t i = 0; i < ids.list.n; i++)
        child_found(o, (uint32_t)ids.list.a[i], p->pid, now);
    vec_release(&ids.list);
    return rc;
}

static void scan_image(struct outside *o, struct outside_process *p, uint64_t now)
{
    struct proctask st;
    char c;

    if (p->image_fd >= 0 && pread(p->image_fd, &c, 1, 0) == 0) {
        new_image(o, p->pid, now);
        return;
    }
    if (now - p->born_ns < YOUNG_NS && !proctask_stat((pid_t)p->pid, (pid_t)p->pid, &st) &&
        st.stack_start != p->stack_start)
        new_image(o, p->pid, now);
}

/* Has any process or thread begun since the last scan? Where that can't be told, maybe. */
static int births(struct outside *o)
{
    char text[128], *last;
    ssize_t n = o->births_fd < 0 ? -1 : pread(o->births_fd, text, sizeof(text) - 1, 0);

    if (n <= 0)
        return 1;
    text[n] = '\0';
    last = strrchr(text, ' ');
    if (!last || strlen(last) >= sizeof(o->births))
        return 1;
    if (!strcmp(last, o->births))
        return 0;
    strcpy(o->births, last);
    return 1;
}

void outside_scan(struct outside *o)
{
    uint64_t now = clock_monotonic();
    int lists = 1, born = births(o);

    for (size_t i = 0; i < o->processes.n; i++) { /* grows meanwhile: children of children */
        struct outside_process *p = o->processes.a[i];

        if (p->ended)
            continue;
        scan_image(o, p, now);
        if (!born)
            continue;
        scan_threads(o, p, now);
        if (scan_children(o, p, now) < 0 && access("/proc/self/task/self/children", F_OK))
            lists = 0;
    }
    if (!lists)
        scan_parents(o, now);
}

void outside_begin(struct outside *o)
{
    const struct record_ctx *ctx = o->ctx;
    struct stat own, its;
    char path[64];

    if (!ctx->launched)
        return;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)ctx->targets.a[0]);
    if (!stat("/proc/self/exe", &own) && !stat(path, &its) && own.st_dev == its.st_dev &&
        own.st_ino == its.st_ino)
        o->gated = (uint32_t)ctx->targets.a[0];
}

int outside_before_exec(struct outside *o, const struct outside_thread *t, uint64_t n)
{
    if (!o->gated || t->task.tgid != o->gated)
        return 0;
    o->stats.before_exec += n;
    return 1;
}

int outside_follow(struct outside *o, struct err *e)
{
    const struct record_ctx *ctx = o->ctx;
    uint64_t now = clock_monotonic();
    struct proctask st;
    uint32_t id;

    for (size_t i = 0; i < ctx->targets.n; i++) {
        pid_t pid = ctx->targets.a[i];

        if (proctask_stat(pid, 0, &st))
            continue;
        outside_walked(o, outside_thread(o, (uint32_t)pid, (uint32_t)pid, now), now, &id);
    }
    o->followed = ctx->targets.n;
    if (!o->processes.n)
        return untaken(ctx, e);
    outside_scan(o);
    return 0;
}

void outside_follow_more(struct outside *o)
{
    const struct record_ctx *ctx = o->ctx;
    uint64_t now = clock_monotonic();
    struct proctask st;
    uint32_t id;

    for (; o->followed < ctx->targets.n; o->followed++) {
        pid_t pid = ctx->targets.a[o->followed];
        struct outside_process *p = outside_find_process(o, (uint32_t)pid);

        if ((p && !p->ended) || proctask_stat(pid, 0, &st))
            continue;
        outside_walked(o, outside_thread(o, (uint32_t)pid, (uint32_t)pid, now), now, &id);
        p = outside_find_process(o, (uint32_t)pid);
        if (p)
            scan_threads(o, p, now);
    }
}

/* With a ring, sums must be of a time that is short against it. */
static void send_sums(struct outside *o)
{
    uint64_t now = clock_monotonic();

    for (size_t i = 0; i < o->threads.n; i++)
        if (!o->threads.a[i]->ended)
            outside_spans_end(o, o->threads.a[i], now);
}

void outside_counters(struct outside *o)
{
    struct store *s = o->ctx->store;

    if (o->ctx->ring)
        send_sums(o);

    store_set_counter(s, "target.cpu_ns", sum_run(o));
    store_set_counter(s, "cpu.nostack", o->taker.nostack);
    store_set_counter(s, "cpu.before_exec", o->stats.before_exec);
    store_set_counter(s, "cpu.names_lost", o->taker.pythons.names_lost);
    store_set_counter(s, "cpu.torn", o->stats.torn);
    store_set_counter(s, "cpu.python_stale", o->stats.python_stale);
    store_set_counter(s, "offcpu.not_looked", o->stats.not_looked);
    store_set_counter(s, "offcpu.refused", o->stats.refused);
    store_set_counter(s, "offcpu.gil_waits", o->gils.waits);
    store_set_counter(s, "offcpu.gil_ns", o->gils.ns);
    store_set_counter(s, "cpu.gil_read", o->gils.read);
    store_set_counter(s, "cpu.gil_held", o->gils.held);
}
