/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_merge.h"

struct merge {
    struct py_slot *out;
    size_t n;
    const struct py_native *native;
    size_t n_native, next; /* native frames before `next` are dealt with */
    const struct py_merge_how *how;
    struct py_merge_stats *stats;
};

static void put(struct merge *m, int python, size_t index)
{
    m->out[m->n++] = (struct py_slot){.python = python != 0, .index = (uint32_t)index};
}

static void put_natives(struct merge *m, size_t end)
{
    while (m->next < end)
        put(m, 0, m->next++);
}

/* The native frame from `next` on that spans addr, or n_native. */
static size_t native_at(const struct merge *m, uint64_t addr)
{
    for (size_t i = m->next; i < m->n_native; i++) {
        if (addr < m->native[i].sp)
            continue;
        if (i + 1 < m->n_native ? addr < m->native[i + 1].sp : m->native[i].flags & PY_NATIVE_EVAL)
            return i; /* where the outermost one ends isn't known */
    }
    return m->n_native;
}

static size_t next_eval(const struct merge *m, size_t from)
{
    while (from < m->n_native && !(m->native[from].flags & PY_NATIVE_EVAL))
        from++;
    return from;
}

/*
 * `python -X perf` makes one for each function and names it py::NAME: generated code that does nothing but
 * call the eval loop, with 8 bytes on the stack besides its return address (CPython's
 * Python/asm_trampoline.S). at: what called it.
 */
static int is_trampoline(const struct merge *m, size_t at)
{
    if (at >= m->n_native || !(m->native[at].flags & PY_NATIVE_JIT))
        return 0;
    return at + 1 == m->n_native || m->native[at + 1].sp - m->native[at].sp == 16;
}

/* Python frames [first, last] instead of native frame `at`. */
static void replace(struct merge *m, size_t at, size_t first, size_t last)
{
    size_t inner = at;

    /* Where opcodes are functions that tail-call each other, one of them is what the eval loop called. */
    if (m->how->tail_calls && at > m->next)
        inner--;
    put_natives(m, inner);
    for (size_t i = first; i <= last; i++)
        put(m, 1, i);
    m->next = at + 1;
    if (is_trampoline(m, m->next)) {
        m->next++;
        m->stats->trampolines++;
    }
}

/*
 * No native frame for the run: its eval loop is only just being entered or left, or the native stack is cut
 * off. Runs that lie further out than all native frames come after them.
 */
static void squeeze_in(struct merge *m, uint64_t addr, size_t first, size_t last)
{
    size_t n = m->n_native;

    if (!m->how->native_whole && n && (!addr || addr >= m->native[n - 1].sp))
        put_natives(m, n);
    for (size_t i = first; i <= last; i++)
        put(m, 1, i);
    m->stats->unplaced++;
}

static void place_by_address(struct merge *m, const struct py_frame *python, size_t n)
{
    for (size_t first = 0, last; first < n; first = last + 1) {
        uint64_t addr;
        size_t at;

        for (last = first; last + 1 < n && !(python[last].flags & PY_FRAME_ENTRY);)
            last++;
        addr = python[last].addr;
        at = addr ? native_at(m, addr) : next_eval(m, m->next);
        m->stats->runs++;
        if (at < m->n_native)
            replace(m, at, first, last);
        else
            squeeze_in(m, addr, first, last);
    }
}

/*
 * To 3.9 the structures hold no stack address, and each Python frame has an eval loop of its own. Where there
 * are more loops than frames the innermost are only just being entered or left, unless frames are missing at
 * the outer end.
 */
static void place_by_count(struct merge *m, size_t n)
{
    size_t loops = 0, at;

    for (size_t i = 0; i < m->n_native; i++)
        loops += m->native[i].flags & PY_NATIVE_EVAL;
    if (!loops) /* the loop's place isn't known, or the native stack is cut off */
        put_natives(m, m->n_native);
    at = next_eval(m, 0);
    if (m->how->python_whole && m->how->native_whole)
        for (; loops > n; loops--)
            at = next_eval(m, at + 1);
    for (size_t i = 0; i < n; i++, at = next_eval(m, at)) {
        m->stats->runs++;
        if (at < m->n_native)
            replace(m, at, i, i);
        else
            squeeze_in(m, 0, i, i);
        if (at < m->next)
            at = m->next;
    }
}

size_t py_merge(struct py_slot *out, const struct py_native *native, size_t n_native,
                const struct py_frame *python, size_t n_python, const struct py_merge_how *how,
                struct py_merge_stats *stats)
{
    struct merge m = {out, 0, native, n_native, 0, how, stats};

    if (n_python)
        stats->stacks++;
    if (how->entry == PY_ENTRY_NONE)
        place_by_count(&m, n_python);
    else
        place_by_address(&m, python, n_python);
    put_natives(&m, n_native);
    return m.n;
}
