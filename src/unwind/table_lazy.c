/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row for one pc. .eh_frame_hdr (LSB Core 5.0 section 10.6.2) is a sorted table of {start, entry}, made
 * by the linker: a binary search there leads to the entry. Where it is missing, or something is in
 * .debug_frame alone, an index of all entries is made at the first miss.
 */
#include "base/mem.h"
#include "unwind/ehframe_leb.h"
#include "unwind/table_build.h"

#include <string.h>

#define CACHE_ROWS 256 /* a power of two; direct mapped by pc */

#define HDR_SDATA4_DATAREL 0x3b /* the table's encoding as every linker writes it */
#define ISLAND_REACH       64   /* no piece of code known by its bytes is longer */

struct fde_at {
    uint64_t pc, end;
    uint32_t off, debug;
};

struct cached_row {
    uint64_t from, to; /* ELF virtual addresses; empty: from == to */
    struct unw_row row;
};

struct unw_lazy {
    struct elf_cfi elf;
    struct cfi_reader eh, debug;
    const uint8_t *table; /* of .eh_frame_hdr: pairs of int32 relative to the header; NULL: none */
    uint32_t table_n;
    int indexed;
    VEC(struct fde_at) index; /* all entries, by pc */
    struct cached_row cache[CACHE_ROWS];
};

/* Takes the header's table when it has the usual form; else the index does its work. */
static void open_hdr(struct unw_lazy *l)
{
    const struct cfi_section *h = &l->elf.hdr;
    struct cursor c = cursor_init(h->p, h->n);
    uint8_t version = leb_u8(&c), ptr_enc = leb_u8(&c), count_enc = leb_u8(&c), table_enc = leb_u8(&c);
    uint64_t n;

    cfi_pointer(&c, ptr_enc, 8, h->vaddr + 4, h->vaddr);
    n = cfi_pointer(&c, count_enc, 8, 0, 0);
    if (c.bad || version != 1 || table_enc != HDR_SDATA4_DATAREL || n > (uint64_t)(c.end - c.p) / 8)
        return;
    l->table = c.p;
    l->table_n = (uint32_t)n;
}

static struct unw_lazy *open_done(struct unw_lazy *l, int failed)
{
    if (failed) {
        unw_lazy_free(l);
        return NULL;
    }
    cfi_reader_init(&l->eh, &l->elf.eh);
    cfi_reader_init(&l->debug, &l->elf.debug);
    if (l->elf.hdr.p && l->elf.eh.p)
        open_hdr(l);
    return l;
}

struct unw_lazy *unw_lazy_open(int fd, struct err *e)
{
    struct unw_lazy *l = mem_calloc(1, sizeof(*l));

    return open_done(l, elf_cfi_open(&l->elf, fd, e));
}

struct unw_lazy *unw_lazy_open_image(const void *image, size_t size, struct err *e)
{
    struct unw_lazy *l = mem_calloc(1, sizeof(*l));

    return open_done(l, elf_cfi_open_image(&l->elf, image, size, e));
}

void unw_lazy_free(struct unw_lazy *l)
{
    if (!l)
        return;
    cfi_reader_release(&l->eh);
    cfi_reader_release(&l->debug);
    vec_release(&l->index);
    elf_cfi_close(&l->elf);
    free(l);
}

const struct unw_layout *unw_lazy_layout(const struct unw_lazy *l)
{
    return &l->elf.layout;
}

int unw_lazy_code(const struct unw_lazy *l, uint64_t vaddr, void *dst, size_t n)
{
    const uint8_t *p = elf_cfi_code(&l->elf, vaddr, n);

    if (!p)
        return -1;
    memcpy(dst, p, n);
    return 0;
}

static int64_t table_word(const struct unw_lazy *l, uint32_t i, unsigned word)
{
    int32_t v;

    memcpy(&v, l->table + 8 * (size_t)i + 4 * word, 4);
    return v;
}

/* The section offset of the entry that the linker's table gives for vaddr; -1: none. */
static int search_hdr(const struct unw_lazy *l, uint64_t vaddr, size_t *off)
{
    int64_t want = (int64_t)(vaddr - l->elf.hdr.vaddr);
    uint32_t lo = 0, hi = l->table_n;
    uint64_t at;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (table_word(l, mid, 0) <= want)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (!lo)
        return -1;
    at = l->elf.hdr.vaddr + (uint64_t)table_word(l, lo - 1, 1) - l->elf.eh.vaddr;
    if (at >= l->elf.eh.n)
        return -1;
    *off = (size_t)at;
    return 0;
}

