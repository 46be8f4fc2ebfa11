/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions without a name start. .eh_frame_hdr is a sorted table of them that stripping leaves, since
 * exceptions need it. Layout: LSB Core, "Exception Frames"; encodings: DWARF 5, and LSB's DW_EH_PE_* for the
 * table.
 */
#include "platform/elf.h"

#include <elf.h>
#include <string.h>

enum {
    EH_VERSION = 1,
    EH_PCREL_SDATA4 = 0x1b, /* what compilers use for code addresses on x86-64 and arm64 */
    EH_UDATA4 = 0x03,
    EH_DATAREL_SDATA4 = 0x3b, /* of the table: relative to its own start */
};

struct eh_table {
    uint64_t base;          /* the header's own address */
    const uint8_t *entries; /* n of {function, FDE}, 4 bytes each */
    uint32_t n;
};

static uint32_t read_u32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* A signed 32-bit offset from `base`. */
static uint64_t relative(uint64_t base, const uint8_t *p)
{
    return base + (uint64_t)(int64_t)(int32_t)read_u32(p);
}

static int find_table(const struct elf *f, struct eh_table *t)
{
    const struct elf_segment *s = NULL;
    const uint8_t *p;

    for (size_t i = 0; i < f->segments_n && !s; i++)
        if (f->segments[i].type == PT_GNU_EH_FRAME)
            s = &f->segments[i];
    if (!s || s->filesz < 12)
        return -1;
    p = elf_at(f, s->vaddr, s->filesz);
    if (!p || p[0] != EH_VERSION || p[1] != EH_PCREL_SDATA4 || p[2] != EH_UDATA4 || p[3] != EH_DATAREL_SDATA4)
        return -1;
    *t = (struct eh_table){s->vaddr, p + 12, read_u32(p + 8)};
    return t->n && t->n <= (s->filesz - 12) / 8 ? 0 : -1;
}

/* The end of a function by its FDE: {length, CIE, start, size}. 0 where its encoding is another one. */
static uint64_t function_end(const struct elf *f, uint64_t fde, uint64_t start)
{
    const uint8_t *p = elf_at(f, fde, 16);

    return p && relative(fde + 8, p + 8) == start ? start + read_u32(p + 12) : 0;
}

int elf_function_start(const struct elf *f, uint64_t vaddr, uint64_t *start)
{
    struct eh_table t;
    uint32_t lo = 0, hi;
    uint64_t end;

    if (find_table(f, &t))
        return -1;
    for (hi = t.n; lo < hi;) { /* the first entry above vaddr */
        uint32_t mid = lo + (hi - lo) / 2;

        if (relative(t.base, t.entries + 8 * (size_t)mid) <= vaddr)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo)
        return -1;
    *start = relative(t.base, t.entries + 8 * (size_t)(lo - 1));
    end = function_end(f, relative(t.base, t.entries + 8 * (size_t)(lo - 1) + 4), *start);
    return vaddr < end ? 0 : -1;
}
