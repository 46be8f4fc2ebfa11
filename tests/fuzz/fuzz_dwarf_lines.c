/* SPDX-License-Identifier: Apache-2.0 */
/* The DWARF of an ELF file: lines and inlined functions of its first kilobyte of code. */
#include "base/io.h"
#include "platform/dwarf.h"
#include "platform/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRS = 256 };

static void take(void *ctx, size_t i, const struct dwarf_name *names, size_t n)
{
    size_t *length = ctx;

    if (i >= ADDRS || !n || n > DWARF_DEPTH_MAX)
        abort();
    for (size_t k = 0; k < n; k++)
        *length += (names[k].func ? strlen(names[k].func) : 0) + (names[k].file ? strlen(names[k].file) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t addrs[ADDRS], low = 0;
    size_t length = 0;
    struct elf f;
    int fd;

    if (elf_open_mem(&f, data, size, NULL))
        return 0;
    for (size_t i = 0; i < f.segments_n; i++)
        if (f.segments[i].type == PT_LOAD && f.segments[i].flags & PF_X)
            low = f.segments[i].vaddr;
    elf_close(&f);
    for (size_t i = 0; i < ADDRS; i++)
        addrs[i] = low + i * 4;
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    if (!io_write_all(fd, data, size, NULL))
        dwarf_lookup(fd, addrs, ADDRS, 1, take, &length, NULL);
    close(fd);
    return 0;
}
