/* SPDX-License-Identifier: Apache-2.0 */
/* The GIL, from outside: is it what a blocked thread waits for, who has it, has this thread. */
#include "collect/outside.h"

#include <sys/syscall.h>

static int word_at(const struct py_mem *mem, uint64_t addr, uint64_t *v)
{
    *v = 0;
    return py_mem_read(mem, addr, v, sizeof(*v));
}

/* The GIL of t's Python state; of any of its process where t's is not known. -1: there is none to be had. */
static int find_gil(struct outside *o, const struct outside_thread *t, const struct process *p,
                    const struct py_mem *mem, struct py_gil *g)
{
    const struct process_python *x = p->python;
    const struct outside_process *op = outside_find_process(o, t->task.tgid);
    uint64_t ts = t->python.ts;

    if (!x || x->target.layout.flags & PY_LAYOUT_FREE_THREADED)
        return -1;
    if (!ts && op && op->python.n)
        ts = op->python.a[op->python.n - 1].ts; /* the oldest: the main interpreter's */
    if (!ts && !(x->target.layout.flags & PY_LAYOUT_GIL_IN_RUNTIME))
        return -1;
    return py_walk_gil(g, mem, &x->target.layout, &x->target.proc, ts);
}

/* So that a holder that was not looked at has a name. */
static void note_holder(struct outside *o, struct outside_thread *t, uint64_t thread_id, uint64_t ts)
{
    const struct outside_process *op = outside_find_process(o, t->task.tgid);
    struct wire_task who;
    uint64_t own = 0;

    for (size_t i = 0; op && i < op->python.n && !own; i++)
        own = op->python.a[i].thread_id == thread_id ? op->python.a[i].native_id : 0;
    for (size_t i = 0; i < o->threads.n; i++) {
        const struct outside_thread *h = o->threads.a[i];

        if (h->ended || h->task.tgid != t->task.tgid ||
            (h->python_id != thread_id && (!own || h->own_tid != own)))
            continue;
        who = h->task;
        who.thread_id = thread_id;
        gils_note(&o->gils, &who, who_task(&o->who, &h->task, ts));
        return;
    }
}

int outside_gil(struct outside *o, struct outside_thread *t, const struct process *p,
                const struct py_mem *mem, const struct proctask_call *call, uint64_t ts, struct wire_gil *out)
{
    const struct process_python *x = p->python;
    struct py_gil g;
    uint64_t switches, holder;

    if (call->nr != SYS_futex || find_gil(o, t, p, mem, &g) ||
        call->args[0] - g.addr >= x->target.layout.gil_size)
        return 0;
    *out = (struct wire_gil){.locked = g.locked};
    word_at(mem, g.addr + x->target.layout.gil_holder + 16, &switches);
    out->switches = (uint32_t)switches;
    if (g.holder && !word_at(mem, g.holder + x->target.layout.ts_thread_id, &holder) && holder) {
        out->holder = holder;
        note_holder(o, t, holder, ts);
    }
    t->task.thread_id = t->python_id;
    return 1;
}

uint16_t outside_gil_held(struct outside *o, const struct outside_thread *t, const struct process *p,
                          const struct py_mem *mem)
{
    struct py_gil g;

    if (!t->python.ts || find_gil(o, t, p, mem, &g))
        return 0;
    return WIRE_GIL_READ | (g.locked && g.holder == t->python.ts ? WIRE_GIL_HELD : 0);
}
