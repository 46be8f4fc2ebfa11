/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/track.h"

#include "base/log.h"
#include "base/mem.h"
#include "platform/clock.h"
#include "platform/perf_event.h"
#include "platform/proctask.h"
#include "unwind/jit_runtime.h"
#include "unwind/slices.h"
#include "unwind/table_worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* How often /proc/PID/maps of one process may be read again: where records were lost, and as a last resort.
 */
#define RESCAN_STALE_NS 100000000ull
#define RESCAN_NS       10000000000ull

enum change_type { CHANGE_MMAP, CHANGE_IMAGE, CHANGE_LOST, CHANGE_FORK, CHANGE_EXEC, CHANGE_EXIT };

struct change {
    uint64_t ts;
    uint64_t order; /* of arrival: keeps what has one time in order */
    enum change_type type;
    size_t path; /* offset in paths */
    union {
        struct perf_record perf;
        struct wire_fork fork;
        struct wire_exec exec;
        struct wire_exit exit;
    };
};

struct track {
    struct bpfside *bpf;
    struct track_hooks hooks;
    int whole_machine;
    VEC(struct perf_ring) rings;
    struct modules modules;
    struct processes processes;
    struct slices slices;
    struct table_worker *worker;
    struct wire_table *tables; /* the kernel's, by file id */
    size_t tables_n;
    uint32_t rows_used, tables_made, tables_refused; /* the worker's; read atomically */
    VEC(struct change) pending;                      /* sorted by time from `next` on */
    size_t next;
    uint64_t order;
    int unsorted;
    struct buf paths;
    VEC(struct wire_mapping) scratch;
    struct track_stats stats;
};

static int open_rings(struct track *t, struct err *e)
{
    struct cpu_list cpus = {0};
    int rc = perf_cpus_online(&cpus, e);

    for (size_t i = 0; !rc && i < cpus.list.n; i++) {
        struct perf_ring r;

        rc = perf_ring_open(&r, cpus.list.a[i], e);
        if (!rc)
            *vec_push(&t->rings) = r;
    }
    vec_release(&cpus.list);
    return rc;
}

/* In the worker's thread: rows_used and the tables are its own, what it tells of is atomic. */
static void publish_table(void *arg, uint32_t file, const struct unw_table *table)
{
    struct track *t = arg;
    uint32_t first = t->rows_used;
    struct err e = {0};

    if (!table || !table->n)
        __atomic_store_n(&t->tables[file].first, WIRE_TABLE_NONE, __ATOMIC_RELEASE);
    else if (bpfside_write_rows(t->bpf, first, table->rows, table->n, &e) < 0) {
        log_debug("unwind table %u: %s", file, e.msg);
        __atomic_add_fetch(&t->tables_refused, 1, __ATOMIC_RELAXED);
    } else {
        __atomic_store_n(&t->rows_used, first + table->n, __ATOMIC_RELAXED);
        __atomic_add_fetch(&t->tables_made, 1, __ATOMIC_RELAXED);
        /* The kernel's side looks at n first. */
        __atomic_store_n(&t->tables[file].first, first, __ATOMIC_RELEASE);
        __atomic_store_n(&t->tables[file].n, table->n, __ATOMIC_RELEASE);
    }
}

struct track *track_new(struct bpfside *b, struct unw_cache *cache, int whole_machine,
                        const struct track_hooks *hooks, struct err *e)
{
    struct track *t = mem_calloc(1, sizeof(*t));
    struct wire_mapping *maps;
    size_t n;

    t->bpf = b;
    t->hooks = *hooks;
    t->whole_machine = whole_machine;
    if (!b)
        return t;
    maps = bpfside_mappings(b, &n);
    slices_init(&t->slices, maps, n);
    t->tables = bpfside_tables(b, &t->tables_n);
    t->tables[0].first = WIRE_TABLE_NONE; /* JIT code's */
    t->worker = table_worker_new(cache, publish_table, t, e);
    if (!t->worker || open_rings(t, e) < 0 || bpfside_follow(b, e) < 0) {
        track_free(t);
        return NULL;
    }
    return t;
}

