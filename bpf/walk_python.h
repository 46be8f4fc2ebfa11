/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walking CPython's frames, 3.8 to 3.14, from BPF, from another process or over a recording. The includer
 * defines walk_read(mem, addr, dst, size) first: 0, or not 0 when it can't be read; `mem` is handed through.
 *
 * A walk: py_begin(); where that gives 1, py_find() until it gives 0, at most PY_MAX_SEARCH times;
 * py_found(); then py_step() until it gives 0, at most 2 * PY_MAX_DEPTH times. Each call does a bounded
 * amount of work, so the loops may be bpf_loop() or tail calls.
 *
 * Then frames[0..w->n) are the thread's Python frames, innermost first, and w->status says how it ended
 * (PY_RUNNING: the includer's loop ended early). Offsets into the scratch chunk are masked: a wrong layout
 * gives wrong frames, never an access outside of it.
 */
#ifndef WPROF_BPF_WALK_PYTHON_H
#define WPROF_BPF_WALK_PYTHON_H

#include "bpf/py.h"

#define PY_INLINE static inline __attribute__((always_inline, unused))

/* Makes the compiler forget what it knows of a value, so that a check after it is done in all 64 bits. */
#define PY_OPAQUE(x) __asm__ volatile("" : "+r"(x))

PY_INLINE __u64 py_u64(const struct py_walk *w, __u32 off)
{
    return *(const __u64 *)(w->chunk + (off & (PY_CHUNK - 8)));
}

PY_INLINE __u32 py_u32(const struct py_walk *w, __u32 off)
{
    return *(const __u32 *)(w->chunk + (off & (PY_CHUNK - 4)));
}

PY_INLINE __u8 py_u8(const struct py_walk *w, __u32 off)
{
    return w->chunk[off & (PY_CHUNK - 1)];
}

PY_INLINE struct py_frame *py_frame_at(struct py_frame *frames, __u32 i)
{
    __u64 at = i;

    PY_OPAQUE(at);
    return &frames[at & (PY_MAX_DEPTH - 1)];
}

PY_INLINE int py_ptr(void *mem, __u64 addr, __u64 *out)
{
    *out = 0;
    return walk_read(mem, addr, out, sizeof(*out));
}

PY_INLINE int py_fail(struct py_walk *w)
{
    w->status = PY_READ;
    w->frame = 0;
    return 0;
}

/* The chunk holds a thread state: where its frames begin. -1 when that can't be read. */
PY_INLINE int py_first(void *mem, const struct py_layout *lay, struct py_walk *w)
{
    w->cframe = lay->ts_cframe ? py_u64(w, lay->ts_cframe) : 0;
    if (!(lay->flags & PY_LAYOUT_FRAME_IN_CFRAME)) {
        w->frame = py_u64(w, lay->ts_frame);
        return 0;
    }
    w->frame = 0;
    if (!w->cframe) /* being set up or torn down */
        return 0;
    return py_ptr(mem, w->cframe + lay->cframe_frame, &w->frame) ? -1 : 0;
}

/* Reads what interpreter w->interp has: its newest thread state into *head, the next interpreter. */
PY_INLINE int py_interp(void *mem, const struct py_layout *lay, struct py_walk *w, __u64 *head)
{
    __u32 len = lay->interp_threads - lay->interp_next + 8;

    w->older = 0;
    *head = 0;
    if (len > PY_INTERP_READ)
        len = PY_INTERP_READ;
    if (walk_read(mem, w->interp + lay->interp_next, w->chunk, len))
        return -1;
    w->older = py_u64(w, 0);
    *head = py_u64(w, lay->interp_threads - lay->interp_next);
    return 0;
}

/*
 * Is the cached thread state still this thread's, and of the newest interpreter? Freed ones keep their
 * thread_id, so it must also be linked in.
 */
PY_INLINE int py_cached(void *mem, const struct py_layout *lay, struct py_walk *w, __u64 ts)
{
    __u64 prev, link;

    if (walk_read(mem, ts, w->chunk, PY_TSTATE_READ) || py_u64(w, lay->ts_thread_id) != w->thread_id ||
        py_u64(w, lay->ts_interp) != w->interp)
        return 0;
    prev = py_u64(w, lay->ts_prev);
    link = w->head;
    if (prev && py_ptr(mem, prev + lay->ts_next, &link))
        return 0;
    return link == ts && !py_first(mem, lay, w);
}

/* Is thread state `ts` this thread's? The newest one is linked in before its thread writes its id there, so
 * that not to have been found says nothing about it. */
PY_INLINE int py_is_mine(void *mem, const struct py_layout *lay, const struct py_walk *w, __u64 ts)
{
    __u64 id;

    return ts && !py_ptr(mem, ts + lay->ts_thread_id, &id) && id == w->thread_id;
}

/* Starts a walk. Returns 1 when thread states must be searched: call py_find(). */
PY_INLINE int py_begin(void *mem, const struct py_layout *lay, const struct py_proc *proc, struct py_walk *w,
                       __u64 thread_id, const struct py_cache *cache)
{
    w->thread_id = thread_id;
    w->ts = w->frame = w->cframe = w->next_ts = w->idle_ts = w->older = w->head = 0;
    w->code = w->name = w->filename = 0;
    w->n = w->bad = w->searched = 0;
    w->status = PY_RUNNING;
    if (py_ptr(mem, proc->runtime + lay->interp_head, &w->interp))
        return py_fail(w);
    if (!w->interp) /* not initialised yet, or finalised */
        return 0;
    if (py_interp(mem, lay, w, &w->head))
        return py_fail(w);
    /* There was none, and no state came since; of several interpreters only the newest is known not to have
     * one. */
    if (cache && !cache->ts && cache->head == w->head && !w->older && !py_is_mine(mem, lay, w, w->head))
        return 0;
    if (cache && cache->ts && py_cached(mem, lay, w, cache->ts)) {
        if (w->frame)
            w->ts = cache->ts;
        else
            w->idle_ts = cache->ts; /* an older interpreter's may have frames */
        return !w->frame;
    }
    w->frame = 0;
    w->next_ts = w->head;
    return 1;
}

/*
 * Looks at one thread state of the search. 1: go on. 0: found, w->frame is not 0; or there is none.
 * Interpreters come newest first: a thread that runs code of a subinterpreter has a state with frames in an
 * older one as well, further out.
 */
PY_INLINE int py_find(void *mem, const struct py_layout *lay, const struct py_proc *proc, struct py_walk *w)
{
    __u64 ts = w->next_ts;

    if (w->searched >= PY_MAX_SEARCH) {
        w->status = PY_FULL;
        return 0;
    }
    if (!ts) {
        if (!w->older)
            return 0;
        w->interp = w->older;
        if (py_interp(mem, lay, w, &w->next_ts))
            return py_fail(w);
        w->searched++;
        return 1;
    }
    w->searched++;
    if (walk_read(mem, ts, w->chunk, PY_TSTATE_READ))
        return py_fail(w);
    w->next_ts = py_u64(w, lay->ts_next);
    if (py_u64(w, lay->ts_thread_id) != w->thread_id)
        return 1;
    if (py_first(mem, lay, w))
        return py_fail(w);
    if (!w->frame) {
        w->idle_ts = ts;
        return 1;
    }
    w->next_ts = 0; /* the same thread has one state an interpreter */
    if (!w->ts)
        w->ts = ts;
    return 0;
}

/* Ends the search: settles which thread state it is, and remembers it. */
PY_INLINE void py_found(const struct py_layout *lay, struct py_walk *w, struct py_cache *cache)
{
    if (!w->ts)
        w->ts = w->idle_ts;
    if (!w->ts && w->status == PY_RUNNING)
        w->status = PY_NO_THREAD;
    if (cache && w->status != PY_READ && w->status != PY_FULL) {
        cache->ts = w->ts;
        cache->head = w->head;
    }
}

/* What a frame's chunk says of where it stands, before the chunk is used for its code object. */
struct py_position {
    __u64 instr; /* the instruction, or its index */
    __u32 copy;  /* which of the bytecode's copies */
};

/* f->lasti, of f->code. */
PY_INLINE void py_lasti(void *mem, const struct py_layout *lay, struct py_frame *f,
                        const struct py_position *at)
{
    __u64 start = f->code + lay->code_start, copies = 0;

    if (lay->flags & PY_LAYOUT_LASTI) {
        f->lasti = (__s32)((__u32)at->instr * lay->lasti_unit);
        return;
    }
    if (lay->code_tlbc) { /* free-threaded 3.14: { Py_ssize_t size; char *entries[size]; } */
        start = 0;
        if (!py_ptr(mem, f->code + lay->code_tlbc, &copies) && copies && at->copy < (1u << 20))
            py_ptr(mem, copies + 8 + 8 * (__u64)at->copy, &start);
    }
    f->lasti = -2;
    if (start && at->instr + 2 == start) /* 3.11 and 3.12 point before what comes next */
        return;
    if (!start || at->instr < start || at->instr - start >= (1u << 30))
        f->flags |= PY_FRAME_LINE_UNSURE;
    else
        f->lasti = (__s32)(at->instr - start);
}

/* The frame that is in the chunk begins a run: where its eval loop's C frame is, as far as that can be told.
 */
PY_INLINE __u64 py_entry_addr(void *mem, const struct py_layout *lay, struct py_walk *w)
{
    __u64 addr = w->cframe;

    if (addr && py_ptr(mem, addr + lay->cframe_prev, &w->cframe))
        w->cframe = 0;
    return addr;
}

/* The eval loop's own frame at w->frame: the run that it began is complete. */
PY_INLINE void py_shim(struct py_walk *w, struct py_frame *frames)
{
    struct py_frame *f = py_frame_at(frames, w->n - 1);

    if (!w->n || (f->flags & PY_FRAME_ENTRY))
        return;
    f->flags |= PY_FRAME_ENTRY;
    f->addr = w->frame;
}

/* Reads f->code. -1: it is no code object, or none of a function of anybody's. last: the frame before. */
PY_INLINE int py_code(void *mem, const struct py_layout *lay, const struct py_proc *proc, struct py_walk *w,
                      struct py_frame *f, const struct py_frame *last)
{
    __u64 own;

    if (w->code == f->code) { /* recursion */
        f->firstline = last->firstline;
        f->name = last->name;
        return 0;
    }
    w->code = 0;
    if (walk_read(mem, f->code + lay->code_type, w->chunk, PY_CODE_READ) ||
        (proc->code_type && py_u64(w, 0) != proc->code_type)) {
        w->bad++; /* 3.13 on: None while a frame is being set up */
        return -1;
    }
    f->firstline = py_u32(w, lay->code_firstline - lay->code_type);
    w->name = py_u64(w, lay->code_name - lay->code_type);
    w->filename = py_u64(w, lay->code_filename - lay->code_type);
    if (lay->code_qualname)
        w->name = py_u64(w, lay->code_qualname - lay->code_type);
    if (lay->code_version)
        own = py_u32(w, lay->code_version - lay->code_type);
    else if (py_ptr(mem, w->name + lay->str_length + 8, &own))
        own = 0;
    f->name = py_ident(own, w->name, w->filename, py_u64(w, lay->code_linetable - lay->code_type));
    /* What 3.12 on puts between the call of a class and its __init__. */
    if (lay->entry == PY_ENTRY_SHIM && !f->firstline && w->name == w->filename)
        return -1;
    w->code = f->code;
    return 0;
}

/* All frames of a thread state are read: goes on with an older interpreter's, which lie further out. 1: go
 * on. */
PY_INLINE int py_outer(void *mem, const struct py_layout *lay, const struct py_proc *proc, struct py_walk *w)
{
    if (w->status != PY_RUNNING)
        return 0;
    if (py_find(mem, lay, proc, w) || w->frame)
        return 1;
    if (w->status == PY_RUNNING)
        w->status = PY_DONE;
    return 0;
}

/* Reads one frame. 1: go on. */
PY_INLINE int py_step(void *mem, const struct py_layout *lay, const struct py_proc *proc, struct py_walk *w,
                      struct py_frame *frames)
{
    __u32 n = w->n, len = lay->frame_len, base = lay->frame_base;
    struct py_position at = {};
    struct py_frame *f;
    __u64 back;
    __u8 owner;

    if (!w->frame)
        return py_outer(mem, lay, proc, w);
    if (len > PY_CHUNK / 2)
        len = PY_CHUNK / 2;
    if (walk_read(mem, w->frame + base, w->chunk, len))
        return py_fail(w);
    back = py_u64(w, lay->frame_back - base);
    owner = py_u8(w, lay->frame_owner - base);
    if (lay->entry == PY_ENTRY_SHIM && owner >= lay->shim_owner) {
        py_shim(w, frames);
        w->frame = back;
        return 1;
    }
    if (n >= PY_MAX_DEPTH) {
        w->status = PY_FULL;
        return 0;
    }
    f = py_frame_at(frames, n);
    f->code = py_u64(w, lay->frame_code - base) & ~7ull; /* 3.14 keeps tags in the low bits */
    f->addr = 0;
    f->flags = 0;
    if (lay->flags & PY_LAYOUT_LASTI)
        at.instr = py_u32(w, lay->frame_instr - base);
    else
        at.instr = py_u64(w, lay->frame_instr - base);
    if (lay->frame_tlbc)
        at.copy = py_u32(w, lay->frame_tlbc - base);
    w->frame = back;
    if (lay->entry < PY_ENTRY_FLAG || (lay->entry == PY_ENTRY_FLAG && owner)) {
        f->flags = PY_FRAME_ENTRY;
        f->addr = py_entry_addr(mem, lay, w);
    }
    if (py_code(mem, lay, proc, w, f, py_frame_at(frames, n - 1)))
        return 1;
    py_lasti(mem, lay, f, &at);
    w->n = n + 1;
    return 1;
}

/*
 * Copies at most PY_NAME_MAX bytes of the str object at addr (w->name, w->filename) for the reader to decode;
 * the object may be gone by the time that user space looks.
 */
PY_INLINE void py_copy_str(void *mem, const struct py_layout *lay, struct py_walk *w, __u64 addr,
                           struct py_str *s)
{
    __u32 state, data;
    __u64 n; /* 64 bits: Linux 6.1's verifier keeps no bounds of 32-bit products */

    s->length = 0;
    s->kind = s->n = 0;
    s->pad = 0;
    if (!addr || walk_read(mem, addr, w->chunk, 56))
        return;
    s->length = py_u32(w, lay->str_length);
    state = py_u32(w, lay->str_state) >> (lay->str_shift & 31); /* { kind:3; compact:1; ascii:1; ... } */
    if (!(state & 8))                                           /* not compact: no code object's name is */
        return;
    data = state & 16 ? lay->str_ascii : lay->str_compact;
    n = s->length > PY_NAME_MAX ? PY_NAME_MAX : s->length;
    n *= state & 7;
    PY_OPAQUE(n);
    if (n > PY_NAME_MAX)
        n = PY_NAME_MAX;
    if (walk_read(mem, addr + data, s->data, (__u32)n))
        return;
    s->kind = state & 7;
    s->n = n;
}

/* The GIL that thread state ts runs under: from 3.12 on an interpreter may have one of its own. -1: g->addr
 * is 0. */
PY_INLINE int py_gil_read(void *mem, const struct py_layout *lay, const struct py_proc *proc, __u64 ts,
                          struct py_gil *g)
{
    __u64 word[2] = {}; /* last_holder, locked */

    g->addr = proc->runtime + lay->gil;
    g->holder = 0;
    g->locked = g->pad = 0;
    if (!(lay->flags & PY_LAYOUT_GIL_IN_RUNTIME) &&
        (py_ptr(mem, ts + lay->ts_interp, &g->addr) || py_ptr(mem, g->addr + lay->gil, &g->addr)))
        g->addr = 0;
    if (!g->addr || walk_read(mem, g->addr + lay->gil_holder, word, sizeof(word))) {
        g->addr = 0;
        return -1;
    }
    g->holder = word[0];
    g->locked = (__u32)word[1] == 1; /* -1: not made yet */
    return 0;
}

#endif
