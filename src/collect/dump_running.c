/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that run: their registers are in a CPU. A perf event on each for a moment brings them, with a copy
 * of the stack; Python's frames are read as soon as it is there.
 */
#include "base/log.h"
#include "base/mem.h"
#include "collect/dump_job.h"
#include "collect/outside_sample.h"
#include "platform/clock.h"

#include <poll.h>

enum {
    HZ = 250,
    WAIT_MS = 100, /* for a sample of each: who runs has one after 4 ms on a CPU */
    THREADS_MAX = 256,
};

struct running {
    struct dump_job *j;
    struct perf_task events;
    struct err why; /* where events are refused */
    size_t missing; /* threads without a sample */
};

static struct dump_thread *wanted(struct running *r, uint32_t tid)
{
    for (size_t i = 0; i < r->j->d->threads.n; i++) {
        struct dump_thread *t = &r->j->d->threads.a[i];

        if (t->tid == tid && t->state == 'R' && !(t->flags & DUMP_SAMPLED))
            return t;
    }
    return NULL;
}

static void sampled(struct running *r, const struct perf_task_record *rec)
{
    struct outside *o = &r->j->o;
    struct outside_thread *t = outside_find(o, rec->tid);
    struct dump_thread *out = t ? wanted(r, rec->tid) : NULL;
    struct process *p;
    uint16_t flags, how = 0;
    uint32_t id, n = 0;

    if (!out)
        return;
    p = outside_walked(o, t, rec->ts, &id);
    if (p->python && rec->sample.has_user && outside_sample_python(o, t, p, &rec->sample, &how) > 0)
        n = o->python->walk.n;
    out->stack = outside_sample_stack(o, t, p, rec, o->python->frames, n, how, &flags);
    out->flags = (uint8_t)(DUMP_SAMPLED | (flags & EVENT_ROOT ? DUMP_WHOLE : 0) |
                           (flags & EVENT_GIL_HELD ? DUMP_GIL_HELD : 0));
    r->missing--;
}

static void take(struct running *r)
{
    struct perf_task_record rec;
    const uint8_t *p;
    size_t n;

    for (size_t i = 0; i < r->events.rings.n; i++)
        while ((p = perf_ring_raw(&r->events.rings.a[i], &n)))
            if (perf_task_parse(&r->events, p, n, &rec) && rec.kind == PERF_TASK_SAMPLE)
                sampled(r, &rec);
}

static int open_all(struct running *r)
{
    struct pfm_event ev;
    size_t n = 0;

    if (pfm_encode("cpu-clock", &ev, &r->why) || perf_task_init(&r->events, &ev, HZ, &r->why))
        return -1;
    for (size_t i = 0; i < r->j->d->threads.n && n < THREADS_MAX; i++) {
        if (r->j->d->threads.a[i].state != 'R')
            continue;
        if (perf_task_add(&r->events, (pid_t)r->j->d->threads.a[i].tid, &r->why) < 0)
            return -1;
        n++;
    }
    r->missing = n;
    return 0;
}

static void wait_for_samples(struct running *r)
{
    uint64_t end = clock_monotonic() + WAIT_MS * 1000000ull;
    VEC(struct pollfd) fds = {0};

    for (size_t i = 0; i < r->events.rings.n; i++)
        *vec_push(&fds) = (struct pollfd){.fd = r->events.rings.a[i].fd, .events = POLLIN};
    perf_task_enable(&r->events, 1);
    for (uint64_t now; r->missing && (now = clock_monotonic()) < end;) {
        poll(fds.a, fds.n, (int)((end - now) / 1000000) + 1);
        take(r);
    }
    perf_task_enable(&r->events, 0);
    vec_release(&fds);
}

void dump_running(struct dump_job *j)
{
    struct running r = {.j = j};

    if (!open_all(&r)) {
        j->d->tier = 'B';
        if (r.missing)
            wait_for_samples(&r);
    } else {
        log_debug("tier B: %s", r.why.msg);
    }
    perf_task_release(&r.events);
}
