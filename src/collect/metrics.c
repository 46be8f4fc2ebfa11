/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the machine, the targets' control groups, processes and threads: read from /proc and /sys once a
 * second, at the beginning and at the end. A look takes a bounded time: what it leaves undone comes next
 * time, and since what is read counts on, nothing is lost by that.
 */
#include "collect/metrics.h"

#include "collect/trace.h"
#include "platform/clock.h"
#include "platform/sysfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOK_NS 5000000ull   /* CPU time for processes, of each second */
#define LAST_NS 500000000ull /* of the first look and the last */

#define FIRST_NS 100000000   /* of a short command the second look shows what it has */
#define JUST_NS  50000000ull /* a look that was just now needs no other one */

struct collector {
    struct metrics m;
    struct trace *trace; /* tier A: what tells of processes; NULL in others */
    int alone;           /* no other collector turns it */
    int timer_fd, epoll_fd;
    char detail[512];
};

int metrics_read(struct metrics *m, const char *path, enum metrics_missing what)
{
    if (!sysfile_read_path(m->root, path, &m->text))
        return 0;
    m->missing[what]++;
    return -1;
}

static void metrics_free(struct collector *c)
{
    struct metrics *m = &c->m;

    metrics_used_stop(m);
    metrics_gpu_release(m);
    metrics_processes_release(m);
    metrics_roots_release(m);
    metrics_groups_release(m);
    metrics_machine_release(&m->machine);
    who_release(&m->own_who);
    buf_release(&m->text);
    if (m->root >= 0)
        close(m->root);
    if (c->timer_fd >= 0)
        close(c->timer_fd);
    if (c->epoll_fd >= 0)
        close(c->epoll_fd);
    trace_put(c->trace);
    free(c);
}

/* Others need files as well. */
static size_t files_to_keep(void)
{
    struct rlimit r;

    return getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == RLIM_INFINITY ? 1024 : (size_t)r.rlim_cur / 4;
}

static struct collector *metrics_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = mem_calloc(1, sizeof(*c));
    struct metrics *m = &c->m;

    c->epoll_fd = -1;
    m->ctx = ctx;
    m->own_who.store = ctx->store;
    c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    m->root = c->timer_fd < 0 ? -1 : sysfile_root("/");
    if (m->root < 0) {
        err_sys(e, errno, c->timer_fd < 0 ? "timerfd" : "/");
        metrics_free(c);
        return NULL;
    }
    c->trace = ctx->trace ? trace_get(ctx, e) : NULL;
    m->most_files = files_to_keep();
    metrics_cache_init(&m->cache, NULL);
    metrics_out_init(&m->out, ctx->store);
    return c;
}

static void look(struct metrics *m, uint64_t budget_ns)
{
    uint64_t begin = clock_thread_cpu();

    metrics_processes_look(m, budget_ns);
    m->ts = m->ctx->now();
    metrics_roots_look(m);
    metrics_machine_look(m);
    metrics_groups_look(m);
    metrics_gpu_look(m);
    m->rounds++;
    m->own_ns += clock_thread_cpu() - begin;
}

/* Where nobody else listens to what our programs in the kernel tell. */
static int listen_alone(struct collector *c, struct err *e)
{
    struct epoll_event ev = {.events = EPOLLIN};
    int fd;

    if (trace_begin(c->trace, e))
        return -1;
    c->alone = !trace_handles(c->trace, WIRE_SAMPLE) && !trace_handles(c->trace, WIRE_SPAN);
    if (!c->alone)
        return 0;
    fd = trace_fd(c->trace, e);
    c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0 || c->epoll_fd < 0 || epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ||
        epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &ev))
        return err_sys(e, errno, "epoll");
    return 0;
}

static void metrics_ids(struct collector *c, struct store_visit *v)
{
    metrics_out_ids(&c->m.out, v);
    if (c->trace)
        trace_ids(c->trace, v);
}

static int metrics_start(struct collector *c, struct err *e)
{
    struct itimerspec every = {{1, 0}, {0, FIRST_NS}};

    if (c->trace && listen_alone(c, e))
        return -1;
    c->m.boot_ns = clock_monotonic(); /* first: of the two it is never ahead */
    c->m.boot_ns = clock_ns(CLOCK_BOOTTIME) - c->m.boot_ns;
    if (timerfd_settime(c->timer_fd, 0, &every, NULL))
        return err_sys(e, errno, "timerfd");
    c->m.ts = c->m.ctx->now();
    metrics_used_start(&c->m);
    metrics_gpu_start(&c->m);
    metrics_roots_open(&c->m);
    c->m.out.gated = c->m.ctx->launched;
    look(&c->m, LAST_NS);
    c->m.out.gated = 0;
    c->m.begin = c->m.ts;
    return 0;
}

