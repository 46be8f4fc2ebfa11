/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/dump.h"

#include "base/log.h"
#include "base/mem.h"
#include "collect/dump_job.h"
#include "collect/dump_proc.h"
#include "collect/untaken.h"
#include "platform/clock.h"
#include "platform/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* At a thread that moves on meanwhile, at once; and once more with all others, so many times with a pause:
 * what wakes up every few ms, as for the GIL, waits for a CPU on a busy machine. */
enum { LOOKS = 3, LATE_LOOKS = 20, LATE_PAUSE_US = 2000 };

enum { FILES_SPARE = 8 }; /* descriptors that a look at one more thread takes at most */

/* ---- processes ---- */

/* Nothing is at address 0, and who may read gets as far as that. */
static int may_read(pid_t pid)
{
    char c;
    struct iovec here = {&c, 1}, there = {NULL, 1};

    return process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT;
}

static struct dump_process *add_process(struct dump_job *j, pid_t pid, int asked)
{
    struct dump_process *p = vec_push(&j->d->processes);
    struct proctask st = {.state = 'X'};
    struct buf command = {0};

    *p = (struct dump_process){.pid = (uint32_t)pid, .asked = (uint8_t)asked};
    proctask_stat(pid, 0, &st);
    p->ppid = (uint32_t)st.ppid;
    p->comm = dump_text(j, "%s", st.comm);
    dump_command(pid, &command);
    p->command = strtab_add(&j->d->store.strings, buf_str(&command));
    if (st.kernel_thread)
        p->note = dump_text(j, "a kernel thread");
    else if (st.state != 'Z' && st.state != 'X' && !may_read(pid)) {
        p->note = dump_text(j, "its memory may not be read");
        j->unread++;
    }
    buf_release(&command);
    return p;
}

static void add_processes(struct dump_job *j, const struct dump_how_to *how)
{
    pid_t self = getpid();

    for (size_t i = 0; i < how->n; i++) {
        if (kill(how->pids[i], 0) && errno != EPERM)
            log_warn("process %d: no such process", (int)how->pids[i]);
        else if (!dump_process(j->d, (uint32_t)how->pids[i]))
            add_process(j, how->pids[i], 1);
    }
    for (size_t i = 0; i < j->o.processes.n && !how->alone; i++)
        if (!dump_process(j->d, j->o.processes.a[i]->pid) && j->o.processes.a[i]->pid != (uint32_t)self)
            add_process(j, (pid_t)j->o.processes.a[i]->pid, 0);
}

/* ---- threads ---- */

static void set_stack(struct dump_thread *out, const struct outside_spot *spot)
{
    out->stack = spot->stack;
    out->flags |= (uint8_t)((spot->flags & EVENT_ROOT ? DUMP_WHOLE : 0) |
                            (spot->flags & EVENT_GIL_HELD ? DUMP_GIL_HELD : 0));
}

/* Of a wait in pieces, as for the GIL, only what it is for stays. */
static int same_call(const struct proctask_call *a, const struct proctask_call *b)
{
    return a->nr == b->nr && a->sp == b->sp && a->pc == b->pc && a->args[0] == b->args[0] &&
           a->args[1] == b->args[1];
}

static uint64_t slices_of(struct outside_thread *t)
{
    struct proctask_run run = {0};

    if (t->run_fd < 0)
        t->run_fd = proctask_open((pid_t)t->task.tgid, (pid_t)t->task.tid, "schedstat");
    return t->run_fd < 0 || proctask_run(t->run_fd, &run) ? 0 : run.slices;
}

