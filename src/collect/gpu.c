/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What GPUs do, and who asked for it: by the agent that the CUDA driver loads into the target (src/agent),
 * which record has named to it in the environment (record/gpu_env.h).
 */
#include "base/log.h"
#include "base/units.h"
#include "collect/gpu_attach.h"
#include "collect/gpu_driver.h"
#include "collect/gpu_logs.h"
#include "collect/gpu_told.h"
#include "collect/trace.h"
#include "model/collector.h"
#include "model/store_visit.h"
#include "platform/clock.h"
#include "platform/proctask.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define WAIT_NS 1500000000ull /* at the end, for the last flush of agents that go on */
#define LOOK_NS 20000000      /* between two looks for it */

/* What runs already can't be told to load the agent. */
#define GPU_UNATTACHED "GPU: what ran already is not seen: %.400s"
#define GPU_ATTACHED                                                                                         \
    "GPU: attached to what ran already: launches, copies and waits are counted, and have stacks now and "    \
    "then; "                                                                                                 \
    "times of "                                                                                              \
    "kernels are missing (start the program with wprof record)"

#define GPU_BEHIND                                                                                           \
    "GPU: records of process %u end %s before the recording: its agent has not told of the rest"

/* Turns of a second, but for the first ones, since programs may be short: each twice the one before. */
enum { EARLY = 5, EARLY_NS = 1000000000 >> EARLY };
enum { LOOK_AT = 16 /* processes whose mappings are looked at, at most, where no agent has come */ };

struct collector {
    struct record_ctx *ctx;
    struct gpu_logs logs;
    struct gpu_attach attach; /* of what runs already */
    struct err unattached;    /* why there is none */
    int timer_fd;
    enum gpu_seen seen; /* the most that was seen of CUDA in a process without an agent */
    unsigned turns;
    char detail[512];
};

static void gpu_free(struct collector *c)
{
    gpu_attach_close(&c->attach);
    gpu_logs_release(&c->logs);
    if (c->timer_fd >= 0)
        close(c->timer_fd);
    free(c);
}

static struct collector *gpu_open(struct record_ctx *ctx, struct err *e)
{
    struct collector *c = mem_calloc(1, sizeof(*c));

    c->ctx = ctx;
    c->logs.dir = -1;
    c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (c->timer_fd < 0) {
        err_sys(e, errno, "timerfd");
        gpu_free(c);
        return NULL;
    }
    if (ctx->gpu_calls && ctx->tier != TIER_A)
        err_set(&c->unattached, "counting calls from outside needs tier A");
    else if (ctx->gpu_calls)
        gpu_attach_open(&c->attach, ctx, &c->unattached);
    return c;
}

/* Agents write from their process's first call of CUDA on, whether the recording has begun or not: once
 * there is no place for them they stay out. */
static int gpu_ready(struct collector *c, struct err *e)
{
    int rc = gpu_logs_init(&c->logs, c->ctx->store, c->ctx->session_dir, e);

    c->logs.give = c->ctx->ring != 0;
    return rc;
}

static int set_timer(struct collector *c, struct err *e)
{
    int early = c->turns < EARLY;
    struct itimerspec next = {{1, 0}, {!early, early ? (long)EARLY_NS << c->turns : 0}};

    return timerfd_settime(c->timer_fd, 0, &next, NULL) ? err_sys(e, errno, "timerfd") : 0;
}

static int gpu_start(struct collector *c, struct err *e)
{
    if (c->attach.trace && gpu_attach_start(&c->attach, e))
        return -1;
    return set_timer(c, e);
}

static int gpu_fd(struct collector *c)
{
    return c->timer_fd;
}

/* Mappings are heard of one by one where the kernel tells of them: then /proc need not be read, which takes
 * milliseconds for a process with torch in it. */
static int may_have_cuda(const struct collector *c)
{
    struct trace *t = c->ctx->trace;

    return !t || trace_poll(t, NULL) || trace_mapped(t, "/libcuda.so");
}

/* As long as no agent has come: in early turns, then ever more seldom, since mappings are many. */
static void look_for_cuda(struct collector *c)
{
    struct pid_list all = {0};

    if (c->logs.files.n || (c->turns > EARLY && (c->turns & (c->turns - 1))) || !may_have_cuda(c))
        return;
    for (size_t i = 0; i < c->ctx->targets.n; i++)
        *vec_push(&all.list) = c->ctx->targets.a[i];
    for (size_t i = 0; i < all.list.n && i < LOOK_AT; i++) {
        enum gpu_seen seen = gpu_driver_seen(all.list.a[i]);

        if (seen > c->seen)
            c->seen = seen;
        proctask_children(all.list.a[i], &all);
    }
    vec_release(&all.list);
}

static int gpu_poll(struct collector *c, struct err *e)
{
    uint64_t times;

    if (read(c->timer_fd, &times, sizeof(times)) != sizeof(times))
        return 0;
    gpu_logs_read(&c->logs, c->ctx->start_mono, 0, 0);
    c->turns++;
    look_for_cuda(c);
    if (c->turns <= EARLY && set_timer(c, e))
        return -1;
    return c->attach.trace ? gpu_attach_poll(&c->attach, e) : 0;
}