static int metrics_fd(struct collector *c)
{
    return c->epoll_fd >= 0 ? c->epoll_fd : c->timer_fd;
}

static int metrics_poll(struct collector *c, struct err *e)
{
    uint64_t times;

    if (c->alone && trace_poll(c->trace, e))
        return -1;
    if (read(c->timer_fd, &times, sizeof(times)) != sizeof(times))
        return 0;
    if (c->trace && trace_poll(c->trace, e)) /* who has ended is no more looked at */
        return -1;
    look(&c->m, LOOK_NS);
    return 0;
}

static void metrics_counters(struct collector *c)
{
    const struct metrics *m = &c->m;
    struct store *s = m->ctx->store;

    if (c->alone)
        trace_counters(c->trace, m->last);
    store_set_counter(s, "metrics.rounds", m->rounds);
    store_set_counter(s, "metrics.events", m->out.events);
    store_set_counter(s, "metrics.late", m->late);
    store_set_counter(s, "metrics.postponed", m->postponed);
    store_set_counter(s, "metrics.ended_unseen", m->ended_unseen);
    store_set_counter(s, "metrics.io_refused", m->missing[METRICS_NO_IO]);
    store_set_counter(s, "metrics.short_processes", m->short_processes);
    store_set_counter(s, "metrics.short_ns", m->short_ns);
    if (c->trace) {
        struct wire_lost lost;

        bpfside_lost(c->trace->bpf, &lost);
        store_set_counter(s, "metrics.threads_lost", lost.used);
    }
    store_set_counter(s, "metrics.own_ns", m->own_ns);
    metrics_groups_tell(m, s);
    if (m->cache.count) {
        store_set_counter(s, "metrics.counters_untold", m->cache.untold);
        store_set_counter(s, "metrics.counters_refused", m->cache.refused);
    }
}

static int metrics_stop(struct collector *c, struct err *e)
{
    struct metrics *m = &c->m;
    int rc = c->trace ? trace_poll(c->trace, e) : 0; /* what threads used that have ended */

    if (c->alone)
        track_apply(c->trace->track, UINT64_MAX);
    if (!m->last || m->ctx->now() - m->ts > JUST_NS) {
        m->last = 1;
        look(m, LAST_NS);
    }
    metrics_used_stop(m);
    metrics_processes_end(m);
    metrics_roots_end(m);
    metrics_groups_end(m);
    metrics_machine_end(m);
    metrics_counters(c);
    return rc;
}

/* The command is a zombie: its last figures are still there. Mostly the recording ends with it. */
static void metrics_ended(struct collector *c)
{
    c->m.last = 1;
    if (c->trace)
        trace_poll(c->trace, NULL);
    look(&c->m, LAST_NS);
}

static const char *metrics_detail(struct collector *c)
{
    static const char *const names[METRICS_MISSING] = {
        [METRICS_NO_IO] = "I/O of some processes (not ours to read)",
        [METRICS_NO_DELAY] = "run-queue delay (no schedstat)",
        [METRICS_NO_ALL_DELAY] = "run-queue delay of the machine (no /proc/schedstat)",
        [METRICS_NO_PRESSURE] = "pressure (no PSI)",
        [METRICS_NO_FREQUENCY] = "CPU frequency",
        [METRICS_NO_MEMORY] = "memory (no /proc/meminfo)",
        [METRICS_NO_VM] = "faults and I/O of the machine (no /proc/vmstat)",
        [METRICS_NO_CGROUP] = "control group (none of its own)",
        [METRICS_NO_PLACES] = "the CPUs that threads ran on (needs tier A)",
        [METRICS_NO_STAT] = "CPU time of the machine (no /proc/stat)",
    };
    char why[256];
    struct buf b = {0};

    if (*metrics_cache_why(&c->m.cache, why, sizeof(why)))
        buf_addf(&b, "not available: %s", why);
    if (*metrics_gpu_why(&c->m))
        buf_addf(&b, "%sGPUs (%s)", b.len ? ", " : "not available: ", metrics_gpu_why(&c->m));
    for (size_t i = 0; i < METRICS_MISSING; i++)
        if (c->m.missing[i])
            buf_addf(&b, "%s%s", b.len ? ", " : "not available: ", names[i]);
    snprintf(c->detail, sizeof(c->detail), "%s", buf_str(&b));
    buf_release(&b);
    return c->detail;
}

const struct collector_ops collector_metrics = {
    .name = "metrics",
    .summary = "CPU, memory, I/O and pressure of the processes and the machine, each second",
    .on_by_default = 1,
    .open = metrics_open,
    .start = metrics_start,
    .fd = metrics_fd,
    .poll = metrics_poll,
    .stop = metrics_stop,
    .ended = metrics_ended,
    .counters = metrics_counters,
    .detail = metrics_detail,
    .ids = metrics_ids,
    .free = metrics_free,
};