/* 0: it is blocked, and all of it is in *out. -1: it runs, or would not stand still. */
static int look_blocked(struct dump_job *j, struct outside_thread *t, struct dump_thread *out)
{
    struct outside *o = &j->o;
    struct outside_spot spot = {0};
    struct proctask_call call, again;
    const struct wait *w;
    struct process *p;
    uint64_t ts = clock_monotonic();
    uint32_t id;

    t->named_ns = 0;
    j->slices.a[out - j->d->threads.a] = slices_of(t);
    if (outside_look(o, t, ts, &spot) || proctask_call(t->call_fd, &call) != 1)
        return -1;
    p = outside_walked(o, t, ts, &id);
    w = waits_get(&o->ctx->store->waits, spot.wait);
    out->reason = w ? w->reason : WAIT_UNKNOWN;
    out->what = w ? w->what : 0;
    out->wait_ns = dump_clock_off(j->clock, (pid_t)out->pid, (pid_t)out->tid, out->cpu);
    if (call.nr < 0 && (out->state == 'T' || out->state == 't'))
        out->reason = WAIT_UNKNOWN; /* it was stopped in the midst of its own work */
    dump_wait(j, t, p, &call, out);
    if (proctask_call(t->call_fd, &again) != 1 || !same_call(&call, &again)) {
        out->edges = 0;
        return -1;
    }
    set_stack(out, &spot);
    return 0;
}

/* Python frames alone: what can be had of a running thread. */
static void look_python(struct dump_job *j, struct outside_thread *t, struct dump_thread *out)
{
    struct outside *o = &j->o;
    uint64_t ts = clock_monotonic();
    struct wire_sample *s;
    struct process *p;
    uint16_t flags, gil = 0;
    uint32_t id;
    int rc = -1;

    p = outside_walked(o, t, ts, &id);
    for (int i = 0; i < LOOKS && rc < 0 && p->python; i++) {
        struct py_mem mem = outside_memory(o, p);

        rc = outside_python(o, t, p, &mem);
        if (rc > 0)
            gil = outside_gil_held(o, t, p, &mem);
    }
    out->flags |= (uint8_t)(DUMP_NO_NATIVE | (gil & WIRE_GIL_HELD ? DUMP_GIL_HELD : 0));
    if (rc <= 0 || !o->python->walk.n)
        return;
    s = outside_record(o, t, ts);
    s->status = WALK_ROOT;
    s->python_n = (uint16_t)o->python->walk.n;
    s->flags = WIRE_USER | (o->python->walk.status == PY_FULL ? WIRE_PY_FULL : 0);
    outside_record_add(o, o->python->frames, o->python->walk.n * sizeof(*o->python->frames));
    out->stack = outside_record_end(o, p, &flags);
}

static int blocked_state(char state)
{
    return state == 'S' || state == 'D' || state == 'T' || state == 't' || state == 'I' || state == 'R';
}

static void add_thread(struct dump_job *j, struct dump_process *p, uint32_t tid)
{
    struct outside_thread *t = outside_thread(&j->o, p->pid, tid, clock_monotonic());
    struct dump_thread *out;
    struct proctask st;
    int rc = -1;

    if (proctask_stat((pid_t)p->pid, (pid_t)tid, &st)) /* it has ended since */
        return;
    out = vec_push(&j->d->threads);
    *vec_push(&j->slices) = 0;
    *out = (struct dump_thread){.pid = p->pid, .tid = tid, .cpu = st.cpu, .state = st.state};
    out->comm = dump_text(j, "%s", st.comm);
    p->n++;
    if (p->note || st.state == 'Z' || st.state == 'X') {
        if (!st.kernel_thread)
            out->note = p->note ? p->note
                        : procfs_heir((pid_t)p->pid)
                            ? dump_text(j, "ended; the process goes on in its other threads")
                            : dump_text(j, "ended; its parent %d hasn't waited for it so far", st.ppid);
        if (st.kernel_thread) {
            out->flags |= DUMP_WHOLE;
            out->wait_ns = dump_clock_off(j->clock, (pid_t)out->pid, (pid_t)out->tid, out->cpu);
            dump_kernel_part(j, out);
        }
        return;
    }
    for (int i = 0; i < LOOKS && rc && blocked_state(out->state); i++) {
        rc = look_blocked(j, t, out);
        if (rc && !proctask_stat((pid_t)p->pid, (pid_t)tid, &st)) {
            out->state = st.state;
            out->cpu = st.cpu;
        }
    }
    if (rc) {
        if (out->state == 'S') /* it never stood still, or the kernel doesn't tell */
            out->state = 'R';
        look_python(j, t, out);
    }
    if (!rc)
        dump_kernel_part(j, out);
    if ((st.state == 'T' || st.state == 't') && (id_t)dump_tracer((pid_t)p->pid, (pid_t)tid))
        dump_add_edge(j, out, (uint32_t)dump_tracer((pid_t)p->pid, (pid_t)tid), 0, DUMP_TRACER);
}

