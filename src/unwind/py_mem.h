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

enum { PY_PIECES = 256, PY_PIECE = 256 };

/*
 * A live process, read by process_vm_readv(2) a piece at a time; the target isn't stopped. Pieces are
 * remembered until py_process_forget(), so that one walk sees memory of nearly one moment: forget before
 * each. With `ahead`, what the walk before took is read at once with the first piece of the next: where the
 * same process is walked again and again most of it is wanted again, and one call costs little more than one
 * piece.
 */
struct py_process {
    pid_t pid;
    uint64_t reads;           /* system calls made */
    uint64_t tag[PY_PIECES];  /* address of the piece held, | 1; 0: none */
    uint64_t used[PY_PIECES]; /* addresses of the pieces that were asked for since, */
    uint32_t used_n;
    uint32_t before_n; /* and those of the walk before */
    uint64_t before[PY_PIECES];
    uint8_t ahead; /* the owner's to set */
    pid_t before_pid;
    uint8_t fresh; /* nothing was read since py_process_forget() */
    uint8_t piece[PY_PIECES][PY_PIECE];
};

/* The caller owns the result and frees it with free(). */
struct py_process *py_process_new(pid_t pid);
void py_process_forget(struct py_process *p);
struct py_mem py_process_mem(struct py_process *p); /* borrows p */

#endif
