/* SPDX-License-Identifier: Apache-2.0 */
/* Python stacks, and where blocked threads are, from outside. */
#include "collect/outside.h"

#include "collect/blocked.h"
#include "collect/wait_class.h"
#include "platform/clock.h"
#include "platform/procfs.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* A thread without a Python state is looked for again after so long; its name is read again. */
#define AGAIN_NS 200000000ull

/* A list of states that is no older than this is of now. */
#define LISTED_NS 1000000ull

/* ---- Python ---- */

struct py_mem outside_memory(struct outside *o, const struct process *p)
{
    struct py_process **at = &o->memory[p->ns_tgid % OUTSIDE_MEMORIES];

    if (!*at) {
        *at = py_process_new(0);
        (*at)->ahead = 1;
    }
    (*at)->pid = p->gone ? 0 : (pid_t)p->ns_tgid;
    py_process_forget(*at);
    return py_process_mem(*at);
}

static uint64_t search(const struct outside_process *p, uint32_t tid)
{
    for (size_t i = 0; i < p->python.n; i++)
        if (p->python.a[i].native_id == tid)
            return p->python.a[i].thread_id;
    return 0;
}

static void list_states(struct outside_process *p, const struct process_python *x, const struct py_mem *mem)
{
    int n = py_walk_list(NULL, 0, mem, &x->target.layout, &x->target.proc);

    vec_clear(&p->python);
    if (n <= 0)
        return;
    vec_reserve(&p->python, (size_t)n);
    n = py_walk_list(p->python.a, n, mem, &x->target.layout, &x->target.proc);
    p->python.n = n > 0 && (size_t)n <= p->python.cap ? (size_t)n : 0;
}

static int find_state(struct outside *o, struct outside_thread *t, struct process *p,
                      const struct py_mem *mem)
{
    struct outside_process *op = outside_find_process(o, t->task.tgid);
    uint64_t now = clock_monotonic();

    if (!op || now - t->python_none_ns < AGAIN_NS)
        return 0;
    t->python_id = search(op, t->own_tid);
    if (!t->python_id && now - op->python_ns >= LISTED_NS) {
        list_states(op, p->python, mem);
        op->python_ns = now;
        t->python_id = search(op, t->own_tid);
    }
    if (!t->python_id)
        t->python_none_ns = now;
    return t->python_id != 0;
}

int outside_python(struct outside *o, struct outside_thread *t, struct process *p, const struct py_mem *mem)
{
    const struct process_python *x = p->python;
    struct py_walk *w = &o->python->walk;

    w->n = 0;
    if (!x || (!t->python_id && !find_state(o, t, p, mem)))
        return 0;
    py_walk_thread(o->python, mem, &x->target.layout, &x->target.proc, t->python_id, &t->python);
    if (w->status == PY_NO_THREAD) { /* it has ended, or there is a new image */
        t->python_id = 0;
        t->python = (struct py_cache){0};
        return 0;
    }
    return w->bad || (w->status != PY_DONE && w->status != PY_FULL) ? -1 : 1;
}

/* ---- the record that stack_take() wants ---- */

struct wire_sample *outside_record(struct outside *o, const struct outside_thread *t, uint64_t ts)
{
    struct wire_sample s = {.head = {.type = WIRE_SAMPLE, .ts = ts}, .task = t->task, .status = WALK_NOTABLE};

    buf_clear(&o->record);
    buf_add(&o->record, &s, sizeof(s));
    return (struct wire_sample *)o->record.data;
}

struct wire_sample *outside_record_add(struct outside *o, const void *p, size_t n)
{
    buf_add(&o->record, p, n);
    return (struct wire_sample *)o->record.data;
}

uint32_t outside_record_end(struct outside *o, struct process *p, uint16_t *flags)
{
    struct wire_sample *s = (struct wire_sample *)o->record.data;
    uint32_t id;

    s->head.size = (uint32_t)o->record.len;
    id = stack_take(&o->taker, p, s, flags);
    *flags &= (uint16_t)~EVENT_FINISHED; /* they all are: it says nothing here */
    return id;
}

/* ---- blocked threads ---- */

static uint32_t mode_of(const struct outside_thread *t, int fd, __u64 *ino)
{
    struct stat st;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/fd/%d", t->task.tgid, fd);
    if (stat(path, &st))
        return 0;
    *ino = st.st_ino;
    return st.st_mode;
}

static void of_descriptor(const struct outside *o, const struct outside_thread *t, struct wire_wait *w,
                          int fd, int by_mode)
{
    uint32_t by;

    if (fd < 0)
        return;
    w->fd = fd;
    w->mode = mode_of(t, fd, &w->ino);
    by = o->classes.of_mode[w->mode >> 12 & 15];
    if (by_mode && by)
        w->reason = by;
}

/* As the kernel's side does it (bpf/sched.bpf.c), from the registers that /proc shows. */
static void classify(const struct outside *o, const struct outside_thread *t,
                     const struct proctask_call *call, char state, struct wire_wait *w)
{
    uint32_t class = call->nr >= 0 && call->nr < WIRE_OFF_SYSCALLS ? o->classes.of_syscall[call->nr]
                     : call->nr < 0                                ? o->classes.fault
                                                                   : o->classes.other;
    struct pollfd poll;

    *w = (struct wire_wait){.syscall = call->nr, .fd = -1};
    w->reason = class & 15;
    if (call->nr >= 0) {
        w->arg0 = call->args[0];
        w->arg1 = call->args[1];
    }
    if (class & WIRE_OFF_FD)
        of_descriptor(o, t, w, (int)call->args[0], w->reason == WAIT_OTHER);
    else if (class & WIRE_OFF_POLLFD && call->args[1] == 1 &&
             procfs_read_memory((pid_t)t->task.tgid, call->args[0], &poll, sizeof(poll)) == sizeof(poll))
        of_descriptor(o, t, w, poll.fd, 0);
    else if (class & WIRE_OFF_EPOLL)
        w->fd = (int)call->args[0];
    if (state == 'D' && call->nr >= 0 && w->reason == WAIT_OTHER)
        w->reason = o->classes.disk;
    w->state = state == 'D' ? 2 : 1; /* TASK_UNINTERRUPTIBLE, TASK_INTERRUPTIBLE */
}