static void gpu_counters(struct collector *c)
{
    gpu_told_counters(&c->logs, c->ctx->store);
    if (c->attach.trace)
        gpu_attach_counters(&c->attach);
}

/* Agents of processes that go on have yet to tell of the last second. */
static int is_behind(const struct gpu_logs *g, const struct gpu_log *l, uint64_t end)
{
    if (!l->told_to || l->told_to >= end || l->states.seen[GPU_ENDED])
        return 0;
    return l->pid_space == g->tasks.space && !kill((pid_t)l->pid, 0);
}

static int is_complete(const struct gpu_logs *g, uint64_t end)
{
    for (size_t i = 0; i < g->files.n; i++)
        if (is_behind(g, &g->files.a[i]->log, end))
            return 0;
    return 1;
}

static void note_behind(struct collector *c, uint64_t end)
{
    for (size_t i = 0; i < c->logs.files.n; i++) {
        const struct gpu_log *l = &c->logs.files.a[i]->log;
        char ns[32];

        if (!is_behind(&c->logs, l, end))
            continue;
        units_duration(ns, sizeof(ns), end - l->told_to);
        log_warn(GPU_BEHIND, l->pid, ns);
        *vec_push(&c->ctx->meta->notes) = mem_printf(GPU_BEHIND, l->pid, ns);
    }
}

static void see(struct collector *c, const char *path)
{
    if (strstr(path, "/libwprof-cuda.so"))
        c->seen = GPU_SEEN_OURS;
    else if (strstr(path, "/libcuda.so") && c->seen < GPU_SEEN_LIBRARY)
        c->seen = GPU_SEEN_LIBRARY;
}

/* Of programs that were too short to be looked at: what the kernel told of, and what was met in stacks. */
static void look_back(struct collector *c)
{
    static const char *const names[] = {"/libcuda.so", "/libwprof-cuda.so"};
    const struct store *s = c->ctx->store;
    struct trace *t = c->ctx->trace;
    int sure = t && !trace_poll(t, NULL) /* what it did last */ && !trace_mapped(t, "//"); /* nobody has */

    for (size_t i = 0; sure && i < ARRAY_SIZE(names); i++)
        if (trace_mapped(t, names[i]))
            see(c, names[i]);
    for (size_t i = 0; i < s->frames.modules.n; i++)
        see(c, strtab_get(&s->strings, s->frames.modules.a[i].path));
}

static int gpu_stop(struct collector *c, struct err *e)
{
    uint64_t end = c->ctx->end_mono, until = clock_monotonic() + WAIT_NS;
    int rc = c->attach.trace ? gpu_attach_stop(&c->attach, e) : 0;

    gpu_logs_read(&c->logs, c->ctx->start_mono, end, 0);
    while (!is_complete(&c->logs, end) && clock_monotonic() < until) {
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
        gpu_logs_read(&c->logs, c->ctx->start_mono, end, 0);
    }
    gpu_logs_read(&c->logs, c->ctx->start_mono, end, 1);
    note_behind(c, end);
    look_back(c);
    gpu_counters(c);
    gpu_told_notes(&c->logs, c->ctx, c->seen);
    if (c->attach.trace && gpu_attach_total(&c->attach)) {
        *vec_push(&c->ctx->meta->notes) = mem_strdup(GPU_ATTACHED);
        log_warn(GPU_ATTACHED);
    }
    if (c->seen && c->unattached.msg[0]) {
        *vec_push(&c->ctx->meta->notes) = mem_printf(GPU_UNATTACHED, c->unattached.msg);
        log_warn(GPU_UNATTACHED, c->unattached.msg);
    }
    return rc;
}

static const char *gpu_detail(struct collector *c)
{
    if (c->attach.trace && !c->logs.files.n) {
        uint64_t n = gpu_attach_total(&c->attach);

        snprintf(c->detail, sizeof(c->detail), n ? GPU_ATTACHED "; %llu calls" : "no CUDA library is called",
                 (unsigned long long)n);
        return c->detail;
    }
    if (c->unattached.msg[0]) {
        snprintf(c->detail, sizeof(c->detail), GPU_UNATTACHED, c->unattached.msg);
        return c->detail;
    }
    return gpu_told_detail(&c->logs, c->ctx, c->seen, c->detail, sizeof(c->detail));
}

static void gpu_ids(struct collector *c, struct store_visit *v)
{
    if (c->attach.trace)
        gpu_attach_ids(&c->attach, v);
    for (size_t i = 0; i < c->logs.files.n; i++)
        gpu_log_ids(&c->logs.files.a[i]->log, v);
}

const struct collector_ops collector_gpu = {
    .name = "gpu",
    .summary = "what GPUs do, and where it was asked for (NVIDIA's, by CUPTI)",
    .by_default = gpu_driver_here,
    .open = gpu_open,
    .ready = gpu_ready,
    .start = gpu_start,
    .fd = gpu_fd,
    .poll = gpu_poll,
    .stop = gpu_stop,
    .counters = gpu_counters,
    .detail = gpu_detail,
    .ids = gpu_ids,
    .free = gpu_free,
};