void track_free(struct track *t)
{
    if (!t)
        return;
    if (t->worker)
        table_worker_free(t->worker);
    for (size_t i = 0; i < t->rings.n; i++)
        perf_ring_close(&t->rings.a[i]);
    vec_release(&t->rings);
    processes_release(&t->processes);
    modules_release(&t->modules);
    slices_release(&t->slices);
    vec_release(&t->pending);
    vec_release(&t->scratch);
    buf_release(&t->paths);
    free(t);
}

int track_watch(const struct track *t, int epoll_fd, struct err *e)
{
    struct epoll_event ev = {.events = EPOLLIN};
    int rc = epoll_ctl(epoll_fd, EPOLL_CTL_ADD, bpfside_fd(t->bpf), &ev);

    for (size_t i = 0; i < t->rings.n; i++)
        rc |= epoll_ctl(epoll_fd, EPOLL_CTL_ADD, t->rings.a[i].fd, &ev);
    return rc ? err_sys(e, errno, "epoll_ctl") : 0;
}

/* ---- mappings ---- */

static void enter_mapping(struct track *t, struct process *p, const struct procfs_map *m,
                          const uint8_t *build_id, size_t build_id_len)
{
    struct mapping n = {.start = m->start, .end = m->end, .pgoff = m->pgoff};
    uint64_t pgoff = m->pgoff;
    struct code_file *f;

    if (!strcmp(m->path, "[vsyscall]"))
        return;
    n.file = modules_find(&t->modules, (pid_t)p->ns_tgid, m, build_id, build_id_len);
    f = modules_get(&t->modules, n.file);
    if (f && f->kind == MODULE_VDSO)
        pgoff = 0;
    if (f && f->layout.n && unw_layout_bias(&f->layout, m->start, pgoff, &n.bias) < 0) {
        log_debug("%s: mapped from offset %llx, where it has no code", m->path, (unsigned long long)pgoff);
        n.bias = m->start - pgoff;
    } else if (f && !f->layout.n)
        n.bias = m->start - pgoff;
    process_map(p, &n);
    if (f && f->runtime > p->runtime) {
        p->runtime = f->runtime;
        p->jvm_fp = f->runtime == JIT_JVM && p->ns_tgid && jit_jvm_keeps_fp((pid_t)p->ns_tgid);
    }
    if (f && t->hooks.mapped)
        t->hooks.mapped(t->hooks.arg, p, n.file, &n);
}

struct rescan {
    struct track *t;
    struct process *p;
};

static void rescan_one(void *arg, const struct procfs_map *m)
{
    struct rescan *r = arg;

    enter_mapping(r->t, r->p, m, NULL, 0);
}

static void read_maps(struct track *t, struct process *p)
{
    struct rescan r = {t, p};
    struct err e = {0};

    p->rescan_ns = clock_monotonic();
    if (!p->ns_tgid)
        return; /* not visible from our pid namespace */
    if (procfs_exec_maps((pid_t)p->ns_tgid, rescan_one, &r, &e) < 0)
        log_debug("%s", e.msg);
    else
        p->stale = 0;
}

int track_rescan(struct track *t, struct process *p)
{
    uint64_t now = clock_monotonic();
    uint32_t epoch = p->epoch;
    size_t n = p->maps.n;

    if (p->gone || now - p->rescan_ns < (p->stale ? RESCAN_STALE_NS : RESCAN_NS))
        return 0;
    read_maps(t, p);
    return p->epoch != epoch || p->maps.n != n;
}

static int has_ended(const struct process *p)
{
    struct proctask st;

    return p->ns_tgid && (proctask_stat((pid_t)p->ns_tgid, 0, &st) || strchr("ZX", st.state));
}

struct process *track_process(struct track *t, const struct wire_task *task, uint32_t image)
{
    struct process *p = processes_find(&t->processes, task->tgid);
    struct wire_proc followed;

