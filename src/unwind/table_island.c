/* SPDX-License-Identifier: Apache-2.0 */
/* Code without call frame information whose role in a stack is plain from its bytes. */
#include "unwind/table_build.h"

#include <string.h>

#define ENTRY_SPAN 64 /* musl's _start takes 22 bytes, glibc's 38 */

static const struct pattern {
    uint8_t bytes[10], len, before, rule;
} patterns[] = {
    {{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}, 9, 1, UNW_SIGNAL}, /* mov $15, %rax; syscall */
    {{0xb8, 15, 0, 0, 0, 0x0f, 0x05}, 7, 1, UNW_SIGNAL},             /* mov $15, %eax; syscall */
    {{0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05},
     8,
     1,
     UNW_END}, /* exit with what the function returned */
};

static void take(struct unw_island *best, int *found, uint32_t from, uint32_t to, uint8_t rule)
{
    if (*found && best->from <= from)
        return;
    *best = (struct unw_island){from, to, rule};
    *found = 1;
}

static void take_entry(const struct elf_cfi *e, uint32_t from, uint32_t to, struct unw_island *is, int *found)
{
    uint64_t at = e->elf.entry - e->layout.base;

    if (!e->elf.entry || at < from || at >= to)
        return;
    take(is, found, (uint32_t)at, to - at > ENTRY_SPAN ? (uint32_t)at + ENTRY_SPAN : to, UNW_END);
}

static void take_patterns(const struct elf_cfi *e, uint32_t from, uint32_t to, struct unw_island *is,
                          int *found)
{
    const uint8_t *code = elf_cfi_code(e, e->layout.base + from, to - from), *hit;

    for (size_t i = 0; code && i < ARRAY_SIZE(patterns); i++) {
        const struct pattern *p = &patterns[i];
        size_t n = *found ? is->from - from + p->len : to - from; /* only what comes before the best so far */

        hit = memmem(code, n < to - from ? n : to - from, p->bytes, p->len);
        if (hit) {
            uint32_t at = from + (uint32_t)(hit - code);

            take(is, found, at - from < p->before ? from : at - p->before, at + p->len, p->rule);
        }
    }
}

int unw_island_next(const struct elf_cfi *e, uint32_t from, uint32_t to, struct unw_island *is)
{
    int found = 0;

    take_entry(e, from, to, is, &found);
    for (unsigned i = 0; i < e->layout.n; i++) { /* a hole may reach over the end of a segment */
        uint64_t a = e->layout.seg[i].vaddr - e->layout.base, b = a + e->layout.seg[i].filesz;

        if (a < to && b > from)
            take_patterns(e, a > from ? (uint32_t)a : from, b < to ? (uint32_t)b : to, is, &found);
    }
    return found;
}
