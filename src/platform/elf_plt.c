/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PLT stubs. The order of stubs and relocations differs between linkers and options; what each stub jumps
 * through does not. So the jump is decoded, and the relocation that fills its slot names the function.
 * Encodings: System V ABI, AMD64 supplement, "Procedure Linkage Table", and its IBT-enabled form (.plt.sec).
 */
#include "platform/elfsym.h"

#include "base/vec.h"

#include <elf.h>
#include <string.h>

#define STUB_MAX 16u

static const struct elf_section *plt_section(const struct elf *f, uint64_t addr)
{
    const struct elf_section *s = elf_section_at(f, addr);

    return s && (!strncmp(s->name, ".plt", 4) || !strcmp(s->name, ".iplt")) ? s : NULL;
}

int elf_plt_contains(const struct elf *f, uint64_t addr)
{
    return plt_section(f, addr) != NULL;
}

static int32_t read_i32(const uint8_t *p)
{
    int32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* The nth relocation of .rela.plt, for stubs that only push its number. */
static int nth_plt_slot(const struct elf *f, uint64_t n, uint64_t *slot)
{
    const struct elf_section *s = elf_section(f, ".rela.plt");
    struct elf_data d;
    Elf64_Rela r;

    if (!s || elf_section_data(f, s, &d, NULL))
        return -1;
    if (n < d.n / sizeof(r)) {
        memcpy(&r, d.p + n * sizeof(r), sizeof(r));
        *slot = r.r_offset;
    }
    elf_data_release(&d);
    return n < d.n / sizeof(r) ? 0 : -1;
}

static int stub_slot(const struct elf *f, uint64_t addr, uint64_t *slot)
{
    const struct elf_section *s = plt_section(f, addr);
    uint64_t step = s && (s->entsize == 8 || s->entsize == 16) ? s->entsize : STUB_MAX, start;
    const uint8_t *p;
    size_t i = 0;

    if (!s)
        return -1;
    start = s->addr + (addr - s->addr) / step * step;
    p = elf_at(f, start, step);
    if (!p)
        return -1;
    if (!memcmp(p, "\xf3\x0f\x1e\xfa", 4)) /* endbr64 */
        i = 4;
    if (p[i] == 0x68 && i + 5 <= step) /* push $number; jmp .plt */
        return nth_plt_slot(f, (uint32_t)read_i32(p + i + 1), slot);
    if (p[i] == 0xf2) /* bnd */
        i++;
    if (i + 6 > step || p[i] != 0xff || p[i + 1] != 0x25) /* jmp *disp(%rip) */
        return -1;
    *slot = start + i + 6 + (uint64_t)(int64_t)read_i32(p + i + 2);
    return 0;
}

static int by_slot(const void *a, const void *b)
{
    const struct elf_plt_stub *x = a, *y = b;

    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static struct elf_plt_stub *find_slot(struct elf_plt_stub *stubs, size_t n, uint64_t slot)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (stubs[mid].slot < slot)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && stubs[lo].slot == slot ? &stubs[lo] : NULL;
}

static void take_relocation(const struct elf_symtab *dynsym, const Elf64_Rela *r, struct elf_plt_stub *stubs,
                            size_t n)
{
    uint32_t type = ELF64_R_TYPE(r->r_info), index = ELF64_R_SYM(r->r_info);
    struct elf_plt_stub *stub;
    struct elf_sym sym;

    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_IRELATIVE)
        return;
    stub = find_slot(stubs, n, r->r_offset);
    for (; stub && stub < stubs + n && stub->slot == r->r_offset; stub++) {
        if (type == R_X86_64_IRELATIVE) {
            stub->resolver = (uint64_t)r->r_addend;
        } else if (index < dynsym->n) {
            elf_symtab_get(dynsym, index, &sym);
            stub->name = sym.name[0] ? sym.name : NULL;
        }
    }
}

static void take_relocations(const struct elf *f, const struct elf_symtab *dynsym, const char *section,
                             struct elf_plt_stub *stubs, size_t n)
{
    const struct elf_section *s = elf_section(f, section);
    struct elf_data d;
    Elf64_Rela r;

    if (!s || elf_section_data(f, s, &d, NULL))
        return;
    for (size_t i = 0; i < d.n / sizeof(r); i++) {
        memcpy(&r, d.p + i * sizeof(r), sizeof(r));
        take_relocation(dynsym, &r, stubs, n);
    }
    elf_data_release(&d);
}

void elf_plt_resolve(const struct elf *f, struct elf_plt_stub *stubs, size_t n)
{
    struct elf_symtab dynsym = {0};

    if (f->machine != EM_X86_64)
        return;
    for (size_t i = 0; i < n; i++)
        if (stub_slot(f, stubs[i].addr, &stubs[i].slot))
            stubs[i].slot = 0;
    qsort(stubs, n, sizeof(*stubs), by_slot);
    (void)elf_symtab_open(f, SHT_DYNSYM, &dynsym, NULL); /* a static program has none, but IRELATIVE stubs */
    if (dynsym.owned[0].owned ||
        dynsym.owned[1].owned) /* no loader reads a compressed one: names would dangle */
        elf_symtab_release(&dynsym);
    take_relocations(f, &dynsym, ".rela.plt", stubs, n);
    take_relocations(f, &dynsym, ".rela.dyn", stubs, n);
    elf_symtab_release(&dynsym);
}
