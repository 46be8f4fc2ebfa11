/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/trace.h"

#include "base/log.h"
#include "base/mem.h"
#include "collect/untaken.h"
#include "model/store_visit.h"
#include "platform/clock.h"
#include "platform/perf_event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    TURN_MS = 200,            /* the rings are looked at that often at least; what can't wait wakes us */
    ROWS = 6 << 20,           /* 48 MiB of kernel memory: twice what torch's walked libraries have */
    RING_PER_CPU = 512 << 10, /* bytes of the samples' ring */
    RING_MIN = 4 << 20,
    RING_MAX = 32 << 20,
};

struct handler {
    trace_record *each;
    void *arg;
};

/* How often the targets' run time is added up, and what our programs in the kernel took, before the end: what
 * a killed recorder leaves is that old at most. */
#define RUNTIME_TURN_NS 5000000000ull

struct trace_private {
    struct unw_cache cache;
    int have_cache;
    int epoll_fd, timer_fd;
    int users, begun;
    uint64_t counted;     /* when the counters were last set */
    uint64_t ran_at, ran; /* when the targets' run time was last added up, and what it was */
    int costs;            /* it is time to ask what our programs took: each is a system call */
    VEC(int) fds;         /* duplicates of epoll_fd, for all users but the first */
    size_t followed;      /* of the context's targets: it gets more */
    uint64_t gathered;    /* time up to which all records of changes have been read */
    struct handler handlers[WIRE_TYPES];
    uint64_t visited; /* the last pass of trace_ids() */
};

/* ---- what happens to processes ---- */

static void on_fork(void *arg, struct process *child, const struct wire_fork *r)
{
    struct trace *t = arg;
    struct process *parent = processes_find(track_processes(t->track), r->parent_tgid);
    uint32_t id = who_task(&t->who, &r->child, r->head.ts), leader = 0;

    child->leader = id;
    if (parent && !parent->leader)
        parent->leader = who_leader(&t->who, parent, r->head.ts);
    if (parent && parent->leader)
        leader = parent->leader;
    else if (r->parent.tgid)
        leader = who_task(&t->who, &r->parent, r->head.ts);
    if (leader) {
        tasks_get(&t->ctx->store->tasks, id)->parent = leader;
        tasks_touch(&t->ctx->store->tasks, id);
    }
    pythons_forked(&t->taker.pythons, child, parent);
}

static void on_exec(void *arg, struct process *p)
{
    struct trace *t = arg;

    pythons_execed(&t->taker.pythons, p);
    p->leader = who_exec(&t->who, p);
}

static void on_image(void *arg, const struct wire_exec *r)
{
    struct trace *t = arg;

    runtime_exec(&t->runtime, &t->who, r);
}

static void on_exit_thread(void *arg, struct process *p, const struct wire_exit *r)
{
    struct trace *t = arg;

    if (p && who_find(&t->who, r->task.tid, r->task.start))
        who_task(&t->who, &r->task, r->head.ts); /* its last name */
    if (p && r->last)
        pythons_execed(&t->taker.pythons, p);
    runtime_exit(&t->runtime, &t->who, r);
}

static void on_mapped(void *arg, struct process *p, uint32_t file, const struct mapping *m)
{
    struct trace *t = arg;

    pythons_mapped(&t->taker.pythons, p, file, m);
}

static void on_pycode(void *arg, const struct wire_pycode *r)
{
    struct trace *t = arg;

    pythons_code(&t->taker.pythons, r);
}

/* ---- records ---- */

static void on_record(void *arg, const void *record, size_t n)
{
    struct trace *t = arg;
    const struct wire_head *h = record;
    const struct handler *to;

    if (n < sizeof(*h) || h->size > n || h->type >= WIRE_TYPES)
        return;
    to = &t->own->handlers[h->type];
    if (h->ts >= t->own->gathered) /* changes before it may not have been read yet */
        t->own->gathered = track_gather(t->track);
    track_apply(t->track, h->ts);
    if (to->each)
        to->each(to->arg, record, n);
}

void trace_handle(struct trace *t, uint32_t type, trace_record *each, void *arg)
{
    t->own->handlers[type] = (struct handler){each, arg};
}

struct process *trace_task(struct trace *t, const struct wire_task *task, uint64_t ts, uint32_t image,
                           int kthread, uint32_t *id)
{
    struct process *p = kthread ? NULL : track_process(t->track, task, image);

    *id = who_task(&t->who, task, ts);
    who_use(&t->who, *id);
    if (p && !p->leader)
        p->leader = tasks_get(&t->ctx->store->tasks, *id)->leader;
    return p;
}

