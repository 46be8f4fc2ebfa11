/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_cold.h"

#include "platform/elf.h"
#include "unwind/ehframe.h"

#include <stdlib.h>
#include <string.h>

enum {
    HOT_MAX = 1 << 20,
    HITS_MIN = 2, /* bytes that only look like a jump lead anywhere, but not to one place twice */
};

struct targets {
    VEC(uint64_t) list;
};

static int by_address(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Where jmp rel32 (e9) and jcc rel32 (0f 80 to 8f) lead, outside of the function; sorted. Finds others as
 * well. */
static void find_jumps(struct targets *t, const uint8_t *code, struct py_range hot)
{
    size_t n = hot.end - hot.start;

    for (size_t i = 0; i + 6 <= n; i++) {
        size_t at = code[i] == 0xe9 ? i + 1 : code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80 ? i + 2 : 0;
        uint64_t to;
        int32_t rel;

        if (!at)
            continue;
        memcpy(&rel, code + at, sizeof(rel));
        to = hot.start + at + 4 + (uint64_t)(int64_t)rel;
        if (to < hot.start || to >= hot.end)
            *vec_push(&t->list) = to;
    }
    if (t->list.n)
        qsort(t->list.a, t->list.n, sizeof(*t->list.a), by_address);
}

/* How many lead past the first byte of [start, end): to the first are calls in disguise, too. */
static size_t inside(const struct targets *t, uint64_t start, uint64_t end)
{
    size_t lo = 0, hi = t->list.n, n = 0;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (t->list.a[mid] > start)
            hi = mid;
        else
            lo = mid + 1;
    }
    while (lo + n < t->list.n && t->list.a[lo + n] < end)
        n++;
    return n;
}

static size_t best_entry(const struct targets *t, const struct cfi_section *sec, struct py_range *best)
{
    struct cfi_reader r;
    struct cfi_fde fde;
    enum cfi_entry kind;
    size_t off = 0, most = 0;

    cfi_reader_init(&r, sec);
    while ((kind = cfi_next(&r, &off, &fde)) != CFI_END) {
        size_t n = kind == CFI_FDE ? inside(t, fde.pc, fde.pc + fde.len) : 0;

        if (n > most) {
            most = n;
            *best = (struct py_range){fde.pc, fde.pc + fde.len};
        }
    }
    cfi_reader_release(&r);
    return most;
}

int py_cold_find(const struct elf *f, struct py_range hot, struct py_range *cold)
{
    const struct elf_section *s = elf_section(f, ".eh_frame");
    const uint8_t *code = NULL;
    struct targets t = {0};
    struct elf_data d = {0};
    struct py_range best = {0};
    struct err ignored = {""};
    size_t hits = 0;

    if (hot.end > hot.start && hot.end - hot.start <= HOT_MAX)
        code = elf_at(f, hot.start, hot.end - hot.start);
    if (!code || !s || elf_section_data(f, s, &d, &ignored))
        return -1;
    find_jumps(&t, code, hot);
    if (t.list.n) {
        struct cfi_section sec = {.p = d.p, .n = d.n, .vaddr = s->addr};

        hits = best_entry(&t, &sec, &best);
    }
    vec_release(&t.list);
    elf_data_release(&d);
    if (hits < HITS_MIN || (best.start < hot.end && best.end > hot.start))
        return -1;
    *cold = best;
    return 0;
}