static int call_says(const struct outside *o, const struct proctask_call *call)
{
    return call->nr >= 0 && call->nr < WIRE_OFF_SYSCALLS &&
           (o->classes.of_syscall[call->nr] & 15) != WAIT_OTHER;
}

static uint32_t wait_of(struct outside *o, struct outside_thread *t, const struct process *p,
                        const struct proctask_call *call, const struct outside_spot *spot, uint64_t ts)
{
    struct proctask st = {.state = 'S'};
    struct wire_wait w;
    struct wait wait = {0};

    /* The state tells a disk from other waits where the call doesn't; names change rarely. */
    if (!call_says(o, call) || ts - t->named_ns > AGAIN_NS) {
        if (!proctask_stat((pid_t)t->task.tgid, (pid_t)t->task.tid, &st))
            outside_rename(o, t, st.comm, ts);
        t->named_ns = ts;
    }
    classify(o, t, call, st.state, &w);
    if (w.reason == WAIT_FUTEX && !spot->at_gil)
        w.owner = blocked_mutex_owner((pid_t)t->task.tgid, call);
    wait.reason = (uint8_t)(spot->at_gil ? WAIT_GIL : w.reason);
    wait.what = spot->at_gil ? gils_name(&o->gils, &t->task, &spot->gil) : wait_name(&o->namer, p, &w);
    if (!spot->at_gil)
        outside_infer_waker(o, p, &w, ts, &wait);
    return waits_add(&o->ctx->store->waits, &wait);
}

static int same_place(const struct proctask_call *a, const struct proctask_call *b)
{
    return a->nr == b->nr && a->sp == b->sp && a->pc == b->pc;
}

/* A blocked thread that is looked at. */
struct look {
    struct outside *o;
    struct outside_thread *t;
    struct process *p;
    struct proctask_call call;
    int python;   /* as of outside_python() */
    uint16_t gil; /* as of outside_gil_held() */
    uint64_t ts;
};

/* Its stack, of which n bytes are copied. */
static uint32_t walk_blocked(const struct look *l, size_t n, uint16_t *flags)
{
    const struct proctask_call *call = &l->call;
    const struct outside_thread *t = l->t;
    struct outside *o = l->o;
    struct wire_sample *s = outside_record(o, t, l->ts);

    s->regs = (struct walk_regs){.ip = call->pc, .sp = call->sp}; /* no rbp there: see walk_user.h */
    if (t->known.sp == call->sp && t->known.ip == call->pc)
        s->regs = t->known;
    s->flags |= WIRE_TOP | l->gil;
    blocked_add(&o->record, (pid_t)t->task.tgid, o->python, l->python, o->stack, n);
    return outside_record_end(o, l->p, flags);
}

/* A second time with all of it where a part does not reach the thread's start. */
static uint32_t stack_of(const struct look *l, uint16_t *flags)
{
    uint32_t stack = walk_blocked(l, BLOCKED_COPY, flags);

    if (*flags & EVENT_ROOT)
        return stack;
    if (l->ts - l->p->rescan_ns >= AGAIN_NS) { /* a caller may be in what was loaded since */
        l->p->stale = 1;
        track_rescan(l->o->track, l->p);
    }
    return walk_blocked(l, BLOCKED_COPY_MAX, flags);
}

/* Is the place a known mapping's? Nobody tells tier C of new ones, and what a young process has loaded since
 * its mappings were read is where it waits first. */
static void know_place(struct outside *o, struct process *p, uint64_t pc)
{
    if (process_lookup(p, pc))
        return;
    p->stale = 1;
    track_rescan(o->track, p);
}

int outside_look(struct outside *o, struct outside_thread *t, uint64_t ts, struct outside_spot *spot)
{
    struct look l = {.o = o, .t = t, .ts = ts};
    struct outside_spot now = {0};
    struct proctask_call again;
    struct py_mem mem;
    uint32_t id;
    int rc;

    if (t->call_fd < 0)
        t->call_fd = proctask_open((pid_t)t->task.tgid, (pid_t)t->task.tid, "syscall");
    rc = t->call_fd < 0 ? -1 : proctask_call(t->call_fd, &l.call);
    if (rc <= 0) {
        o->stats.refused += rc < 0;
        return rc < 0 ? -1 : 1;
    }
    if (!l.call.pc) /* in execve(2), before the new program's registers are set */
        return 1;
    l.p = outside_walked(o, t, ts, &id);
    know_place(o, l.p, l.call.pc);
    mem = outside_memory(o, l.p);
    l.python = outside_python(o, t, l.p, &mem);
    l.gil = l.python > 0 ? outside_gil_held(o, t, l.p, &mem) : 0;
    now.at_gil = (uint8_t)outside_gil(o, t, l.p, &mem, &l.call, ts, &now.gil);
    now.stack = stack_of(&l, &now.flags);
    if (proctask_call(t->call_fd, &again) != 1 || !same_place(&l.call, &again)) {
        o->stats.torn++;
        return 1;
    }
    if (now.at_gil)
        now.stack = gils_stack(&o->gils, now.stack);
    now.wait = wait_of(o, t, l.p, &l.call, &now, ts);
    o->stats.gil_looks += now.at_gil;
    *spot = now;
    return 0;
}