static void index_section(struct unw_lazy *l, struct cfi_reader *r)
{
    struct cfi_fde fde;
    size_t off = 0, at = 0;
    enum cfi_entry what;

    if (r->sec.n > UINT32_MAX)
        r->sec.n = UINT32_MAX;
    for (; (what = cfi_next(r, &off, &fde)) != CFI_END; at = off)
        if (what == CFI_FDE && fde.len && elf_cfi_code(&l->elf, fde.pc, 1))
            *vec_push(&l->index) =
                (struct fde_at){fde.pc, fde.pc + fde.len, (uint32_t)at, (uint32_t)r->sec.is_debug};
}

static int by_pc(const void *a, const void *b)
{
    const struct fde_at *x = a, *y = b;

    if (x->pc != y->pc)
        return x->pc < y->pc ? -1 : 1;
    return x->debug != y->debug ? (x->debug < y->debug ? -1 : 1) : (x->off > y->off) - (x->off < y->off);
}

/* The last entry that begins at or before vaddr (of several at one pc the first in the file); NULL: none. */
static const struct fde_at *search_index(struct unw_lazy *l, uint64_t vaddr)
{
    size_t lo = 0, hi;

    if (!l->indexed) {
        index_section(l, &l->eh);
        index_section(l, &l->debug);
        if (l->index.n)
            qsort(l->index.a, l->index.n, sizeof(*l->index.a), by_pc);
        l->indexed = 1;
    }
    hi = l->index.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (l->index.a[mid].pc <= vaddr)
            lo = mid + 1;
        else
            hi = mid;
    }
    while (lo > 1 && l->index.a[lo - 2].pc == l->index.a[lo - 1].pc)
        lo--;
    return lo ? &l->index.a[lo - 1] : NULL;
}

/* Finds the entry that covers vaddr. 0, -1: none. */
static int find_fde(struct unw_lazy *l, uint64_t vaddr, struct cfi_reader **r, struct cfi_fde *fde)
{
    const struct fde_at *at;
    size_t off;

    *r = &l->eh;
    if (l->table && !search_hdr(l, vaddr, &off) && cfi_next(&l->eh, &off, fde) == CFI_FDE &&
        fde->pc <= vaddr && vaddr < fde->pc + fde->len)
        return 0;
    if (l->table && !l->elf.debug.p)
        return -1; /* the linker lists all of .eh_frame */
    at = search_index(l, vaddr);
    if (!at || vaddr >= at->end)
        return -1;
    *r = at->debug ? &l->debug : &l->eh;
    off = at->off;
    return cfi_next(*r, &off, fde) == CFI_FDE ? 0 : -1;
}

static void find_island(const struct unw_lazy *l, uint64_t vaddr, struct cached_row *out)
{
    uint64_t rel = vaddr - l->elf.layout.base;
    uint32_t at = (uint32_t)rel, from = at < ISLAND_REACH ? 0 : at - ISLAND_REACH;
    struct unw_island is;

    *out = (struct cached_row){vaddr, vaddr + 1, {.pc = at, .rule = UNW_NONE}};
    if (rel > UINT32_MAX - ISLAND_REACH)
        return;
    while (from <= at && unw_island_next(&l->elf, from, at + ISLAND_REACH, &is) && is.from <= at) {
        if (at < is.to) {
            *out = (struct cached_row){
                l->elf.layout.base + is.from, l->elf.layout.base + is.to, {.pc = is.from, .rule = is.rule}};
            return;
        }
        from = is.to;
    }
}

static void find(struct unw_lazy *l, uint64_t vaddr, struct cached_row *out)
{
    struct cfi_reader *r;
    struct cfi_fde fde;
    struct cfi_run run;

    if (!elf_cfi_code(&l->elf, vaddr, 1)) {
        *out = (struct cached_row){vaddr, vaddr + 1, {.rule = UNW_NONE}};
        return;
    }
    if (find_fde(l, vaddr, &r, &fde)) {
        find_island(l, vaddr, out);
        return;
    }
    cfi_run_init(&run, r, &fde);
    while (cfi_run_next(&run)) {
        if (vaddr >= run.to)
            continue;
        *out = (struct cached_row){run.from, run.to, {.pc = (uint32_t)(run.from - l->elf.layout.base)}};
        cfi_state_row(&run.state, &out->row);
        return;
    }
    *out = (struct cached_row){
        vaddr, vaddr + 1, {.pc = (uint32_t)(vaddr - l->elf.layout.base), .rule = UNW_NONE}};
}

void unw_lazy_find(struct unw_lazy *l, uint64_t vaddr, struct unw_row *row)
{
    struct cached_row *slot = &l->cache[(vaddr ^ vaddr >> 8) % CACHE_ROWS];

    if (vaddr < slot->from || vaddr >= slot->to)
        find(l, vaddr, slot);
    *row = slot->row;
}