/* Those that have become targets since. */
static void follow_more(struct trace *t)
{
    const struct record_ctx *ctx = t->ctx;
    size_t n = t->own->followed;
    struct err e = {0};

    if (n >= ctx->targets.n)
        return;
    t->own->followed = ctx->targets.n;
    if (track_follow(t->track, ctx->targets.a + n, ctx->targets.n - n, &e) < 0)
        log_debug("%s", e.msg);
}

int trace_poll(struct trace *t, struct err *e)
{
    uint64_t expirations;

    if (read(t->own->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
        return err_sys(e, errno, "timerfd");
    t->own->gathered = track_gather(t->track);
    bpfside_drain_samples(t->bpf, on_record, t);
    track_apply(t->track, t->own->gathered);
    follow_more(t);
    track_publish(t->track);
    return 0;
}

/* ---- life ---- */

/* Every distinct file stays open: hundreds for one process, thousands for a machine. */
static void raise_file_limit(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

static uint32_t ring_bytes(uint32_t cpus)
{
    uint32_t want = RING_MIN;

    while (want < cpus * RING_PER_CPU && want < RING_MAX)
        want *= 2;
    return want;
}

static int open_wakeups(struct trace *t, struct err *e)
{
    struct itimerspec every = {{0, TURN_MS * 1000000}, {0, TURN_MS * 1000000}};
    struct epoll_event ev = {.events = EPOLLIN};
    struct trace_private *o = t->own;

    o->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    o->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (o->epoll_fd < 0 || o->timer_fd < 0 || timerfd_settime(o->timer_fd, 0, &every, NULL) < 0 ||
        epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, o->timer_fd, &ev) < 0)
        return err_sys(e, errno, "epoll, timerfd");
    return track_watch(t->track, o->epoll_fd, e);
}

static void open_cache(struct trace_private *o)
{
    const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
    struct err e = {0};

    o->have_cache = unw_cache_open(&o->cache, NULL, uid ? (uid_t)strtoul(uid, NULL, 10) : geteuid(),
                                   gid ? (gid_t)strtoul(gid, NULL, 10) : getegid(), UNW_CACHE_LIMIT, &e) == 0;
    if (!o->have_cache)
        log_debug("unwind tables are not cached: %s", e.msg);
}

static int follow_targets(struct trace *t, struct err *e)
{
    const struct record_ctx *ctx = t->ctx;
    int n = track_follow(t->track, ctx->targets.a, ctx->targets.n, e);

    t->own->followed = ctx->targets.n;
    if (n)
        return n < 0 ? -1 : 0;
    return untaken(ctx, e);
}

static int open_parts(struct trace *t, struct err *e)
{
    struct record_ctx *ctx = t->ctx;
    uint32_t cpus = perf_cpus_possible();
    struct bpfside_settings how = {ctx->whole_machine, cpus, ROWS, ring_bytes(cpus), ctx->gpu_calls};
    struct track_hooks hooks = {t, on_fork, on_exec, on_image, on_exit_thread, on_mapped, on_pycode};

    t->bpf = bpfside_new(&how, e);
    if (!t->bpf)
        return -1;
    open_cache(t->own);
    t->track = track_new(t->bpf, t->own->have_cache ? &t->own->cache : NULL, ctx->whole_machine, &hooks, e);
    if (!t->track)
        return -1;
    stack_taker_init(&t->taker, ctx->store, ctx->meta, t->bpf, t->track);
    if (open_wakeups(t, e) < 0)
        return -1;
    return ctx->whole_machine ? 0 : follow_targets(t, e);
}

static void trace_free(struct trace *t)
{
    struct trace_private *o = t->own;

    stack_taker_release(&t->taker);
    track_free(t->track);
    bpfside_free(t->bpf);
    if (o->have_cache) {
        unw_cache_trim(&o->cache);
        unw_cache_close(&o->cache);
    }
    runtime_release(&t->runtime);
    who_release(&t->who);
    gils_release(&t->gils);
    for (size_t i = 0; i < o->fds.n; i++)
        close(o->fds.a[i]);
    vec_release(&o->fds);
    if (o->epoll_fd >= 0)
        close(o->epoll_fd);
    if (o->timer_fd >= 0)
        close(o->timer_fd);
    free(o);
    free(t);
}

static struct trace *trace_new(struct record_ctx *ctx, struct err *e)
{
    struct trace *t = mem_calloc(1, sizeof(*t));

    t->own = mem_calloc(1, sizeof(*t->own));
    t->own->epoll_fd = t->own->timer_fd = -1;
    t->ctx = ctx;
    t->who.store = ctx->store;
    gils_init(&t->gils, ctx->store);
    raise_file_limit();
    if (open_parts(t, e) == 0)
        return t;
    trace_free(t);
    return NULL;
}

struct trace *trace_get(struct record_ctx *ctx, struct err *e)
{
    if (!ctx->trace)
        ctx->trace = trace_new(ctx, e);
    if (ctx->trace)
        ctx->trace->own->users++;
    return ctx->trace;
}

void trace_put(struct trace *t)
{
    if (!t || --t->own->users)
        return;
    t->ctx->trace = NULL;
    trace_free(t);
}

int trace_begin(struct trace *t, struct err *e)
{
    if (!t->own->begun && runtime_begin(&t->runtime, t->bpf, e) < 0)
        return -1;
    t->own->begun = 1;
    return 0;
}

int trace_fd(struct trace *t, struct err *e)
{
    int fd = fcntl(t->own->epoll_fd, F_DUPFD_CLOEXEC, 0);

    if (fd < 0)
        return err_sys(e, errno, "dup");
    *vec_push(&t->own->fds) = fd;
    return fd;
}

int trace_handles(const struct trace *t, uint32_t type)
{
    return t->own->handlers[type].each != NULL;
}

void trace_ids(struct trace *t, struct store_visit *v)
{
    if (t->own->visited == v->pass)
        return;
    t->own->visited = v->pass;
    stack_taker_ids(&t->taker, v);
    gils_ids(&t->gils, v);
}

void trace_counters(struct trace *t, int final)
{
    struct store *s = t->ctx->store;
    uint64_t ns, runs, now = clock_monotonic();
    struct wire_lost lost;
    struct track_stats ts;

    if (!final && t->own->counted && now - t->own->counted < TURN_MS * 1000000ull / 2)
        return; /* for another collector, just now */
    t->own->counted = now;
    t->own->costs = final || t->ctx->ring || now - t->own->ran_at >= RUNTIME_TURN_NS;
    if (t->own->costs) { /* it looks at every thread of the machine */
        t->own->ran =
            runtime_now(&t->runtime, t->bpf, &t->who, track_processes(t->track), t->ctx->whole_machine);
        t->own->ran_at = now;
    }
    bpfside_lost(t->bpf, &lost);
    track_stats(t->track, &ts);
    store_set_counter(s, "cpu.control_lost", lost.control);
    store_set_counter(s, "cpu.unfollowed", lost.procs);
    store_set_counter(s, "cpu.mappings_lost", ts.lost_records);
    store_set_counter(s, "cpu.kernel_lost", t->taker.kernel_lost);
    store_set_counter(s, "cpu.names_lost", t->taker.pythons.names_lost);
    store_set_counter(s, "cpu.python_unplaced", t->taker.merged.unplaced);
    store_set_counter(s, "cpu.tables", ts.tables);
    store_set_counter(s, "cpu.table_rows", ts.rows);
    store_set_counter(s, "cpu.tables_refused", ts.tables_refused);
    store_set_counter(s, "cpu.slices_refused", ts.slices_refused);
    store_set_counter(s, "target.cpu_ns", t->own->ran);
    store_set_counter(s, "own.tables_ns", ts.tables_ns);
    if (!t->own->costs)
        return;
    bpfside_cost(t->bpf, final, &ns, &runs);
    store_set_counter(s, "cpu.bpf_ns", ns);
    store_set_counter(s, "cpu.bpf_runs", runs);
}

int trace_costs_due(const struct trace *t)
{
    return t->own->costs;
}

int trace_mapped(const struct trace *t, const char *part)
{
    const struct modules *m = track_modules(t->track);
    struct track_stats ts;

    track_stats(t->track, &ts);
    if (ts.lost_records)
        return 1;
    for (size_t i = 0; i < m->list.n; i++)
        if (strstr(m->list.a[i]->path, part))
            return 1;
    return 0;
}

int trace_alive(const struct trace *t)
{
    const struct processes *ps = track_processes(t->track);
    int n = 0;

    for (size_t i = 0; i < ps->list.n; i++)
        n += !ps->list.a[i]->gone;
    return n;
}
