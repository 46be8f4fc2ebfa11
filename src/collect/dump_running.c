/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that run: their registers are in a CPU. A perf event on each for a moment brings them, with a copy
 * of the stack; Python's frames are read as soon as it is there.
 */
#include "base/log.h"
#include "base/mem.h"
#include "collect/dump_job.h"
#include "platform/clock.h"
#include "platform/perf_task.h"

#include <poll.h>
#include <string.h>

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

/* The copied stack in front of live memory: what lies in it is of the sample's moment. */
struct overlay {
    const struct perf_task_sample *s;
    struct py_mem below;
};

static int overlay_read(void *ctx, uint64_t addr, void *dst, size_t n)
{
    struct overlay *v = ctx;

    if (addr >= v->s->regs.sp && addr - v->s->regs.sp < v->s->stack_n &&
        v->s->stack_n - (addr - v->s->regs.sp) >= n) {
        memcpy(dst, v->s->stack + (addr - v->s->regs.sp), n);
        return 0;
    }
    return py_mem_read(&v->below, addr, dst, n);
}

static int python_of(struct outside *o, struct outside_thread *t, struct process *p,
                     const struct perf_task_sample *s)
{
    struct overlay v = {s, outside_memory(o, p)};
    struct py_mem mem = {overlay_read, &v, NULL};

    return p->python ? outside_python(o, t, p, &mem) : 0;
}

/* python: the result of python_of(), 0 to leave its frames out. */
static uint32_t stack_of(struct outside *o, struct outside_thread *t, struct process *p,
                         const struct perf_task_record *rec, int python, uint16_t *flags)
{
    const struct perf_task_sample *from = &rec->sample;
    struct wire_sample *s = outside_record(o, t, rec->ts);

    s->flags = (uint16_t)(WIRE_TOP | WIRE_STACK_OLD | (from->user ? WIRE_USER : 0) |
                          (from->has_user ? 0 : WIRE_NO_MM) | (python < 0 ? WIRE_PY_ERROR : 0));
    if (python > 0 && o->python->walk.status == PY_FULL)
        s->flags |= WIRE_PY_FULL;
    s->regs = from->regs;
    s->kernel_n = (uint16_t)(from->kernel_n < WIRE_KERNEL_MAX ? from->kernel_n : WIRE_KERNEL_MAX);
    s->python_n = (uint16_t)(python > 0 ? o->python->walk.n : 0);
    s->stack_n = from->stack_n;
    outside_record_add(o, from->kernel, s->kernel_n * sizeof(*from->kernel));
    s = (struct wire_sample *)o->record.data;
    outside_record_add(o, o->python->frames, s->python_n * sizeof(struct py_frame));
    outside_record_add(o, from->stack, from->stack_n);
    return outside_record_end(o, p, flags);
}

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
    uint16_t flags;
    uint32_t id;
    int python;

    if (!out)
        return;
    p = outside_walked(o, t, rec->ts, &id);
    python = rec->sample.has_user ? python_of(o, t, p, &rec->sample) : 0;
    out->stack = stack_of(o, t, p, rec, python, &flags);
    out->flags = DUMP_SAMPLED | (flags & EVENT_ROOT ? DUMP_WHOLE : 0);
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