    if (p)
        return p;
    p = processes_add(&t->processes, task);
    p->outside = t->bpf && !t->whole_machine && bpfside_get_proc(t->bpf, task->tgid, &followed);
    p->image = image;
    read_maps(t, p);
    p->dirty = 1;
    p->gone = !p->maps.n && has_ended(p); /* nobody will tell of its end once more */
    return p;
}

/* ---- changes ---- */

static struct change *change_add(struct track *t, enum change_type type, uint64_t ts)
{
    struct change *c = vec_push(&t->pending);

    if (t->pending.n - t->next > 1 && ts < c[-1].ts)
        t->unsorted = 1;
    c->type = type;
    c->ts = ts;
    c->order = t->order++;
    c->path = 0;
    return c;
}

static void on_control(void *arg, const void *record, size_t n)
{
    struct track *t = arg;
    const struct wire_head *h = record;
    struct change *c;

    if (n < sizeof(*h))
        return;
    switch (h->type) {
    case WIRE_FORK:
        c = change_add(t, CHANGE_FORK, h->ts);
        memcpy(&c->fork, record, sizeof(c->fork));
        break;
    case WIRE_EXEC:
        c = change_add(t, CHANGE_EXEC, h->ts);
        memcpy(&c->exec, record, sizeof(c->exec));
        break;
    case WIRE_EXIT:
        c = change_add(t, CHANGE_EXIT, h->ts);
        memcpy(&c->exit, record, sizeof(c->exit));
        break;
    case WIRE_PYCODE: /* has an identity of its own: nothing to order */
        if (t->hooks.pycode)
            t->hooks.pycode(t->hooks.arg, record);
        break;
    }
}

void track_tell_control(struct track *t, const void *record, size_t n)
{
    on_control(t, record, n);
}

void track_tell(struct track *t, const struct perf_record *r)
{
    static const enum change_type types[] = {
        [PERF_KIND_MMAP] = CHANGE_MMAP, [PERF_KIND_EXEC] = CHANGE_IMAGE, [PERF_KIND_LOST] = CHANGE_LOST};
    struct change *c = change_add(t, types[r->kind], r->ts);

    c->perf = *r;
    if (r->path) {
        c->path = t->paths.len;
        buf_add(&t->paths, r->path, strlen(r->path) + 1);
    }
}

