/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/offcpu_before.h"

#include "base/log.h"
#include "base/mem.h"
#include "collect/blocked.h"
#include "model/event.h"
#include "platform/clock.h"
#include "platform/proctask.h"

#include <stdlib.h>
#include <unistd.h>

void offcpu_before_init(struct offcpu_before *b, struct trace *t, struct offcpu_threads *threads)
{
    *b = (struct offcpu_before){.trace = t, .threads = threads};
}

static void forget(struct offcpu_before *b)
{
    vec_release(&b->tids);
    b->next = 0;
    buf_release(&b->record);
    free(b->python);
    free(b->memory);
    free(b->stack);
    b->python = NULL;
    b->memory = NULL;
    b->stack = NULL;
}

void offcpu_before_release(struct offcpu_before *b)
{
    forget(b);
}

void offcpu_before_add(struct offcpu_before *b, uint32_t tid)
{
    *vec_push(&b->tids) = tid;
}

static int is_before(const struct offcpu_pending *p)
{
    return p->blocked.len && ((const struct wire_sample *)p->blocked.data)->pad & WIRE_BLOCKED_BEFORE;
}

int offcpu_before_end(struct offcpu_pending *p, uint16_t *flags)
{
    if (is_before(p))
        buf_clear(&p->blocked);
    *flags = p->before_flags;
    return p->before != 0;
}

/* 1: the thread is blocked where its registers say. */
static int stands(int fd, const struct wire_sample *s, struct proctask_call *call)
{
    return proctask_call(fd, call) == 1 && call->sp == s->regs.sp && call->pc == s->regs.ip;
}

/* As of outside_python(): the Python state's thread is pthread_self(), which the kernel's side has told. */
static int read_python(struct offcpu_before *b, struct process *p, const struct wire_sample *s)
{
    const struct process_python *x = p->python;
    const struct py_walk *w = &b->python->walk;
    struct py_cache none = {0};
    struct py_mem mem;

    if (!x || !s->task.thread_id)
        return 0;
    b->memory->pid = p->gone ? 0 : (pid_t)p->ns_tgid;
    py_process_forget(b->memory);
    mem = py_process_mem(b->memory);
    py_walk_thread(b->python, &mem, &x->target.layout, &x->target.proc, s->task.thread_id, &none);
    if (w->status == PY_NO_THREAD)
        return 0;
    return w->bad || (w->status != PY_DONE && w->status != PY_FULL) ? -1 : 1;
}

static uint32_t take(struct offcpu_before *b, struct process *p, const struct wire_sample *s, int python,
                     size_t n, uint16_t *flags)
{
    uint32_t id;

    buf_clear(&b->record);
    buf_add(&b->record, s, s->head.size);
    blocked_add(&b->record, (pid_t)s->task.ns_tgid, b->python, python, b->stack, n);
    id = stack_take(&b->trace->taker, p, (const struct wire_sample *)b->record.data, flags);
    *flags &= (uint16_t)~EVENT_FINISHED; /* they all are: it says nothing here */
    return id;
}

static uint32_t look_user(struct offcpu_before *b, const struct wire_sample *s, uint16_t *flags,
                          uint32_t *owner)
{
    uint32_t task, id = 0; /* the task is entered first: what is interned of a process names its leader */
    struct process *p = trace_task(b->trace, &s->task, s->head.ts, s->image, 0, &task);
    int fd = p && s->task.ns_tid ? proctask_open((pid_t)s->task.ns_tgid, (pid_t)s->task.ns_tid, "syscall")
                                 : -1,
        python;
    struct proctask_call call;

    if (fd < 0)
        return 0;
    if (stands(fd, s, &call)) {
        python = read_python(b, p, s);
        id = take(b, p, s, python, BLOCKED_COPY, flags);
        if (!(*flags & EVENT_ROOT))
            id = take(b, p, s, python, BLOCKED_COPY_MAX, flags);
        *owner = blocked_mutex_owner((pid_t)s->task.ns_tgid, &call);
        if (!stands(fd, s, &call))
            id = 0;
    }
    close(fd);
    return id;
}

static void look(struct offcpu_before *b, struct offcpu_pending *p)
{
    const struct wire_sample *s = (const struct wire_sample *)p->blocked.data;

    if (s->flags & WIRE_KTHREAD)
        p->before = stack_take(&b->trace->taker, NULL, s, &p->before_flags);
    else
        p->before = look_user(b, s, &p->before_flags, &p->before_owner);
}

void offcpu_before_look(struct offcpu_before *b, uint64_t ns)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

    if (!b->tids.n)
        return;
    if (!b->python) {
        b->python = mem_calloc(1, sizeof(*b->python));
        b->memory = py_process_new(0);
        b->memory->ahead = 1;
        b->stack = mem_alloc(BLOCKED_COPY_MAX);
    }
    while (b->next < b->tids.n && clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
        struct offcpu_pending *p = offcpu_pending_find(b->threads, b->tids.a[b->next++]);

        if (p && is_before(p))
            look(b, p);
    }
    log_debug("off-CPU: %zu of %zu threads that were blocked before were looked at", b->next, b->tids.n);
    if (b->next == b->tids.n)
        forget(b);
}
