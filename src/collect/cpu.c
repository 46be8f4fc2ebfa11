/* SPDX-License-Identifier: Apache-2.0 */
/* On-CPU samples with whole stacks: one timer or counter per CPU, read and unwound by a BPF program. */
#include "base/log.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "collect/stack.h"
#include "model/collector.h"
#include "platform/perf_event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    TURN_MS = 100,            /* the rings are looked at that often at least */
    ROWS = 6 << 20,           /* 48 MiB of kernel memory: twice what torch's walked libraries have */
    RING_PER_CPU = 512 << 10, /* bytes of the samples' ring */
    RING_MIN = 4 << 20,
    RING_MAX = 32 << 20,
};

struct collector {
    struct record_ctx *ctx;
    struct bpfside *bpf;
    struct track *track;
    struct unw_cache cache;
    int have_cache;
    struct who who;
    struct runtime runtime;
    struct stack_taker taker;
    struct sampler sampler;
    int epoll_fd, timer_fd;
    int sampling;
    uint64_t gathered; /* time up to which all records of changes have been read */
    uint64_t taken, nostack;
    uint32_t metric;
    char detail[400];
};

/* ---- what happens to processes ---- */

static void on_fork(void *arg, struct process *child, const struct wire_fork *r)
{
    struct collector *c = arg;
    struct process *parent = processes_find(track_processes(c->track), r->parent_tgid);
    uint32_t id = who_task(&c->who, &r->child, r->head.ts);

    child->leader = id;
    if (parent && parent->leader) {
        tasks_get(&c->ctx->store->tasks, id)->parent = parent->leader;
        tasks_touch(&c->ctx->store->tasks, id);
    }
    pythons_forked(&c->taker.pythons, child, parent);
}

static void on_exec(void *arg, struct process *p)
{
    struct collector *c = arg;

    pythons_execed(&c->taker.pythons, p);
}

static void on_exit_thread(void *arg, struct process *p, const struct wire_exit *r)
{
    struct collector *c = arg;

    if (p && who_find(&c->who, r->task.tid, r->task.start))
        who_task(&c->who, &r->task, r->head.ts); /* its last name */
    if (p && r->last)
        pythons_execed(&c->taker.pythons, p);
    runtime_exit(&c->runtime, &c->who, r);
}

static void on_mapped(void *arg, struct process *p, uint32_t file, const struct mapping *m)
{
    struct collector *c = arg;

    pythons_mapped(&c->taker.pythons, p, file, m);
}

static void on_pycode(void *arg, const struct wire_pycode *r)
{
    struct collector *c = arg;

    pythons_code(&c->taker.pythons, r);
}

/* ---- samples ---- */

static void on_sample(void *arg, const void *record, size_t n)
{
    struct collector *c = arg;
    const struct wire_sample *s = record;
    struct event *ev;
    struct process *p;
    uint32_t task, stack;
    uint16_t flags;

    if (n < sizeof(*s) || s->head.size > n)
        return;
    if (s->head.ts >= c->gathered) /* changes before it may not have been read yet */
        c->gathered = track_gather(c->track);
    track_apply(c->track, s->head.ts);
    task = who_task(&c->who, &s->task, s->head.ts);
    p = s->flags & WIRE_KTHREAD ? NULL : track_process(c->track, &s->task, s->image);
    if (p && !p->leader)
        p->leader = tasks_get(&c->ctx->store->tasks, task)->leader;
    stack = stack_take(&c->taker, p, s, &flags);
    c->taken++;
    ev = vec_push(&c->ctx->store->events);
    *ev = (struct event){.ts = s->head.ts,
                         .value = 1,
                         .task = task,
                         .stack = stack,
                         .metric = c->metric,
                         .cpu = s->cpu,
                         .flags = flags,
                         .kind = EVENT_SAMPLE};
}

