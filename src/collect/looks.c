/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/looks.h"

#include "base/mem.h"
#include "model/metrics.h"
#include "model/store_visit.h"
#include "platform/clock.h"
#include "platform/perf_event.h"
#include "platform/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

/* Births and ends are looked for this often at most, however fast the looks are. */
#define SCAN_NS 10000000ull
/* How often a process's whole CPU time is read where threads of it end. */
#define CHECK_NS 50000000ull
/* Of start times in /proc: USER_HZ is 100. */
#define TICK_NS 10000000ull

struct looks_private {
    int timer_fd;
    int users, begun;
    VEC(int) fds; /* duplicates of timer_fd */
    uint64_t scanned_ns, begun_ns;
};

/* ---- figures of one thread ---- */

static int read_figures(struct looks *l, struct outside_thread *t, struct proctask_run *now)
{
    pid_t pid = (pid_t)t->task.tgid, tid = (pid_t)t->task.tid;
    struct proctask st;

    if (!l->by_ticks) {
        if (t->run_fd < 0)
            t->run_fd = proctask_open(pid, tid, "schedstat");
        return t->run_fd < 0 ? -1 : proctask_run(t->run_fd, now);
    }
    if (proctask_stat(pid, tid, &st))
        return -1;
    *now = (struct proctask_run){.run_ns = st.user_ns + st.sys_ns};
    now->slices = t->last.slices + (now->run_ns != t->last.run_ns);
    return 0;
}

/* ---- samples ---- */

/*
 * A sample stands for one period of CPU time, and one is due whenever the thread has run for another one. The
 * looks that find it running come at moments of its time on the CPU that are as good as any, so whatever it
 * ran since the last of them counts for where it is now.
 */
static uint64_t samples_due(struct looks *l, struct outside_thread *t)
{
    uint64_t n = t->owed_ns / l->period;

    t->owed_ns -= n * l->period;
    return n;
}

static void push_sample(struct looks *l, struct outside_thread *t, uint64_t ts, uint64_t n, uint32_t stack,
                        uint16_t flags)
{
    struct outside *o = &l->outside;
    struct event *ev;
    uint32_t id;

    outside_walked(o, t, ts, &id);
    l->taken += n;
    ev = vec_push(&o->ctx->store->events);
    *ev = (struct event){.ts = ts,
                         .value = n,
                         .task = id,
                         .stack = stack,
                         .metric = l->metric,
                         .cpu = METRIC_ANY_CPU,
                         .flags = flags,
                         .kind = EVENT_SAMPLE};
    gils_sample(&o->gils, ev);
}

/* Python frames alone; the native ones of a running thread can't be had. */
static uint32_t python_stack(struct looks *l, struct outside_thread *t, struct process *p, uint16_t gil,
                             uint64_t ts, uint16_t *flags)
{
    struct outside *o = &l->outside;
    const struct py_walk *w = &o->python->walk;
    struct wire_sample *s = outside_record(o, t, ts);
    uint32_t stack;

    s->status = WALK_ROOT;
    s->python_n = (uint16_t)w->n;
    s->flags = (uint16_t)(WIRE_USER | gil | (w->status == PY_FULL ? WIRE_PY_FULL : 0));
    outside_record_add(o, o->python->frames, w->n * sizeof(*o->python->frames));
    stack = outside_record_end(o, p, flags);
    *flags &= (uint16_t) ~(EVENT_ROOT | EVENT_USER); /* neither is known */
    return stack;
}

static void sample_running(struct looks *l, struct outside_thread *t, uint64_t ts)
{
    struct outside *o = &l->outside;
    uint64_t n = samples_due(l, t);
    uint32_t id, stack = 0;
    uint16_t flags = 0, gil = 0;
    struct process *p;
    int python = 0;

    if (!n || !l->sampling || outside_before_exec(o, t, n))
        return;
    p = outside_walked(o, t, ts, &id);
    outside_find_python(o, p, ts);
    for (int tries = 0; p->python && tries < 2; tries++) {
        struct py_mem mem = outside_memory(o, p);

        python = outside_python(o, t, p, &mem);
        if (python > 0)
            gil = outside_gil_held(o, t, p, &mem);
        if (python >= 0)
            break;
        o->stats.torn++;
    }
    if (python > 0 && o->python->walk.n)
        stack = python_stack(l, t, p, gil, ts, &flags);
    else
        l->native_only += n;
    if (python < 0)
        flags |= EVENT_PYTHON;
    push_sample(l, t, ts, n, stack ? stack : outside_marker(o, OUTSIDE_NATIVE), flags);
}

