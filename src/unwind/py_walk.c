/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_walk.h"

#include <string.h>

static int walk_read(void *mem, __u64 addr, void *dst, __u32 size)
{
    return py_mem_read(mem, addr, dst, size);
}

#include "bpf/walk_python.h"

void py_walk_thread(struct py_stack *st, const struct py_mem *mem, const struct py_layout *lay,
                    const struct py_proc *proc, uint64_t thread_id, struct py_cache *cache)
{
    struct py_walk *w = &st->walk;
    void *m = (void *)mem;

    if (py_begin(m, lay, proc, w, thread_id, cache))
        while (py_find(m, lay, proc, w))
            ;
    py_found(lay, w, cache);
    /* A chain that a running target closed into a ring gives frames until it is full, or shims until this
     * ends. */
    for (int i = 0; i < 2 * PY_MAX_DEPTH; i++)
        if (!py_step(m, lay, proc, w, st->frames))
            break;
}

static int read_ptr(const struct py_mem *mem, uint64_t addr, uint64_t *out)
{
    *out = 0;
    return py_mem_read(mem, addr, out, sizeof(*out));
}

void py_walk_names(const struct py_mem *mem, const struct py_layout *lay, const struct py_frame *f,
                   struct py_str *name, struct py_str *file)
{
    struct py_walk w = {0};
    uint64_t at;

    read_ptr(mem, f->code + (lay->code_qualname ? lay->code_qualname : lay->code_name), &at);
    py_copy_str((void *)mem, lay, &w, at, name);
    read_ptr(mem, f->code + lay->code_filename, &at);
    py_copy_str((void *)mem, lay, &w, at, file);
}

static uint64_t word(const uint8_t *raw, unsigned off)
{
    uint64_t v;

    memcpy(&v, raw + off, sizeof(v));
    return v;
}

/* struct pthread of glibc, x86-64, where thread_id points: 704 bytes of tcbhead_t and a list_t come before
 * `tid`. */
enum { GLIBC_TID = 720 };

/* Python tells it from 3.11 on, and to 3.11.1 wrongly after a fork; glibc keeps it right. musl's is
 * elsewhere. */
static uint64_t native_id(const struct py_mem *mem, const struct py_layout *lay, const uint8_t *raw)
{
    int32_t tid = 0;

    if (lay->ts_native_id)
        return word(raw, lay->ts_native_id);
    if (py_mem_read(mem, word(raw, lay->ts_thread_id) + GLIBC_TID, &tid, sizeof(tid)) || tid < 0)
        return 0;
    return (uint64_t)tid;
}

/* Goes on from `n` thread states known so far; returns how many there are now, -1 when memory can't be read.
 */
static int list_interpreter(uint64_t ts, struct py_thread *out, int n, int max, const struct py_mem *mem,
                            const struct py_layout *lay)
{
    uint8_t raw[PY_TSTATE_READ];

    for (; ts && n < PY_MAX_SEARCH; n++) {
        if (py_mem_read(mem, ts, raw, sizeof(raw)))
            return -1;
        if (n < max)
            out[n] = (struct py_thread){
                .ts = ts, .thread_id = word(raw, lay->ts_thread_id), .native_id = native_id(mem, lay, raw)};
        ts = word(raw, lay->ts_next);
    }
    return n;
}

int py_walk_list(struct py_thread *out, int max, const struct py_mem *mem, const struct py_layout *lay,
                 const struct py_proc *proc)
{
    uint64_t interp, ts;
    int n = 0;

    if (read_ptr(mem, proc->runtime + lay->interp_head, &interp))
        return -1;
    for (int i = 0; interp && i < PY_MAX_SEARCH; i++) {
        if (read_ptr(mem, interp + lay->interp_threads, &ts))
            return -1;
        n = list_interpreter(ts, out, n, max, mem, lay);
        if (n < 0 || read_ptr(mem, interp + lay->interp_next, &interp))
            return -1;
    }
    return n;
}

int py_walk_gil(struct py_gil *g, const struct py_mem *mem, const struct py_layout *lay,
                const struct py_proc *proc, uint64_t ts)
{
    return py_gil_read((void *)mem, lay, proc, ts, g);
}

int py_walk_check(const struct py_mem *mem, const struct py_layout *lay, const struct py_proc *proc,
                  struct err *e)
{
    uint64_t interp, ts;
    uint8_t raw[PY_TSTATE_READ];

    if (read_ptr(mem, proc->runtime + lay->interp_head, &interp))
        return err_set(e, "the memory of its _PyRuntime can't be read");
    if (!interp)
        return 0;
    if (read_ptr(mem, interp + lay->interp_threads, &ts) || (ts && py_mem_read(mem, ts, raw, sizeof(raw))))
        return err_set(e, "its interpreter state is not where CPython %u.%u has it", lay->version >> 8,
                       lay->version & 255);
    if (!ts)
        return 0;
    if (word(raw, lay->ts_interp) != interp || word(raw, lay->ts_prev) != 0)
        return err_set(e, "its thread states are not laid out as CPython %u.%u has them", lay->version >> 8,
                       lay->version & 255);
    return 1;
}