static void add_threads(struct dump_job *j, uint32_t i)
{
    struct dump_process *p = &j->d->processes.a[i];
    struct pid_list ids = {0};

    p->first = (uint32_t)j->d->threads.n;
    proctask_threads((pid_t)p->pid, &ids);
    for (size_t k = 0; k < ids.list.n; k++)
        add_thread(j, p, (uint32_t)ids.list.a[k]);
    vec_release(&ids.list);
}

/* A wait for the GIL is cut up by its timeouts, which is no moving on. */
static int only_gil(const struct dump *d, const struct dump_thread *t)
{
    for (uint32_t i = 0; i < t->edges; i++)
        if (d->edges.a[t->edge + i].how != DUMP_GIL)
            return 0;
    return 1;
}

/* Threads were looked at one after the other: who ran since then may have let go of what another waits for.
 */
static void note_moved(struct dump_job *j)
{
    for (size_t i = 0; i < j->d->threads.n; i++) {
        struct dump_thread *out = &j->d->threads.a[i];
        struct outside_thread *t = out->edges ? outside_find(&j->o, out->tid) : NULL;

        if (t && !only_gil(j->d, out) && slices_of(t) != j->slices.a[i])
            out->flags |= DUMP_MOVED;
    }
}

/* Those that ran at first and weren't met running since. 1: some are left. */
static int look_again(struct dump_job *j)
{
    int left = 0;

    for (size_t i = 0; i < j->d->threads.n; i++) {
        struct dump_thread *out = &j->d->threads.a[i];
        struct outside_thread *t = outside_find(&j->o, out->tid);
        struct proctask st;

        if (out->state != 'R' || out->flags & DUMP_SAMPLED || !t)
            continue;
        if (look_blocked(j, t, out) || proctask_stat((pid_t)out->pid, (pid_t)out->tid, &st)) {
            left = 1;
            continue;
        }
        out->state = st.state == 'R' ? 'S' : st.state;
        out->flags = (uint8_t)(out->flags & ~DUMP_NO_NATIVE);
        dump_kernel_part(j, out);
    }
    return left;
}

static void note_python(struct dump_job *j, struct dump_process *p)
{
    const struct process *w = processes_find_ns(track_processes(j->o.track), p->pid);

    if (!w || !w->python)
        return;
    p->python = w->python->target.layout.version;
    p->free_threaded = !!(w->python->target.layout.flags & PY_LAYOUT_FREE_THREADED);
}

/* ---- the whole ---- */

static uint64_t now(void)
{
    return clock_monotonic();
}

static int check(const struct dump_how_to *how, struct err *e)
{
    for (size_t i = 0; i < how->n; i++)
        if (!kill(how->pids[i], 0) || errno == EPERM)
            return 0;
    if (how->n == 1)
        return err_set(e, "process %d: no such process", (int)how->pids[0]);
    return err_set(e, "none of the %zu processes is there: no such process", how->n);
}

static void name_others(struct dump_job *j)
{
    struct dump *d = j->d;

    for (size_t i = 0; i < d->edges.n; i++) {
        uint32_t pid = d->edges.a[i].pid;
        struct proctask st;
        size_t k = 0;

        while (k < d->others.n && d->others.a[k].pid != pid)
            k++;
        if (k == d->others.n && !dump_process(d, pid))
            *vec_push(&d->others) =
                (struct dump_other){pid, proctask_stat((pid_t)pid, 0, &st) ? 0 : dump_text(j, "%s", st.comm)};
    }
}

/* Threads and processes keep descriptors open until the end: with hardly one left then, there were some that
 * could not be looked at. */