/* What it ran without being met running. The rests of many short-lived threads make samples together. */
static void sample_rest(struct looks *l, struct outside_thread *t, uint64_t rest, uint64_t ts)
{
    uint64_t n;

    l->rests_ns += rest;
    n = l->rests_ns / l->period;
    l->rests_ns -= n * l->period;
    if (n && l->sampling && !outside_before_exec(&l->outside, t, n))
        push_sample(l, t, ts, n, outside_marker(&l->outside, OUTSIDE_BETWEEN), 0);
}

/* ---- a look ---- */

static void list_spans(struct looks *l, struct outside_thread *t, const struct look_spans *s, uint16_t flags)
{
    outside_span(&l->outside, t, EVENT_OFFCPU, s->wait_ts, s->wait_ns, &t->spot, flags);
    outside_span(&l->outside, t, EVENT_OFFCPU, s->unseen_ts, s->unseen_ns, NULL, 0);
}

static void end_times(struct looks *l, struct outside_thread *t, uint64_t ts, int ended)
{
    struct look_spans spans;
    int open = !ended && look_times_waits(&t->times);

    look_times_end(&t->times, ts, ended, &spans);
    list_spans(l, t, &spans, open ? EVENT_OPEN : 0);
}

/* Its parent's figure of ended children will have its time; what was seen of it is not seen again. */
static void tell_parent(const struct looks *l, const struct outside_process *p)
{
    struct outside_process *parent = outside_find_process(&l->outside, p->parent);

    if (p->ended && parent)
        parent->children[1] += p->before_ns + p->seen_ns + p->children[0] + p->children[1];
}

static void ended(struct looks *l, struct outside_thread *t, uint64_t ts)
{
    struct outside_process *op = outside_find_process(&l->outside, t->task.tgid);

    if (op)
        op->thread_ended = 1;
    end_times(l, t, ts, 1);
    sample_rest(l, t, t->owed_ns, ts);
    outside_spans_end(&l->outside, t, ts);
    outside_ended(&l->outside, t, ts);
    if (op)
        tell_parent(l, op);
}

static void begin_process(struct outside_process *p)
{
    struct proctask st;

    if (proctask_stat((pid_t)p->pid, 0, &st))
        return;
    p->before_ns = st.user_ns + st.sys_ns;
    p->children[0] = st.children_ns;
}

/* Of p's and its children's time; what was not seen. */
static uint64_t unseen(uint64_t whole, uint64_t before, uint64_t *seen)
{
    uint64_t rest = whole > before + *seen ? whole - before - *seen : 0;

    *seen += rest;
    return rest;
}

/* What ended threads and children ran after they were last looked at, or without ever being met: the
 * process's whole times, to a clock tick, have it. Who starts others and waits for them runs meanwhile. */
static void check_whole(struct looks *l, struct outside_process *p, uint64_t ts)
{
    struct outside *o = &l->outside;
    struct outside_thread *leader = outside_find(o, p->pid);
    struct proctask st;
    uint64_t rest;

    if (p->ended || !leader || ts - p->checked_ns < CHECK_NS ||
        (!p->thread_ended && p->seen_ns == p->checked_run))
        return;
    p->thread_ended = 0;
    p->checked_ns = ts;
    if (proctask_stat((pid_t)p->pid, 0, &st))
        return;
    rest = unseen(st.user_ns + st.sys_ns, p->before_ns, &p->seen_ns);
    p->checked_run = p->seen_ns;
    rest += unseen(st.children_ns, p->children[0], &p->children[1]);
    o->ended_ns += rest;
    sample_rest(l, leader, rest, ts);
}

/* 1: blocked, where is in *spot if it may be read; 0: it runs, or could. */
static int is_blocked(struct looks *l, struct outside_thread *t, uint64_t ts, struct outside_spot *spot)
{
    int rc = outside_look(&l->outside, t, ts, spot);
    struct proctask st;

    if (rc >= 0)
        return !rc;
    return !proctask_stat((pid_t)t->task.tgid, (pid_t)t->task.tid, &st) && st.state != 'R';
}

