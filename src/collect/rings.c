/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/rings.h"

#include "base/log.h"
#include "base/mem.h"
#include "collect/outside_sample.h"
#include "collect/tick.h"
#include "collect/wake_delay.h"
#include "model/metrics.h"
#include "model/store_visit.h"
#include "platform/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { TURN_MS = 10 /* threads that wait for so long are looked at */ };

/* Those that run Python sooner, and where they wait for the GIL, which is for 5 ms at a time, more often. */
#define PYTHON_NS   1000000ull
#define GIL_TURN_NS 2000000ull
#define GIL_OVER_NS 1000000000ull

/* A record's time is taken before its bytes are there (32 KiB of stack to copy): so long after it, they are.
 */
#define SETTLE_NS 2000000ull
/* How often the part of the CPU time that the events see is found out. */
#define SEEN_NS 100000000ull
/* A Python stack read so long after its sample says nothing of it. */
#define FRESH_NS 20000000ull

/* A record of any ring, until its turn by time has come. Its bytes, and Python's frames behind them, lie in
 * `bytes`. */
struct waiting {
    uint64_t ts, order;
    size_t at, n;
    uint32_t python_n;
    uint16_t python_flags, cpu;
};

struct rings_private {
    int epoll_fd, timer_fd;
    int users, begun;
    uint64_t gil_ns;    /* when a wait for the GIL was last met */
    uint64_t gil_looks; /* how many were, by then */
    int often;
    VEC(int) fds; /* duplicates of epoll_fd */
    VEC(struct waiting) waiting;
    struct buf bytes;
    uint64_t order;
    uint64_t user, sys; /* times of the targets before the beginning */
    double seen;        /* as of seen_share(), now and then: */
    uint64_t seen_ns;   /* at that time */
    int64_t rests_ns;   /* CPU time that no sample stands for yet; below 0: samples that stand for more */
};

/* ---- whole times ---- */

static uint64_t timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Time in the program and in the kernel, to a clock tick: of processes that are there, and of those that were
 * children of ours and have ended. */
static void sum_times(const struct rings *r, uint64_t *user, uint64_t *sys)
{
    struct rusage ended = {0};
    struct proctask st;

    getrusage(RUSAGE_CHILDREN, &ended);
    *user = timeval_ns(ended.ru_utime);
    *sys = timeval_ns(ended.ru_stime);
    for (size_t i = 0; i < r->outside.processes.n; i++) {
        const struct outside_process *p = r->outside.processes.a[i];

        if (p->ended || proctask_stat((pid_t)p->pid, 0, &st))
            continue;
        *user += st.user_ns;
        *sys += st.sys_ns;
    }
}

/* What part of the time on a CPU the events see: without the kernel's side, that of the program itself. */
static double seen_share(const struct rings *r)
{
    uint64_t user, sys;

    if (r->events.kernel)
        return 1;
    sum_times(r, &user, &sys);
    user -= user > r->own->user ? r->own->user : user;
    sys -= sys > r->own->sys ? r->own->sys : sys;
    return user + sys ? (double)user / (double)(user + sys) : 1;
}

/* ---- Python, at once ---- */

static void take_python(struct rings *r, const struct perf_task_record *rec, struct waiting *w)
{
    struct outside *o = &r->outside;
    struct process *p = processes_find_ns(track_processes(o->track), rec->pid);
    struct outside_thread *t = outside_find(o, rec->tid);
    int rc;

    if (!p || !p->python || !t || !rec->sample.has_user)
        return;
    if (clock_monotonic() - rec->ts > FRESH_NS) {
        r->python_late++;
        w->python_flags = WIRE_PY_ERROR;
        return;
    }
    rc = outside_sample_python(o, t, p, &rec->sample, &w->python_flags);
    if (rc <= 0)
        return;
    w->python_n = o->python->walk.n;
    buf_add(&r->own->bytes, o->python->frames, w->python_n * sizeof(*o->python->frames));
}

/* ---- gathering ---- */

