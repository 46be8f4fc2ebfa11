/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/elfsym.h"

#include "base/mem.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* Addresses given to symbols that cover several of them. Real tables need a few per address; a hostile one,
 * where every symbol covers everything, stops being heeded here. */
#define STEPS_MAX (64u << 20)

enum { SCORE_GLOBAL = 2, SCORE_WEAK = 1 };

void elfsym_init(struct elfsym *q, const uint64_t *addrs, size_t n)
{
    *q = (struct elfsym){.addrs = addrs,
                         .n = n,
                         .best = mem_calloc(n, sizeof(*q->best)),
                         .nearest = mem_calloc(n, sizeof(*q->nearest))};
}

void elfsym_release(struct elfsym *q)
{
    free(q->best);
    free(q->nearest);
    *q = (struct elfsym){0};
}

static uint32_t score_of(const struct elf_sym *s)
{
    size_t underscores = strspn(s->name, "_");
    uint32_t function = s->type == STT_FUNC || s->type == STT_GNU_IFUNC, exported = s->bind != STB_LOCAL;
    uint32_t bind = s->bind == STB_GLOBAL ? SCORE_GLOBAL : s->bind == STB_LOCAL ? 0 : SCORE_WEAK;

    if (underscores > 255)
        underscores = 255;
    return function << 12 | exported << 11 | (255 - (uint32_t)underscores) << 2 | bind;
}

/* Length of the name without its version. */
static size_t bare_length(const char *name)
{
    return strcspn(name, "@");
}

static int better(const struct elfsym_hit *a, const struct elfsym_hit *b)
{
    size_t na, nb;

    if (!b->name)
        return 1;
    if (a->value != b->value)
        return a->value > b->value;
    if (!a->size != !b->size)
        return a->size != 0;
    if (a->score != b->score)
        return a->score > b->score;
    na = bare_length(a->name);
    nb = bare_length(b->name);
    return na != nb ? na < nb : strncmp(a->name, b->name, na) < 0;
}

static int keep_type(uint8_t type)
{
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/* The end of the symbol's section, 0 when it has none; -1 when no code can be there. */
static int code_section_end(const struct elf *f, uint16_t shndx, uint64_t *end)
{
    const struct elf_section *s;

    *end = 0;
    if (shndx == SHN_XINDEX)
        return 0;
    if (shndx == SHN_UNDEF || shndx >= f->sections_n)
        return -1;
    s = &f->sections[shndx];
    *end = s->addr + s->size;
    return s->flags & SHF_EXECINSTR ? 0 : -1;
}

static void offer(struct elfsym *q, const struct elfsym_hit *hit, size_t i)
{
    if (better(hit, &q->nearest[i]))
        q->nearest[i] = *hit;
    for (; i < q->n && q->addrs[i] - hit->value < hit->size && q->steps < STEPS_MAX; i++, q->steps++)
        if (better(hit, &q->best[i]))
            q->best[i] = *hit;
}

void elfsym_scan(struct elfsym *q, const struct elf *f, const struct elf_symtab *t)
{
    for (size_t k = 0; k < t->n; k++) {
        struct elfsym_hit hit;
        struct elf_sym sym;
        Elf64_Sym raw;
        size_t i;

        memcpy(&raw, t->syms + k * sizeof(raw), sizeof(raw));
        if (raw.st_shndx == SHN_UNDEF || !keep_type(ELF64_ST_TYPE(raw.st_info)))
            continue;
        i = addr_lower(q->addrs, q->n, raw.st_value);
        if (i == q->n || code_section_end(f, raw.st_shndx, &hit.section_end))
            continue;
        elf_symtab_get(t, k, &sym);
        if (!sym.name[0] || sym.name[0] == '@')
            continue;
        hit.name = sym.name;
        hit.value = sym.value;
        hit.size = sym.size;
        hit.score = score_of(&sym);
        offer(q, &hit, i);
    }
}

size_t elfsym_finish(struct elfsym *q)
{
    struct elfsym_hit *last = NULL;
    size_t named = 0;

    for (size_t i = 0; i < q->n; i++) {
        if (q->nearest[i].name)
            last = &q->nearest[i];
        if (!q->best[i].name && last && !last->size && q->addrs[i] < last->section_end)
            q->best[i] = *last;
        named += q->best[i].name != NULL;
    }
    return named;
}