/*
 * The first look at a thread that began meanwhile: its figures are of all its life, which began within a
 * clock tick of what /proc says; the tick's middle is right on average. Who was there before the recording,
 * and came under it now, begins here.
 */
static void meet(struct looks *l, struct outside_thread *t, uint64_t ts, const struct proctask_run *now)
{
    uint64_t birth = t->task.start - l->outside.boot_ns + TICK_NS / 2;

    if (birth < l->own->begun_ns) {
        t->last = *now;
        birth = ts;
    }
    look_times_begin(&t->times, birth < ts ? birth : ts);
}

static void look_at(struct looks *l, struct outside_thread *t, uint64_t ts)
{
    struct outside_process *op = outside_find_process(&l->outside, t->task.tgid);
    struct outside_spot spot = {0};
    struct look_figures f = {0};
    struct look_spans spans;
    struct proctask_run now;
    uint64_t run, delay;

    if (read_figures(l, t, &now)) {
        ended(l, t, ts);
        return;
    }
    if (!t->last_ts)
        meet(l, t, ts, &now);
    run = now.run_ns - t->last.run_ns;
    delay = now.delay_ns - t->last.delay_ns;
    if (!run && now.slices == t->last.slices && look_times_waits(&t->times)) {
        look_times_same(&t->times, ts); /* it waits on */
        return;
    }
    f.blocked = is_blocked(l, t, ts, &spot);
    f.run_ns = run;
    f.delay_ns = delay;
    look_times_add(&t->times, ts, &f, &spans);
    if (delay)
        outside_span(&l->outside, t, EVENT_RUNQ, ts - delay, delay, NULL, 0);
    list_spans(l, t, &spans, 0);
    if (f.blocked)
        t->spot = spot;
    t->run_ns += run;
    if (op)
        op->seen_ns += run;
    t->owed_ns += run;
    t->last = now;
    t->last_ts = ts;
    if (!f.blocked)
        sample_running(l, t, ts);
}

int looks_poll(struct looks *l, struct err *e)
{
    struct outside *o = &l->outside;
    uint64_t expirations, ts = clock_monotonic();

    if (read(l->own->timer_fd, &expirations, sizeof(expirations)) < 0)
        return errno == EAGAIN ? 0 : err_sys(e, errno, "timerfd");
    if (!l->own->begun)
        return 0;
    l->looks++;
    l->late += expirations - 1;
    if (ts - l->own->scanned_ns >= SCAN_NS - SCAN_NS / 8 || o->gated) {
        outside_follow_more(o);
        outside_scan(o);
        l->own->scanned_ns = ts;
    }
    for (size_t i = 0; i < o->threads.n; i++)
        if (!o->threads.a[i]->ended)
            look_at(l, o->threads.a[i], ts);
    for (size_t i = 0; i < o->processes.n; i++)
        check_whole(l, o->processes.a[i], ts);
    gils_turn(&o->gils, ts);
    outside_sweep(o);
    return 0;
}

/* ---- life ---- */

static int try_memory(const struct record_ctx *ctx, struct err *e)
{
    char c;
    struct iovec here = {&c, 1}, there = {NULL, 1};

    /* Nothing is at address 0, and who may read gets as far as that. */
    if (procfs_readv_memory(ctx->targets.a[0], &here, &there, 1) < 0 && errno != EFAULT)
        return err_sys(e, errno, "read memory of process %d", (int)ctx->targets.a[0]);
    return 0;
}

static int open_parts(struct looks *l, struct record_ctx *ctx, struct err *e)
{
    struct proctask_run run;
    int fd;

    if (outside_init(&l->outside, ctx, e) < 0 || try_memory(ctx, e) < 0 || outside_follow(&l->outside, e) < 0)
        return -1;
    l->own->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->own->timer_fd < 0)
        return err_sys(e, errno, "timerfd");
    fd = proctask_open(getpid(), getpid(), "schedstat");
    l->by_ticks = fd < 0 || proctask_run(fd, &run) < 0;
    if (fd >= 0)
        close(fd);
    l->period = perf_next_prime(1000000000u / ctx->frequency);
    l->metric = strtab_add(&ctx->store->strings, "cpu-time");
    free(ctx->meta->event);
    ctx->meta->event = mem_strdup("cpu-time");
    return 0;
}

