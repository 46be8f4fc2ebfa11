/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is a futex one of CPython's GIL? For programs that run at a switch, where the current thread is the one
 * that goes to sleep.
 */
#ifndef WPROF_BPF_GIL_H
#define WPROF_BPF_GIL_H

#include "bpf/stack.h"

enum {
    GIL_RUNTIME = 4 << 20, /* no _PyRuntime is larger; from 3.12 on the main interpreter is part of it */
    GIL_INTERPRETERS = 8,  /* looked at from the newest on, for the main one's GIL */
};

/* A pointer of the current process; 0: there is none. */
static __always_inline __u64 gil_ptr(__u64 addr)
{
    __u64 v;

    return py_ptr(0, addr, &v) ? 0 : v;
}

/*
 * The GIL that the word at `at` is part of, 0: it is in none. Most futexes lie outside of _PyRuntime, and so
 * do the GILs of interpreters that have one of their own (3.12 on): there, only that of the thread's own
 * state comes into question.
 */
static __always_inline __u64 gil_find(const struct py_layout *lay, const struct py_proc *proc, __u32 tid,
                                      __u64 at)
{
    struct py_cache *cached;
    __u64 interp, gil;

    if (at - proc->runtime >= GIL_RUNTIME) {
        if (lay->flags & PY_LAYOUT_GIL_IN_RUNTIME)
            return 0;
        cached = bpf_map_lookup_elem(&py_threads, &tid);
        interp = cached && cached->ts ? gil_ptr(cached->ts + lay->ts_interp) : 0;
        gil = interp ? gil_ptr(interp + lay->gil) : 0;
        return gil && at - gil < lay->gil_size ? gil : 0;
    }
    if (lay->flags & PY_LAYOUT_GIL_IN_RUNTIME) {
        gil = proc->runtime + lay->gil;
        return at - gil < lay->gil_size ? gil : 0;
    }
    interp = gil_ptr(proc->runtime + lay->interp_head);
    for (int i = 0; i < GIL_INTERPRETERS && interp; i++) {
        gil = gil_ptr(interp + lay->gil);
        if (gil && at - gil < lay->gil_size)
            return gil;
        interp = gil_ptr(interp + lay->interp_next);
    }
    return 0;
}

/* How it is now. Its fields stand one after the other: last_holder, locked, switch_number. */
static __always_inline void gil_read(const struct py_layout *lay, __u64 gil, struct wire_gil *g)
{
    __u64 word[3];

    g->holder = 0;
    g->switches = g->locked = 0;
    if (walk_read(0, gil + lay->gil_holder, word, sizeof(word)))
        return;
    g->locked = (__u32)word[1] == 1;
    g->switches = (__u32)word[2];
    if (word[0])
        g->holder = gil_ptr(word[0] + lay->ts_thread_id);
}

#endif
