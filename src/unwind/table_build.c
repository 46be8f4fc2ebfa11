/* SPDX-License-Identifier: Apache-2.0 */
/* All entries, sorted by pc, each one's program run once, rows merged as they come. */
#include "unwind/table_build.h"

#include <string.h>

struct item {
    uint32_t pc, len; /* relative to base */
    uint32_t off;     /* of the entry in its section */
    uint32_t debug;   /* 1: in .debug_frame */
};

typedef VEC(struct item) item_vec;

struct builder {
    const struct elf_cfi *e;
    VEC(struct unw_row) rows;
    uint64_t end; /* up to here (relative to base) rows have been given */
    unsigned islands;
    struct unw_build_stats *stats;
};

/* A file has a handful. A hostile one may repeat the bytes at will, and the search would grow with their
 * square. */
#define MAX_ISLANDS 64

/* Clips an entry to the executable segment where it begins. -1 when that is none: a function that the linker
 * threw away, whose entry stayed. */
static int clip(const struct unw_layout *l, const struct cfi_fde *fde, struct item *it)
{
    for (unsigned i = 0; i < l->n; i++) {
        const struct unw_segment *s = &l->seg[i];
        uint64_t room = s->vaddr + s->filesz - fde->pc;

        if (fde->pc < s->vaddr || fde->pc >= s->vaddr + s->filesz)
            continue;
        if (fde->pc - l->base > UINT32_MAX - (room < fde->len ? room : fde->len))
            return -1;
        it->pc = (uint32_t)(fde->pc - l->base);
        it->len = (uint32_t)(room < fde->len ? room : fde->len);
        return it->len ? 0 : -1;
    }
    return -1;
}

static void collect(struct builder *b, struct cfi_reader *r, item_vec *items)
{
    struct cfi_fde fde;
    size_t off = 0, at = 0;
    enum cfi_entry what;

    if (r->sec.n > UINT32_MAX)
        r->sec.n = UINT32_MAX;
    for (; (what = cfi_next(r, &off, &fde)) != CFI_END; at = off) {
        struct item it = {.off = (uint32_t)at, .debug = (uint32_t)r->sec.is_debug};

        if (what == CFI_BAD)
            b->stats->bad++;
        else if (what == CFI_FDE && !clip(&b->e->layout, &fde, &it))
            *vec_push(items) = it;
    }
}

/* Stable, by 11 bits a pass. */
static void radix_sort(item_vec *items)
{
    struct item *from = items->a, *to = mem_alloc(items->n * sizeof(*to)), *swap = to;

    for (unsigned shift = 0; shift < 33; shift += 11) {
        uint32_t count[2048] = {0}, sum = 0;

        for (size_t i = 0; i < items->n; i++)
            count[from[i].pc >> shift & 2047]++;
        for (unsigned i = 0; i < 2048; i++) {
            uint32_t c = count[i];

            count[i] = sum;
            sum += c;
        }
        for (size_t i = 0; i < items->n; i++)
            to[count[from[i].pc >> shift & 2047]++] = from[i];
        swap = from;
        from = to;
        to = swap;
    }
    items->a = from;
    items->cap = items->n;
    free(to);
}

static void sort(item_vec *items)
{
    for (size_t i = 1; i < items->n; i++)
        if (items->a[i].pc < items->a[i - 1].pc) {
            radix_sort(items);
            return;
        }
}

static int same_rule(const struct unw_row *a, const struct unw_row *b)
{
    return a->cfa == b->cfa && a->rule == b->rule && a->bp == b->bp;
}

static void put(struct builder *b, const struct unw_row *row)
{
    size_t n = b->rows.n;

    if (n && b->rows.a[n - 1].pc == row->pc) /* an empty row: superseded */
        b->rows.n = --n;
    if (n && same_rule(&b->rows.a[n - 1], row))
        return;
    *vec_push(&b->rows) = *row;
}

static void put_rule(struct builder *b, uint32_t pc, enum unw_rule rule)
{
    put(b, &(struct unw_row){.pc = pc, .rule = (uint8_t)rule});
}

/* No entry covers [b->end, to). */
static void hole(struct builder *b, uint32_t to)
{
    uint32_t from = (uint32_t)b->end;
    struct unw_island is;

    put_rule(b, from, UNW_NONE);
    while (from < to && b->islands < MAX_ISLANDS && unw_island_next(b->e, from, to, &is)) {
        b->islands++;
        put_rule(b, is.from, is.rule);
        put_rule(b, is.to, UNW_NONE);
        from = is.to;
    }
}

/* The rows of one entry, up to `end`, where the next one begins. */
static void run(struct builder *b, struct cfi_reader *r, const struct item *it, uint64_t end)
{
    size_t off = it->off;
    struct cfi_fde fde;
    struct cfi_run run;
    uint64_t base = b->e->layout.base;

    if (cfi_next(r, &off, &fde) != CFI_FDE)
        return;
    b->stats->entries++;
    cfi_run_init(&run, r, &fde);
    while (cfi_run_next(&run) && run.from - base < end) {
        struct unw_row row = {.pc = (uint32_t)(run.from - base)};

        if (cfi_state_row(&run.state, &row))
            b->stats->unsaid++;
        put(b, &row);
    }
    if (run.bad) {
        b->stats->bad++;
        if (run.from - base < end)
            put_rule(b, (uint32_t)(run.from - base), UNW_NONE);
    }
}

static void run_all(struct builder *b, struct cfi_reader *eh, struct cfi_reader *debug, const item_vec *items)
{
    for (size_t i = 0; i < items->n; i++) {
        const struct item *it = &items->a[i];
        uint64_t end = (uint64_t)it->pc + it->len;

        if (i && items->a[i - 1].pc == it->pc)
            continue; /* both sections describe it, or a function folded into another */
        for (size_t k = i + 1; k < items->n && items->a[k].pc < end; k++)
            if (items->a[k].pc > it->pc) {
                end = items->a[k].pc;
                break;
            }
        if (it->pc >= b->end + (b->rows.n ? UNW_PADDING : 1))
            hole(b, it->pc);
        run(b, it->debug ? debug : eh, it, end);
        b->end = end;
    }
}

static uint32_t code_end(const struct unw_layout *l)
{
    uint64_t end = l->seg[l->n - 1].vaddr + l->seg[l->n - 1].filesz - l->base;

    return end > UINT32_MAX ? UINT32_MAX : (uint32_t)end;
}

void unw_build(const struct elf_cfi *e, struct unw_row **rows, uint32_t *n, struct unw_build_stats *stats)
{
    struct builder b = {.e = e, .stats = stats};
    struct cfi_reader eh, debug;
    item_vec items = {0};

    *rows = NULL;
    *n = 0;
    *stats = (struct unw_build_stats){0};
    if (!e->layout.n)
        return;
    cfi_reader_init(&eh, &e->eh);
    cfi_reader_init(&debug, &e->debug);
    collect(&b, &eh, &items);
    collect(&b, &debug, &items);
    sort(&items);
    run_all(&b, &eh, &debug, &items);
    hole(&b, code_end(&e->layout) > b.end ? code_end(&e->layout) : (uint32_t)b.end);
    if (b.rows.n == 1 && b.rows.a[0].rule == UNW_NONE)
        b.rows.n = 0;
    *n = (uint32_t)b.rows.n;
    if (b.rows.n)
        *rows = mem_realloc(b.rows.a, b.rows.n, sizeof(*b.rows.a));
    else
        vec_release(&b.rows);
    vec_release(&items);
    cfi_reader_release(&eh);
    cfi_reader_release(&debug);
}