static int is_out_of_files(void)
{
    int fds[FILES_SPARE], n = 0, out;

    while (n < FILES_SPARE && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    out = n < FILES_SPARE && (errno == EMFILE || errno == ENFILE);
    while (n)
        close(fds[--n]);
    return out;
}

static void say_unseen(struct dump_job *j)
{
    struct dump *d = j->d;
    int kernel = !access("/proc/self/stack", R_OK) && !geteuid();

    struct buf b = {0};

    if (d->tier == 'C')
        buf_addstr(&b, "native frames of running threads");
    if (!kernel)
        buf_addf(&b, "%sthe kernel's stacks of blocked threads (root)", b.len ? ", " : "");
    if (j->unread)
        buf_addf(&b, "%sthe memory of %u process%s (%s; wprof doctor says what else may be in the way)",
                 b.len ? ", " : "", j->unread, j->unread == 1 ? "" : "es", untaken_why());
    d->unseen = b.len ? buf_detach(&b) : NULL;
    buf_release(&b);
}

/* Tier A: the registers of those that are blocked, all of them. */
static int know_registers(struct dump_job *j)
{
    struct bpfside_regs all = {0};
    struct err why = {0};
    int rc = bpfside_regs(&all, &why);

    if (rc)
        log_debug("tier A: %s", why.msg);
    for (size_t i = 0; i < all.list.n; i++) {
        struct outside_thread *t = outside_find(&j->o, all.list.a[i].ns_tid);

        if (t)
            t->known = all.list.a[i].regs;
    }
    vec_release(&all.list);
    return rc;
}

static int take(struct dump_job *j, const struct dump_how_to *how, struct err *e)
{
    struct dump *d = j->d;
    int bpf;

    if (outside_init(&j->o, &j->ctx, e))
        return -1;
    outside_follow(&j->o, NULL);
    add_processes(j, how);
    bpf = (!how->tier || how->tier == 'A') && !know_registers(j);
    for (uint32_t i = 0; i < d->processes.n; i++)
        add_threads(j, i);
    if (how->tier != 'C')
        dump_running(j);
    for (int i = 0; i < LATE_LOOKS && look_again(j); i++)
        usleep(LATE_PAUSE_US);
    dump_pylocks_settle(j);
    note_moved(j);
    name_others(j);
    if (bpf && d->tier == 'B')
        d->tier = 'A';
    for (size_t i = 0; i < d->processes.n; i++)
        note_python(j, &d->processes.a[i]);
    d->out_of_files = (uint8_t)is_out_of_files();
    d->refused = j->o.stats.refused;
    d->torn = j->o.stats.torn;
    for (size_t i = 0; i < d->processes.n; i++)
        if (!d->processes.a[i].note || d->processes.a[i].n == 0 ||
            d->threads.a[d->processes.a[i].first].stack)
            return 0;
    return err_set(e, "process %u (%s) is there, but %s%s%s%s", d->processes.a[0].pid,
                   strtab_get(&d->store.strings, d->processes.a[0].comm),
                   strtab_get(&d->store.strings, d->processes.a[0].note), j->unread ? " (" : "",
                   j->unread ? untaken_why() : "",
                   j->unread ? "; wprof doctor says what else may be in the way)" : "");
}

int dump_take(struct dump *d, const struct dump_how_to *how, struct err *e)
{
    struct dump_job j = {.d = d};
    uint64_t begin = clock_monotonic();
    int rc;

    *d = (struct dump){.tier = 'C', .taken_ns = clock_ns(CLOCK_REALTIME)};
    if (check(how, e))
        return -1;
    j.ctx = (struct record_ctx){.store = &d->store, .meta = &j.meta, .now = now, .start_mono = begin};
    for (size_t i = 0; i < how->n; i++)
        *vec_push(&j.ctx.targets) = how->pids[i];
    j.clock = dump_clock_new();
    rc = take(&j, how, e);
    say_unseen(&j);
    d->took_ns = clock_monotonic() - begin;
    dump_pythons_release(&j);
    dump_clock_free(j.clock);
    outside_release(&j.o);
    meta_release(&j.meta);
    vec_release(&j.slices);
    vec_release(&j.ctx.targets);
    return rc;
}