static void keep(struct rings *r, const struct perf_task_record *rec, const uint8_t *p, size_t n,
                 uint32_t cpu)
{
    struct rings_private *own = r->own;
    struct waiting w = {.ts = rec->ts, .order = own->order++, .n = n, .cpu = (uint16_t)cpu};

    buf_add(&own->bytes, "\0\0\0\0\0\0\0", -own->bytes.len & 7);
    w.at = own->bytes.len;
    buf_add(&own->bytes, p, n);
    if (rec->kind == PERF_TASK_SAMPLE)
        take_python(r, rec, &w);
    *vec_push(&own->waiting) = w;
}

static int by_time(const void *pa, const void *pb)
{
    const struct waiting *a = pa, *b = pb;

    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void gather(struct rings *r)
{
    struct perf_task_record rec;
    const uint8_t *p;
    size_t n;

    for (size_t i = 0; i < r->events.rings.n; i++)
        while ((p = perf_ring_raw(&r->events.rings.a[i], &n))) {
            if (!perf_task_parse(&r->events, p, n, &rec))
                continue;
            if (rec.kind == PERF_TASK_CODE)
                track_tell(r->outside.track, &rec.code);
            if (rec.kind == PERF_TASK_CODE && rec.code.kind == PERF_KIND_LOST)
                r->lost += rec.code.lost;
            keep(r, &rec, p, n, r->events.cpus.a[i]);
        }
    if (r->own->waiting.n)
        qsort(r->own->waiting.a, r->own->waiting.n, sizeof(*r->own->waiting.a), by_time);
}

/* ---- what records say ---- */

static void left_cpu(struct rings *r, struct outside_thread *t, uint64_t ts, enum outside_state how)
{
    if (t->state == OUTSIDE_ON && ts > t->last_ts)
        t->run_ns += ts - t->last_ts;
    t->state = how;
    t->off_since = t->last_ts = ts;
}

/* Whether spot is of the wait that ends at ts: records come later than what they tell of, so that it may have
 * been looked at in the one after it. */
static int looked(const struct outside_thread *t, uint64_t ts)
{
    return t->spot_ns >= t->off_since && t->spot_ns <= ts;
}

static void got_cpu(struct rings *r, struct outside_thread *t, uint64_t ts, uint32_t cpu)
{
    static const struct outside_spot nowhere = {0};
    uint64_t dur = ts > t->off_since ? ts - t->off_since : 0;

    if (t->state == OUTSIDE_BLOCKED) {
        wake_delay_waited(t, t->off_since, dur, looked(t, ts) ? &t->spot : &nowhere);
    } else if (t->state == OUTSIDE_TAKEN || t->state == OUTSIDE_BORN) {
        wake_delay_queued(t, dur);
        outside_span(&r->outside, t, EVENT_RUNQ, t->off_since, dur, &nowhere,
                     t->state == OUTSIDE_TAKEN ? EVENT_PREEMPTED : 0);
    } else {
        wake_delay_unknown(t);
    }
    t->state = OUTSIDE_ON;
    t->cpus |= 1ull << cpu % 64;
    t->last_ts = ts;
}

static void began(struct rings *r, const struct perf_task_record *rec)
{
    struct outside_thread *parent = outside_find(&r->outside, rec->ptid), *child;

    if (parent)
        parent->births++;
    if (rec->pid != rec->ppid)
        outside_forked(&r->outside, rec->pid, rec->ppid, rec->ts);
    child = outside_thread(&r->outside, rec->pid, rec->tid, rec->ts);
    if (child->state != OUTSIDE_UNKNOWN)
        return;
    child->state = OUTSIDE_BORN;
    child->off_since = rec->ts;
}

/* ---- what is too short for a timer ---- */

/*
 * Every thread has a timer of its own on each CPU, which begins with a whole period: what it runs for after
 * the last tick has no sample, and of a thread that runs for less than a period nothing has. Where a thread
 * gives its CPU to one that it started, the kernel swaps their timers, and the one that ends takes the older
 * one with it, or is sampled for the other's time. These rests make samples together. A rest that is larger
 * than the timers explain is a loss, and no rest.
 */
static void sample_rest(struct rings *r, struct outside_thread *t, uint64_t ts)
{
    int64_t period = (int64_t)r->events.period, most, rest;
    uint64_t n;

    if (!period || !r->sampling)
        return;
    most = period * (__builtin_popcountll(t->cpus) + (int64_t)t->births);
    rest = (int64_t)((double)t->run_ns * r->own->seen) - (int64_t)t->sampled_ns;
    r->own->rests_ns += rest < most ? rest : most;
    if (r->own->rests_ns < period)
        return;
    n = (uint64_t)(r->own->rests_ns / period);
    r->own->rests_ns -= (int64_t)n * period;
    r->taken += n;
    *vec_push(&r->outside.ctx->store->events) =
        (struct event){.ts = ts,
                       .value = n,
                       .task = who_task(&r->outside.who, &t->task, ts),
                       .stack = outside_marker(&r->outside, OUTSIDE_BRIEF),
                       .metric = r->metric,
                       .cpu = METRIC_ANY_CPU,
                       .kind = EVENT_SAMPLE};
}

static void ended(struct rings *r, struct outside_thread *t, uint64_t ts)
{
    if (t->state == OUTSIDE_ON)
        left_cpu(r, t, ts, OUTSIDE_UNKNOWN);
    sample_rest(r, t, ts);
    wake_delay_end(&r->outside, t);
    outside_spans_end(&r->outside, t, ts);
    outside_ended(&r->outside, t, ts);
}

/* Builds what stack_take() wants; without Python's part when that was seen not to fit. */
static uint32_t stack_of(struct rings *r, const struct waiting *w, const struct perf_task_record *rec,
                         const struct outside_thread *t, struct process *p, int python, uint16_t *flags)
{
    return outside_sample_stack(&r->outside, t, p, rec, r->own->bytes.data + w->at + w->n,
                                python ? w->python_n : 0, python ? w->python_flags : 0, flags);
}

static void sampled(struct rings *r, const struct waiting *w, const struct perf_task_record *rec,
                    struct outside_thread *t)
{
    struct outside *o = &r->outside;
    uint64_t unplaced = o->taker.merged.unplaced;
    struct event *ev;
    uint32_t id, stack;
    struct process *p;
    uint16_t flags;

    t->sampled_ns += r->events.period;
    t->cpus |= 1ull << w->cpu % 64;
    if (outside_before_exec(o, t, 1))
        return;
    p = outside_walked(o, t, rec->ts, &id);
    stack = stack_of(r, w, rec, t, p, 1, &flags);
    if (w->python_n && o->taker.merged.unplaced != unplaced && !(flags & EVENT_TRUNCATED)) {
        o->taker.merged.unplaced = unplaced;
        o->stats.python_stale++;
        stack = stack_of(r, w, rec, t, p, 0, &flags);
        flags |= EVENT_PYTHON;
    }
    r->taken++;
    ev = vec_push(&o->ctx->store->events);
    *ev = (struct event){.ts = rec->ts,
                         .value = 1,
                         .task = id,
                         .stack = stack,
                         .metric = r->metric,
                         .cpu = w->cpu,
                         .flags = flags,
                         .kind = EVENT_SAMPLE};
    gils_sample(&o->gils, ev);
}

static void apply(struct rings *r, const struct waiting *w)
{
    struct perf_task_record rec;
    struct outside_thread *t;

    if (!perf_task_parse(&r->events, (const uint8_t *)r->own->bytes.data + w->at, w->n, &rec))
        return;
    track_apply(r->outside.track, rec.ts);
    if (rec.kind == PERF_TASK_FORK) {
        began(r, &rec);
        return;
    }
    if (rec.kind == PERF_TASK_CODE && rec.code.kind == PERF_KIND_LOST) { /* switches may be among them */
        for (size_t i = 0; i < r->outside.threads.n; i++) {
            r->outside.threads.a[i]->state = OUTSIDE_UNKNOWN;
            wake_delay_unknown(r->outside.threads.a[i]);
        }
        outside_scan(&r->outside); /* and births, and new images */
        return;
    }
    t = rec.kind == PERF_TASK_EXIT ? outside_find(&r->outside, rec.tid)
                                   : outside_thread(&r->outside, rec.pid, rec.tid, rec.ts);
    if (!t || t->ended)
        return;
    wake_delay_settle(&r->outside, t, rec.ts);
    if (rec.name)
        outside_rename(&r->outside, t, rec.name, rec.ts);
    if (rec.kind == PERF_TASK_SAMPLE && r->sampling)
        sampled(r, w, &rec, t);
    else if (rec.kind == PERF_TASK_IN)
        got_cpu(r, t, rec.ts, w->cpu);
    else if (rec.kind == PERF_TASK_OUT || rec.kind == PERF_TASK_TAKEN)
        left_cpu(r, t, rec.ts, rec.kind == PERF_TASK_OUT ? OUTSIDE_BLOCKED : OUTSIDE_TAKEN);
    else if (rec.kind == PERF_TASK_EXIT)
        ended(r, t, rec.ts);
}

/* Those up to `until`, in their order; the rest stays. */
static void apply_all(struct rings *r, uint64_t until)
{
    struct rings_private *own = r->own;
    size_t n = 0;

    while (n < own->waiting.n && own->waiting.a[n].ts <= until)
        apply(r, &own->waiting.a[n++]);
    if (!n)
        return;
    own->waiting.n -= n;
    memmove(own->waiting.a, own->waiting.a + n, own->waiting.n * sizeof(*own->waiting.a));
    if (!own->waiting.n)
        buf_clear(&own->bytes);
    outside_sweep(&r->outside);
}

/* ---- waits ---- */

/* All records up to `until` are noted. */
static void split_waits(struct rings *r, uint64_t until)
{
    struct outside *o = &r->outside;

    for (size_t i = 0; i < o->threads.n; i++) {
        if (o->threads.a[i]->ended)
            continue;
        wake_delay_settle(o, o->threads.a[i], until);
        wake_delay_read(o, o->threads.a[i]);
    }
}

/* Threads that have been off the CPU for a turn: where are they? */
static void look_at_waiting(struct rings *r, uint64_t now)
{
    struct outside *o = &r->outside;

    for (size_t i = 0; o->off && i < o->threads.n; i++) {
        struct outside_thread *t = o->threads.a[i];

        if (t->ended || t->spot_ns >= t->off_since || t->state != OUTSIDE_BLOCKED ||
            now - t->off_since < (t->python_id ? PYTHON_NS : TURN_MS * 1000000ull / 2))
            continue;
        if (outside_look(o, t, now, &t->spot) == 0)
            t->spot_ns = clock_monotonic();
    }
}

/* Those that have become targets: the others' children are counted by what their parents have. */
static void follow_more(struct rings *r)
{
    struct outside *o = &r->outside;
    size_t before = o->threads.n;
    struct err e = {0};

    outside_follow_more(o);
    for (size_t i = before; i < o->threads.n; i++)
        if (perf_task_add(&r->events, (pid_t)o->threads.a[i]->task.tid, &e) < 0)
            log_debug("%s", e.msg);
    if (o->threads.n > before && r->own->begun)
        perf_task_enable(&r->events, 1);
}

static int set_turn(struct rings *r, uint64_t ns)
{
    struct itimerspec every = {{0, (long)ns}, {0, (long)ns}};

    return timerfd_settime(r->own->timer_fd, 0, &every, NULL);
}

static void adapt_turn(struct rings *r, uint64_t now)
{
    struct rings_private *own = r->own;
    int often;

    if (own->gil_looks != r->outside.stats.gil_looks)
        own->gil_ns = now;
    own->gil_looks = r->outside.stats.gil_looks;
    often = own->gil_ns && now - own->gil_ns < GIL_OVER_NS;
    if (often != own->often && !set_turn(r, often ? GIL_TURN_NS : TURN_MS * 1000000ull))
        own->often = often;
}

int rings_poll(struct rings *r, struct err *e)
{
    uint64_t expirations, now = clock_monotonic();

    if (read(r->own->timer_fd, &expirations, sizeof(expirations)) < 0) {
        if (errno != EAGAIN)
            return err_sys(e, errno, "timerfd");
        expirations = 0;
    }
    gather(r);
    apply_all(r, now - SETTLE_NS);
    split_waits(r, now - SETTLE_NS);
    if (expirations) {
        follow_more(r);
        look_at_waiting(r, now);
        if (now - r->own->seen_ns > SEEN_NS) {
            r->own->seen = seen_share(r);
            r->own->seen_ns = now;
        }
    }
    gils_turn(&r->outside.gils, now);
    adapt_turn(r, now);
    return 0;
}

/* ---- life ---- */

static int open_wakeups(struct rings *r, struct err *e)
{
    struct epoll_event ev = {.events = EPOLLIN};
    struct rings_private *own = r->own;
    int rc;

    own->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    own->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (own->epoll_fd < 0 || own->timer_fd < 0 || set_turn(r, TURN_MS * 1000000ull) < 0)
        return err_sys(e, errno, "epoll, timerfd");
    rc = epoll_ctl(own->epoll_fd, EPOLL_CTL_ADD, own->timer_fd, &ev);
    for (size_t i = 0; i < r->events.rings.n; i++)
        rc |= epoll_ctl(own->epoll_fd, EPOLL_CTL_ADD, r->events.rings.a[i].fd, &ev);
    return rc ? err_sys(e, errno, "epoll_ctl") : 0;
}

/* It ended before its events could be opened. */
static int is_gone(const struct outside_thread *t)
{
    struct proctask st;

    return proctask_stat((pid_t)t->task.tgid, (pid_t)t->task.tid, &st) || st.state == 'Z';
}

/* Every thread that is there; those that begin meanwhile are found in the next round. */
static int open_threads(struct rings *r, struct err *e)
{
    struct outside *o = &r->outside;
    size_t n = 0, gone = 0;

    while (n < o->threads.n) {
        for (; n < o->threads.n; n++) {
            if (!perf_task_add(&r->events, (pid_t)o->threads.a[n]->task.tid, e))
                continue;
            if (!is_gone(o->threads.a[n]) || ++gone == o->threads.n)
                return -1;
        }
        outside_scan(o);
    }
    return 0;
}

static int open_parts(struct rings *r, struct record_ctx *ctx, struct err *e)
{
    struct pfm_event ev;

    if (outside_init(&r->outside, ctx, e) < 0 || outside_follow(&r->outside, e) < 0)
        return -1;
    if (!ctx->event)
        pfm_default_event(&ev, r->why, sizeof(r->why));
    else if (pfm_encode(ctx->event, &ev, e) < 0)
        return -1;
    if (perf_task_init(&r->events, &ev, ctx->frequency, e) < 0 || open_threads(r, e) < 0)
        return -1;
    if (ev.time)
        r->tick_ns = tick_cost_ns();
    r->metric = strtab_add(&ctx->store->strings, ev.name);
    free(ctx->meta->event);
    ctx->meta->event = mem_strdup(ev.name);
    return open_wakeups(r, e);
}

static void rings_free(struct rings *r)
{
    struct rings_private *own = r->own;

    perf_task_release(&r->events);
    outside_release(&r->outside);
    for (size_t i = 0; i < own->fds.n; i++)
        close(own->fds.a[i]);
    vec_release(&own->fds);
    vec_release(&own->waiting);
    buf_release(&own->bytes);
    if (own->epoll_fd >= 0)
        close(own->epoll_fd);
    if (own->timer_fd >= 0)
        close(own->timer_fd);
    free(own);
    free(r);
}

struct rings *rings_get(struct record_ctx *ctx, struct err *e)
{
    struct rings *r = ctx->rings;

    if (!r) {
        r = mem_calloc(1, sizeof(*r));
        r->own = mem_calloc(1, sizeof(*r->own));
        r->own->epoll_fd = r->own->timer_fd = -1;
        r->own->seen = 1;
        if (open_parts(r, ctx, e) < 0) {
            rings_free(r);
            return NULL;
        }
        ctx->rings = r;
    }
    r->own->users++;
    return r;
}

void rings_put(struct rings *r)
{
    if (!r || --r->own->users)
        return;
    r->outside.ctx->rings = NULL;
    rings_free(r);
}

/* Waits that are under way. */
static void begin_waits(struct rings *r)
{
    struct outside *o = &r->outside;

    for (size_t i = 0; i < o->threads.n; i++) {
        struct outside_thread *t = o->threads.a[i];
        struct proctask st;
        uint64_t now = clock_monotonic();

        if (proctask_stat((pid_t)t->task.tgid, (pid_t)t->task.tid, &st) || !strchr("SDT", st.state))
            continue;
        t->state = OUTSIDE_BLOCKED;
        t->off_since = now;
        t->delay.gated = o->gated && t->task.tgid == o->gated;
    }
}

int rings_begin(struct rings *r, struct err *e)
{
    if (r->own->begun)
        return 0;
    r->own->begun = 1;
    outside_scan(&r->outside); /* disabled events don't tell of births and images: --delay */
    outside_begin(&r->outside);
    for (size_t i = 0; i < r->outside.threads.n; i++)
        wake_delay_begin(r->outside.threads.a[i]);
    sum_times(r, &r->own->user, &r->own->sys);
    perf_task_enable(&r->events, 1);
    begin_waits(r);
    return 0;
}

int rings_fd(struct rings *r)
{
    int fd = fcntl(r->own->epoll_fd, F_DUPFD_CLOEXEC, 0);

    if (fd >= 0)
        *vec_push(&r->own->fds) = fd;
    return fd;
}

/* Waits that aren't over. */
static void end_spans(struct rings *r, uint64_t now)
{
    struct outside *o = &r->outside;

    for (size_t i = 0; i < o->threads.n; i++) {
        struct outside_thread *t = o->threads.a[i];

        if (t->ended)
            continue;
        if (t->state == OUTSIDE_ON)
            left_cpu(r, t, now, OUTSIDE_UNKNOWN);
        sample_rest(r, t, now);
        wake_delay_end(o, t);
        if (t->state == OUTSIDE_BLOCKED && !t->delay.gated)
            outside_span(o, t, EVENT_OFFCPU, t->off_since, now - t->off_since,
                         looked(t, now) ? &t->spot : NULL, EVENT_OPEN);
        outside_spans_end(o, t, now);
        t->state = OUTSIDE_UNKNOWN;
    }
}

int rings_end(struct rings *r, struct err *e)
{
    uint64_t now = clock_monotonic();

    if (!r->own->begun)
        return 0;
    r->own->begun = 0;
    perf_task_enable(&r->events, 0);
    gather(r);
    r->own->seen = seen_share(r);
    apply_all(r, UINT64_MAX);
    end_spans(r, now);
    gils_turn(&r->outside.gils, UINT64_MAX);
    return 0;
}

void rings_ids(struct rings *x, struct store_visit *v)
{
    outside_ids(&x->outside, v);
    if (x->visited != v->pass)
        store_visit_string(v, &x->metric);
    x->visited = v->pass;
}

void rings_counters(struct rings *r)
{
    struct store *s = r->outside.ctx->store;
    uint64_t run;
    double seen = r->own->seen = seen_share(r);

    outside_counters(&r->outside);
    store_set_counter(s, "cpu.bpf_ns", 0); /* there is none */
    if (r->tick_ns)
        store_set_counter(s, "cpu.tick_ns", r->tick_ns * r->taken);
    run = store_counter(s, "target.cpu_ns", 0);
    store_set_counter(s, "cpu.taken", r->taken);
    store_set_counter(s, "cpu.lost", r->lost);
    store_set_counter(s, "cpu.python_late", r->python_late);
    store_set_counter(s, "cpu.expected",
                      r->events.period ? (uint64_t)((double)run * seen) / r->events.period : 0);
    if (!r->events.kernel)
        store_set_counter(s, "cpu.kernel_unseen_ns", (uint64_t)((double)run * (1 - seen)));
}
