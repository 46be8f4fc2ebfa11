/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_mem.h"

#include "base/mem.h"
#include "platform/procfs.h"

#include <string.h>
#include <sys/uio.h>

struct py_process *py_process_new(pid_t pid)
{
    struct py_process *p = mem_calloc(1, sizeof(*p));

    p->pid = pid;
    return p;
}

void py_process_forget(struct py_process *p)
{
    if (p->used_n) {
        memcpy(p->before, p->used, p->used_n * sizeof(*p->used));
        p->before_n = p->used_n;
    }
    p->used_n = 0;
    p->fresh = 1;
    memset(p->tag, 0, sizeof(p->tag));
}

static int read_now(struct py_process *p, uint64_t addr, void *dst, size_t n)
{
    struct iovec to = {dst, n}, from = {(void *)(uintptr_t)addr, n};

    p->reads++;
    return procfs_readv_memory(p->pid, &to, &from, 1) == (ssize_t)n ? 0 : -1;
}

static size_t place_of(uint64_t base)
{
    return (base / PY_PIECE) % PY_PIECES;
}

/* Reads `base` and what the walk before took. Those from the first one that can't be read are left out. */
static void read_ahead(struct py_process *p, uint64_t base)
{
    struct iovec to[PY_PIECES], from[PY_PIECES];
    uint8_t taken[PY_PIECES] = {0};
    size_t n = 0;
    ssize_t got;

    for (uint32_t i = 0; i <= p->before_n && n < PY_PIECES; i++) {
        uint64_t at = i ? p->before[i - 1] : base;
        size_t place = place_of(at);

        if (taken[place])
            continue;
        taken[place] = 1;
        to[n] = (struct iovec){p->piece[place], PY_PIECE};
        from[n++] = (struct iovec){(void *)(uintptr_t)at, PY_PIECE};
    }
    p->reads++;
    got = procfs_readv_memory(p->pid, to, from, n);
    for (size_t i = 0; i < n && got >= (ssize_t)((i + 1) * PY_PIECE); i++) {
        uint64_t at = (uintptr_t)from[i].iov_base;

        p->tag[place_of(at)] = at | 1;
    }
}

static void note_used(struct py_process *p, uint64_t base)
{
    for (uint32_t i = p->used_n; i-- > 0;)
        if (p->used[i] == base)
            return;
    if (p->used_n < PY_PIECES)
        p->used[p->used_n++] = base;
}

static const uint8_t *piece_of(struct py_process *p, uint64_t addr)
{
    uint64_t base = addr & ~(uint64_t)(PY_PIECE - 1);
    size_t i = place_of(base);

    if (p->ahead && p->fresh && p->before_pid == p->pid)
        read_ahead(p, base);
    p->fresh = 0;
    p->before_pid = p->pid;
    if (p->tag[i] != (base | 1)) {
        p->tag[i] = 0;
        if (read_now(p, base, p->piece[i], PY_PIECE))
            return NULL;
        p->tag[i] = base | 1;
    }
    note_used(p, base);
    return p->piece[i];
}

static int process_read(void *ctx, uint64_t addr, void *dst, size_t n)
{
    struct py_process *p = ctx;
    uint8_t *out = dst;

    if (addr + n < addr)
        return -1;
    if (n > PY_PIECE) /* line tables and long names: not worth remembering */
        return read_now(p, addr, dst, n);
    while (n) {
        size_t at = addr % PY_PIECE, part = PY_PIECE - at < n ? PY_PIECE - at : n;
        const uint8_t *piece = piece_of(p, addr);

        if (!piece)
            return -1;
        memcpy(out, piece + at, part);
        out += part;
        addr += part;
        n -= part;
    }
    return 0;
}

static void process_forget(void *ctx)
{
    py_process_forget(ctx);
}

struct py_mem py_process_mem(struct py_process *p)
{
    return (struct py_mem){process_read, p, process_forget};
}
