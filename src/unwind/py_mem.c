/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_mem.h"

#include "base/mem.h"

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
    memset(p->tag, 0, sizeof(p->tag));
}

static int read_now(struct py_process *p, uint64_t addr, void *dst, size_t n)
{
    struct iovec to = {dst, n}, from = {(void *)(uintptr_t)addr, n};

    p->reads++;
    return process_vm_readv(p->pid, &to, 1, &from, 1, 0) == (ssize_t)n ? 0 : -1;
}

static const uint8_t *page_of(struct py_process *p, uint64_t addr)
{
    uint64_t base = addr & ~(uint64_t)(PY_PAGE - 1);
    size_t i = (base / PY_PAGE) % PY_PAGES;

    if (p->tag[i] != (base | 1)) {
        p->tag[i] = 0;
        if (read_now(p, base, p->page[i], PY_PAGE))
            return NULL;
        p->tag[i] = base | 1;
    }
    return p->page[i];
}

static int process_read(void *ctx, uint64_t addr, void *dst, size_t n)
{
    struct py_process *p = ctx;
    uint8_t *out = dst;

    if (addr + n < addr)
        return -1;
    if (n > PY_PAGE) /* line tables and long names: not worth remembering */
        return read_now(p, addr, dst, n);
    while (n) {
        size_t at = addr % PY_PAGE, part = PY_PAGE - at < n ? PY_PAGE - at : n;
        const uint8_t *page = page_of(p, addr);

        if (!page)
            return -1;
        memcpy(out, page + at, part);
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