static void looks_free(struct looks *l)
{
    outside_release(&l->outside);
    for (size_t i = 0; i < l->own->fds.n; i++)
        close(l->own->fds.a[i]);
    vec_release(&l->own->fds);
    if (l->own->timer_fd >= 0)
        close(l->own->timer_fd);
    free(l->own);
    free(l);
}

struct looks *looks_get(struct record_ctx *ctx, struct err *e)
{
    struct looks *l = ctx->looks;

    if (!l) {
        l = mem_calloc(1, sizeof(*l));
        l->own = mem_calloc(1, sizeof(*l->own));
        l->own->timer_fd = -1;
        if (open_parts(l, ctx, e) < 0) {
            looks_free(l);
            return NULL;
        }
        ctx->looks = l;
    }
    l->own->users++;
    return l;
}

void looks_put(struct looks *l)
{
    if (!l || --l->own->users)
        return;
    l->outside.ctx->looks = NULL;
    looks_free(l);
}

int looks_begin(struct looks *l, struct err *e)
{
    struct itimerspec every = {{0, (long)l->period}, {0, (long)l->period}};
    struct outside *o = &l->outside;
    uint64_t ts = clock_monotonic();

    if (l->own->begun)
        return 0;
    if (l->period >= 1000000000u)
        every = (struct itimerspec){{1, 0}, {1, 0}};
    if (timerfd_settime(l->own->timer_fd, 0, &every, NULL) < 0)
        return err_sys(e, errno, "timerfd");
    outside_scan(o); /* it may have run for a while: --delay */
    outside_begin(o);
    for (size_t i = 0; i < o->threads.n; i++) { /* what they did before doesn't count */
        struct outside_thread *t = o->threads.a[i];

        read_figures(l, t, &t->last);
        t->last_ts = ts;
        look_times_begin(&t->times, ts);
    }
    for (size_t i = 0; i < o->processes.n; i++)
        begin_process(o->processes.a[i]);
    l->own->begun = 1;
    l->own->begun_ns = ts;
    return 0;
}

int looks_fd(struct looks *l)
{
    int fd = fcntl(l->own->timer_fd, F_DUPFD_CLOEXEC, 0);

    if (fd >= 0)
        *vec_push(&l->own->fds) = fd;
    return fd;
}

int looks_end(struct looks *l, struct err *e)
{
    struct outside *o = &l->outside;
    uint64_t ts = clock_monotonic();

    if (!l->own->begun)
        return 0;
    l->own->begun = 0;
    for (size_t i = 0; i < o->threads.n; i++) {
        struct outside_thread *t = o->threads.a[i];

        if (t->ended)
            continue;
        look_at(l, t, ts);
        if (t->ended)
            continue;
        end_times(l, t, ts, 0);
        sample_rest(l, t, t->owed_ns, ts);
        outside_spans_end(o, t, ts);
    }
    for (size_t i = 0; i < o->processes.n; i++) {
        o->processes.a[i]->checked_ns = 0;
        o->processes.a[i]->thread_ended = 1;
        check_whole(l, o->processes.a[i], ts);
    }
    gils_turn(&o->gils, UINT64_MAX);
    return 0;
}

void looks_ids(struct looks *x, struct store_visit *v)
{
    outside_ids(&x->outside, v);
    if (x->visited != v->pass)
        store_visit_string(v, &x->metric);
    x->visited = v->pass;
}

void looks_counters(struct looks *l)
{
    struct store *s = l->outside.ctx->store;

    outside_counters(&l->outside);
    store_set_counter(s, "cpu.bpf_ns", 0); /* there is none */
    store_set_counter(s, "cpu.taken", l->taken);
    store_set_counter(s, "cpu.expected", store_counter(s, "target.cpu_ns", 0) / l->period);
    store_set_counter(s, "cpu.native_unseen", l->native_only);
    store_set_counter(s, "cpu.looks", l->looks);
    store_set_counter(s, "cpu.looks_late", l->late);
}
