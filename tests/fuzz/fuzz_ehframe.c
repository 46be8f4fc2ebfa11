/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables of hostile input: a whole ELF file where it begins like one, else bytes that are taken for
 * .eh_frame (or .debug_frame, by the first byte) of a file whose code is the same bytes. Beyond not crashing:
 * rows must be in order, neighbours must differ, and a lookup must land on the row that covers it.
 */
#include "base/mem.h"
#include "unwind/table_build.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok)
{
    if (!ok)
        abort();
}

static void check_rows(const struct unw_row *rows, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        require(rows[i].pc > rows[i - 1].pc);
        require(rows[i].rule != rows[i - 1].rule || rows[i].cfa != rows[i - 1].cfa ||
                rows[i].bp != rows[i - 1].bp);
    }
    if (n)
        require(rows[n - 1].rule == UNW_NONE);
}

static void whole_file(const uint8_t *data, size_t size)
{
    struct unw_table *t = unw_table_open_image(data, size, NULL);
    struct unw_lazy *l = unw_lazy_open_image(data, size, NULL);

    require(!t == !l);
    if (t) {
        check_rows(t->rows, t->n);
        for (uint32_t i = 0; i < t->n && i < 200; i++) {
            uint64_t at = t->layout.base + t->rows[i].pc;
            struct unw_row row;

            require(unw_table_find(t, at) == &t->rows[i]);
            unw_lazy_find(l, at, &row);
        }
    }
    unw_table_free(t);
    unw_lazy_free(l);
}

static void section(const uint8_t *data, size_t size, int is_debug)
{
    struct elf_cfi e = {0};
    struct cfi_section *s = is_debug ? &e.debug : &e.eh;
    struct unw_build_stats stats;
    struct unw_row *rows;
    uint32_t n;

    e.elf.p = data;
    e.elf.n = size;
    e.elf.entry = 0x1100;
    e.layout.n = 1;
    e.layout.base = 0x1000;
    e.layout.seg[0] = (struct unw_segment){0, 0x1000, size};
    *s = (struct cfi_section){size ? data : NULL, size, 0x2000, is_debug};
    unw_build(&e, &rows, &n, &stats);
    check_rows(rows, n);
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 4 && !memcmp(data, "\177ELF", 4))
        whole_file(data, size);
    else if (size)
        section(data + 1, size - 1, data[0] & 1);
    return 0;
}
