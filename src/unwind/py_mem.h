/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that Python's objects are read from: a live process, or whatever a caller has. */
#ifndef WPROF_UNWIND_PY_MEM_H
#define WPROF_UNWIND_PY_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct py_mem {
    int (*read)(void *ctx, uint64_t addr, void *dst, size_t n); /* 0 when all n bytes were read, else -1 */
    void *ctx;
    void (*forget)(void *ctx); /* what it remembers, so that reads are of now; NULL: it remembers nothing */
};

static inline int py_mem_read(const struct py_mem *m, uint64_t addr, void *dst, size_t n)
{
    return m->read(m->ctx, addr, dst, n);
}

static inline void py_mem_forget(const struct py_mem *m)
{
    if (m->forget)
        m->forget(m->ctx);
}

enum { PY_PAGES = 64, PY_PAGE = 4096 };

/*
 * A live process, read by process_vm_readv(2) a page at a time; the target isn't stopped. Pages are
 * remembered until py_process_forget(), so that one walk sees memory of nearly one moment: forget before
 * each.
 */
struct py_process {
    pid_t pid;
    uint64_t reads;         /* system calls made */
    uint64_t tag[PY_PAGES]; /* address of the page held, | 1; 0: none */
    uint8_t page[PY_PAGES][PY_PAGE];
};

/* The caller owns the result and frees it with free(). */
struct py_process *py_process_new(pid_t pid);
void py_process_forget(struct py_process *p);
struct py_mem py_process_mem(struct py_process *p); /* borrows p */

#endif