static int by_time(const void *pa, const void *pb)
{
    const struct change *a = pa, *b = pb;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

uint64_t track_gather(struct track *t)
{
    uint64_t now = clock_monotonic();
    struct perf_record r;

    for (size_t i = 0; i < t->rings.n; i++)
        while (perf_ring_next(&t->rings.a[i], &r))
            track_tell(t, &r);
    if (t->bpf)
        bpfside_drain_control(t->bpf, on_control, t);
    if (t->unsorted) {
        qsort(t->pending.a + t->next, t->pending.n - t->next, sizeof(*t->pending.a), by_time);
        t->unsorted = 0;
    }
    return now;
}

static void apply_mmap(struct track *t, const struct change *c)
{
    struct process *p = processes_find_ns(&t->processes, c->perf.pid);
    const struct perf_record *r = &c->perf;
    struct procfs_map m = {
        .start = r->start, .end = r->start + r->len, .pgoff = r->pgoff, .dev = r->dev, .ino = r->ino};

    if (!p || m.end <= m.start)
        return;
    m.path = t->paths.data + c->path;
    enter_mapping(t, p, &m, r->build_id, r->build_id_len);
}

/* A fork's child has its parent's memory, its mappings and the interpreter in it. */
static void apply_fork(struct track *t, const struct wire_fork *r)
{
    struct process *parent = processes_find(&t->processes, r->parent_tgid);
    struct process *old = processes_find(&t->processes, r->child.tgid), *p;

    if (old)
        slices_unref(&t->slices, old->slice, r->head.ts);
    p = processes_add(&t->processes, &r->child);
    if (parent) {
        process_copy_maps(p, parent);
        if (!parent->dirty) { /* one slice serves both until one of them maps something */
            p->slice = parent->slice;
            slices_ref(&t->slices, p->slice);
        }
    } else
        p->stale = 1;
    if (t->hooks.fork)
        t->hooks.fork(t->hooks.arg, p, r);
}

static void apply_exec(struct track *t, const struct wire_exec *r)
{
    struct process *p = processes_find(&t->processes, r->task.tgid);

    if (!p)
        return;
    p->image = r->image;
    p->dirty = 1;
    if (t->hooks.image)
        t->hooks.image(t->hooks.arg, r);
}

static void apply_image(struct track *t, uint32_t ns_pid)
{
    struct process *p = processes_find_ns(&t->processes, ns_pid);

    if (!p)
        return;
    process_unmap_all(p);
    p->stale = 0;
    if (t->hooks.exec)
        t->hooks.exec(t->hooks.arg, p);
}

static void apply_exit(struct track *t, const struct wire_exit *r)
{
    struct process *p = processes_find(&t->processes, r->task.tgid);

    if (t->hooks.exit)
        t->hooks.exit(t->hooks.arg, p, r);
    if (p && r->last)
        p->gone = 1;
}

static void apply_lost(struct track *t, uint64_t n)
{
    t->stats.lost_records += n;
    for (size_t i = 0; i < t->processes.list.n; i++)
        t->processes.list.a[i]->stale = 1;
}

void track_apply(struct track *t, uint64_t ts)
{
    while (t->next < t->pending.n && t->pending.a[t->next].ts <= ts) {
        const struct change *c = &t->pending.a[t->next++];

        switch (c->type) {
        case CHANGE_MMAP:
            apply_mmap(t, c);
            break;
        case CHANGE_IMAGE:
            apply_image(t, c->perf.pid);
            break;
        case CHANGE_LOST:
            apply_lost(t, c->perf.lost);
            break;
        case CHANGE_FORK:
            apply_fork(t, &c->fork);
            break;
        case CHANGE_EXEC:
            apply_exec(t, &c->exec);
            break;
        case CHANGE_EXIT:
            apply_exit(t, &c->exit);
            break;
        }
    }
    if (t->next == t->pending.n) {
        t->next = 0;
        vec_clear(&t->pending);
        buf_clear(&t->paths);
    }
}

/* ---- the kernel's copies ---- */

static uint32_t table_index(const struct track *t, uint32_t file)
{
    return file < t->tables_n ? file : 0;
}

static void publish_slice(struct track *t, struct process *p, uint64_t now)
{
    uint32_t id;

    vec_clear(&t->scratch);
    for (size_t i = 0; i < p->maps.n; i++) {
        const struct mapping *m = &p->maps.a[i];
        const struct code_file *f = modules_get(&t->modules, m->file);
        struct wire_mapping w = {.start = m->start, .end = m->end, .base = m->bias};

        if (f) {
            w.base += f->layout.base;
            w.table = table_index(t, m->file);
            if (f->fd < 0 && f->kind == MODULE_FILE && w.table) /* there is nothing to make a table of */
                t->tables[w.table].first = WIRE_TABLE_NONE;
            w.flags = f->runtime == JIT_V8 ? WIRE_MAP_FRAMEPTR : 0;
        } else
            w.flags = WIRE_MAP_JIT | (process_jit_keeps_fp(p) ? WIRE_MAP_FRAMEPTR : 0) |
                      (p->runtime == JIT_JVM ? WIRE_MAP_JAVA : 0);
        *vec_push(&t->scratch) = w;
    }
    id = slices_put(&t->slices, t->scratch.a, (uint32_t)t->scratch.n, now);
    if (!id)
        t->stats.slices_refused++;
    slices_unref(&t->slices, p->slice, now);
    p->slice = id;
}

/* The kernel's entry is ahead when an exec has happened that we haven't heard of yet: then leave it alone. */
static void publish_process(struct track *t, struct process *p, uint64_t now)
{
    struct wire_proc have, want = {.start = p->start, .image = p->image};
    const struct slice *s;

    p->dirty = 0;
    if (!t->bpf)
        return;
    if (bpfside_get_proc(t->bpf, p->tgid, &have) || have.image > p->image)
        return;
    publish_slice(t, p, now);
    s = slices_get(&t->slices, p->slice);
    want.start = have.start;
    want.map_first = s ? s->first : 0;
    want.map_n = s ? s->n : 0;
    want.slice = s ? s->number : 0;
    bpfside_set_proc(t->bpf, p->tgid, &want);
}

void track_want_table(struct track *t, uint32_t file)
{
    struct code_file *f = modules_get(&t->modules, file);
    const void *image = NULL;
    size_t n = 0;

    if (!f || f->table_asked || !t->bpf || !table_index(t, file))
        return;
    f->table_asked = 1;
    if (f->kind == MODULE_VDSO)
        image = modules_vdso(&n);
    table_worker_ask(t->worker, file, f->fd, image, n);
}

static void drop_process(struct track *t, struct process *p, uint64_t now)
{
    slices_unref(&t->slices, p->slice, now);
    processes_remove(&t->processes, p);
}

void track_publish(struct track *t)
{
    uint64_t now = clock_monotonic();

    for (size_t i = t->processes.list.n; i-- > 0;) { /* backwards: a removal moves the last one down */
        struct process *p = t->processes.list.a[i];

        if (p->gone)
            drop_process(t, p, now);
        else if (p->dirty)
            publish_process(t, p, now);
    }
}

/* ---- beginning and looking ---- */

static int wanted(const struct wire_thread *th, const pid_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (th->task.ns_tgid == (uint32_t)pids[i])
            return 1;
    return 0;
}

static void follow_one(struct track *t, const struct wire_task *task)
{
    struct wire_proc w = {.start = task->start};
    int rc = bpfside_add_proc(t->bpf, task->tgid, &w);

    if (rc && rc != -EEXIST)
        log_warn("process %u can't be followed: %s", task->ns_tgid, strerror(-rc));
    track_process(t, task, 0)->outside = 0;
}

static int is_followed(const struct track *t, uint32_t tgid)
{
    const struct process *p = processes_find(&t->processes, tgid);

    return p && !p->outside;
}

/* One pass over all threads: leaders that are wanted, or whose parent is followed. Gives how many were new.
 */
static int follow_pass(struct track *t, const pid_t *pids, size_t n, struct err *e)
{
    struct bpfside_threads all = {0};
    int added = 0, more = 1;

    if (bpfside_threads(t->bpf, &all, e) < 0)
        return -1;
    while (more) {
        more = 0;
        for (size_t i = 0; i < all.list.n; i++) {
            const struct wire_thread *th = &all.list.a[i];

            if (th->kthread || th->task.tid != th->task.tgid || is_followed(t, th->task.tgid))
                continue;
            if (!wanted(th, pids, n) && !is_followed(t, th->parent_tgid))
                continue;
            follow_one(t, &th->task);
            more = 1;
            added++;
        }
    }
    vec_release(&all.list);
    return added;
}

int track_follow(struct track *t, const pid_t *pids, size_t n, struct err *e)
{
    int total = 0, added;

    do { /* again, for children that were born while we looked */
        added = follow_pass(t, pids, n, e);
        if (added < 0)
            return -1;
        total += added;
    } while (added);
    track_publish(t);
    return total;
}

struct modules *track_modules(struct track *t)
{
    return &t->modules;
}

const struct processes *track_processes(const struct track *t)
{
    return &t->processes;
}

void track_stats(struct track *t, struct track_stats *out)
{
    *out = t->stats;
    out->tables = __atomic_load_n(&t->tables_made, __ATOMIC_RELAXED);
    out->rows = __atomic_load_n(&t->rows_used, __ATOMIC_RELAXED);
    out->tables_refused = __atomic_load_n(&t->tables_refused, __ATOMIC_RELAXED);
    out->tables_ns = t->worker ? table_worker_cpu_ns(t->worker) : 0;
}
