/* SPDX-License-Identifier: Apache-2.0 */
/* The walker of bpf/walk_python.h over any memory: live processes and recordings. */
#ifndef WPROF_UNWIND_PY_WALK_H
#define WPROF_UNWIND_PY_WALK_H

#include "base/err.h"
#include "unwind/py_layout.h"
#include "unwind/py_mem.h"

#include <stdint.h>

struct py_stack {
    struct py_walk walk;                  /* walk.status, walk.n, walk.bad */
    struct py_frame frames[PY_MAX_DEPTH]; /* innermost first */
};

/*
 * The Python stack of the thread whose pthread_self(), which is its fsbase, is thread_id. cache may be NULL.
 * Never fails: st->walk.status says how it ended. The target runs on meanwhile, so a frame may be one that
 * just ended.
 */
void py_walk_thread(struct py_stack *st, const struct py_mem *mem, const struct py_layout *lay,
                    const struct py_proc *proc, uint64_t thread_id, struct py_cache *cache);

/* Copies the names of a frame's code object as BPF does; a kind of 0 is one that could not be read. */
void py_walk_names(const struct py_mem *mem, const struct py_layout *lay, const struct py_frame *f,
                   struct py_str *name, struct py_str *file);

struct py_thread {
    uint64_t ts, thread_id;
    uint64_t native_id; /* the thread's id in its own pid namespace; 0: not known */
};

/* Lists at most max thread states of all interpreters. Returns how many there were, -1 when they can't be
 * read. */
int py_walk_list(struct py_thread *out, int max, const struct py_mem *mem, const struct py_layout *lay,
                 const struct py_proc *proc);

/* The GIL that thread state ts runs under. -1: it can't be read, or there is none so far. */
int py_walk_gil(struct py_gil *g, const struct py_mem *mem, const struct py_layout *lay,
                const struct py_proc *proc, uint64_t ts);

/*
 * Are the structures where `lay` says? Looks at the newest interpreter and its newest thread state. 1: yes.
 * 0: the interpreter isn't initialised yet, ask again later. -1: no, or memory can't be read, as `e` says.
 */
int py_walk_check(const struct py_mem *mem, const struct py_layout *lay, const struct py_proc *proc,
                  struct err *e);

#endif