static int cpu_poll(struct collector *c, struct err *e)
{
    uint64_t expirations;

    if (read(c->timer_fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
        return err_sys(e, errno, "timerfd");
    c->gathered = track_gather(c->track);
    bpfside_drain_samples(c->bpf, on_sample, c);
    track_apply(c->track, c->gathered);
    track_publish(c->track);
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

static int open_wakeups(struct collector *c, struct err *e)
{
    struct itimerspec every = {{0, TURN_MS * 1000000}, {0, TURN_MS * 1000000}};
    struct epoll_event ev = {.events = EPOLLIN};

    c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (c->epoll_fd < 0 || c->timer_fd < 0 || timerfd_settime(c->timer_fd, 0, &every, NULL) < 0 ||
        epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &ev) < 0)
        return err_sys(e, errno, "epoll, timerfd");
    return track_watch(c->track, c->epoll_fd, e);
}

static void open_cache(struct collector *c)
{
    const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
    struct err e = {0};

    c->have_cache = unw_cache_open(&c->cache, NULL, uid ? (uid_t)strtoul(uid, NULL, 10) : geteuid(),
                                   gid ? (gid_t)strtoul(gid, NULL, 10) : getegid(), UNW_CACHE_LIMIT, &e) == 0;
    if (!c->have_cache)
        log_debug("unwind tables are not cached: %s", e.msg);
}

static int open_parts(struct collector *c, struct err *e)
{
    struct record_ctx *ctx = c->ctx;
    uint32_t cpus = perf_cpus_possible();
    struct bpfside_settings how = {ctx->whole_machine, cpus, ROWS, ring_bytes(cpus)};
    struct track_hooks hooks = {c, on_fork, on_exec, on_exit_thread, on_mapped, on_pycode};

    if (sampler_open(&c->sampler, ctx->event, ctx->frequency, e) < 0)
        return -1;
    c->bpf = bpfside_new(&how, e);
    if (!c->bpf)
        return -1;
    open_cache(c);
    c->track = track_new(c->bpf, c->have_cache ? &c->cache : NULL, ctx->whole_machine, &hooks, e);
    if (!c->track)
        return -1;
    stack_taker_init(&c->taker, ctx->store, ctx->meta, c->bpf, c->track);
    if (open_wakeups(c, e) < 0)
        return -1;
    if (ctx->whole_machine)
        return 0;
    return track_follow(c->track, ctx->targets.a, ctx->targets.n, e) < 0 ? -1 : 0;
}

static void cpu_free(struct collector *c)
{
    if (!c)
        return;
    sampler_close(&c->sampler);
    stack_taker_release(&c->taker);
    track_free(c->track);
    bpfside_free(c->bpf);
    if (c->have_cache) {
        unw_cache_trim(&c->cache);
        unw_cache_close(&c->cache);
    }
    runtime_release(&c->runtime);
    who_release(&c->who);
    if (c->epoll_fd >= 0)
        close(c->epoll_fd);
    if (c->timer_fd >= 0)
        close(c->timer_fd);
    free(c);
}

static struct collector *cpu_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = mem_calloc(1, sizeof(*c));

    c->ctx = ctx;
    c->epoll_fd = c->timer_fd = -1;
    c->who.store = ctx->store;
    raise_file_limit();
    if (open_parts(c, e) < 0) {
        cpu_free(c);
        return NULL;
    }
    c->metric = strtab_add(&ctx->store->strings, c->sampler.event.name);
    free(ctx->meta->event);
    ctx->meta->event = mem_strdup(c->sampler.event.name);
    free(ctx->meta->tier);
    ctx->meta->tier = mem_strdup("A");
    snprintf(c->detail, sizeof(c->detail), "%s%s%s", c->sampler.event.name, c->sampler.why[0] ? ": " : "",
             c->sampler.why);
    return c;
}

static int cpu_start(struct collector *c, struct err *e)
{
    if (runtime_begin(&c->runtime, c->bpf, e) < 0)
        return -1;
    for (size_t i = 0; i < c->sampler.fds.n; i++)
        if (bpfside_sample(c->bpf, c->sampler.fds.a[i], e) < 0)
            return -1;
    vec_clear(&c->sampler.fds); /* the links own them now */
    c->sampling = 1;
    return 0;
}

static void cpu_counters(struct collector *c)
{
    struct store *s = c->ctx->store;
    uint64_t run =
        runtime_now(&c->runtime, c->bpf, &c->who, track_processes(c->track), c->ctx->whole_machine);
    uint64_t ns, runs;
    struct wire_lost lost;
    struct track_stats ts;

    bpfside_lost(c->bpf, &lost);
    track_stats(c->track, &ts);
    store_set_counter(s, "cpu.expected", sampler_expected(&c->sampler, run));
    store_set_counter(s, "cpu.taken", c->taken);
    store_set_counter(s, "cpu.lost", lost.samples);
    store_set_counter(s, "cpu.nostack", c->taker.nostack);
    store_set_counter(s, "cpu.control_lost", lost.control);
    store_set_counter(s, "cpu.unfollowed", lost.procs);
    store_set_counter(s, "cpu.mappings_lost", ts.lost_records);
    store_set_counter(s, "cpu.tables", ts.tables);
    store_set_counter(s, "cpu.table_rows", ts.rows);
    store_set_counter(s, "cpu.tables_refused", ts.tables_refused);
    store_set_counter(s, "cpu.slices_refused", ts.slices_refused);
    store_set_counter(s, "target.cpu_ns", run);
    store_set_counter(s, "own.tables_ns", ts.tables_ns);
    if (bpfside_cost(c->bpf, !c->sampling, &ns, &runs) == 0) {
        store_set_counter(s, "cpu.bpf_ns", ns);
        store_set_counter(s, "cpu.bpf_runs", runs);
    }
}

static int cpu_stop(struct collector *c, struct err *e)
{
    int rc;

    bpfside_sample_stop(c->bpf);
    c->sampling = 0;
    rc = cpu_poll(c, e);
    track_apply(c->track, UINT64_MAX);
    cpu_counters(c);
    return rc;
}

static int cpu_fd(struct collector *c)
{
    return c->epoll_fd;
}

static const char *cpu_detail(struct collector *c)
{
    return c->detail;
}

static int cpu_alive(struct collector *c)
{
    const struct processes *ps = track_processes(c->track);
    int n = 0;

    for (size_t i = 0; i < ps->list.n; i++)
        n += !ps->list.a[i]->gone;
    return n;
}

const struct collector_ops collector_cpu = {
    .name = "cpu",
    .summary = "stacks of what runs on a CPU, by samples",
    .on_by_default = 1,
    .open = cpu_open,
    .start = cpu_start,
    .fd = cpu_fd,
    .poll = cpu_poll,
    .stop = cpu_stop,
    .counters = cpu_counters,
    .detail = cpu_detail,
    .alive = cpu_alive,
    .free = cpu_free,
};
