/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function covers an address. A profile asks for few addresses of tables that may be huge, so that the
 * wanted addresses are sorted, never the table: one pass over it keeps the best symbol for each of them.
 */
#ifndef WPROF_PLATFORM_ELFSYM_H
#define WPROF_PLATFORM_ELFSYM_H

#include "platform/elf.h"

/* Index of the first element >= v of a sorted array, n when there is none. */
static inline size_t addr_lower(const uint64_t *a, size_t n, uint64_t v)
{
    size_t lo = 0;

    while (n) {
        size_t half = n / 2;

        if (a[lo + half] < v) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

struct elfsym_hit {
    const char *name; /* borrowed from the symbol table; NULL: none */
    uint64_t value, size;
    uint64_t section_end; /* where its section ends, 0: unknown */
    uint32_t score;       /* preference among symbols that start at the same address */
};

struct elfsym {
    const uint64_t *addrs; /* sorted, each once; borrowed */
    size_t n;
    struct elfsym_hit *best;    /* [n]: covers the address; after elfsym_finish, its name */
    struct elfsym_hit *nearest; /* [n]: the last symbol that starts in (addrs[i - 1], addrs[i]] */
    uint64_t steps;             /* bounds the work on tables where everything overlaps */
};

void elfsym_init(struct elfsym *q, const uint64_t *addrs, size_t n);
void elfsym_release(struct elfsym *q);

/* Takes a table's symbols into account. Several tables may be scanned; both f and t must outlive the use of
 * names. */
void elfsym_scan(struct elfsym *q, const struct elf *f, const struct elf_symtab *t);

/*
 * Completes q->best. A symbol covers its size; one of size 0 reaches to the next symbol within its section.
 * Where symbols overlap the one that starts last wins; among aliases, in this order: functions, exported
 * ones, fewer leading underscores, global over weak, shorter, alphabetical. Returns how many addresses have a
 * name.
 */
size_t elfsym_finish(struct elfsym *q);

/* ---- PLT stubs ---- */

struct elf_plt_stub {
    uint64_t addr;     /* in: an address inside a .plt* section */
    uint64_t slot;     /* the GOT slot that it jumps through */
    const char *name;  /* the function's, borrowed from f; NULL: not known */
    uint64_t resolver; /* STT_GNU_IFUNC called by address: the resolver's, 0 else */
};

int elf_plt_contains(const struct elf *f, uint64_t addr); /* is it in a PLT section? */

/* Fills in slot, and name or resolver, of n stubs, by decoding their jumps (x86-64) and finding the
 * relocation of the slot. Stubs that can't be told stay without. */
void elf_plt_resolve(const struct elf *f, struct elf_plt_stub *stubs, size_t n);

#endif
