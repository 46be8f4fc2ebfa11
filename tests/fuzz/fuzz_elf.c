/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file: headers, sections, build id, symbols, PLT stubs, MiniDebugInfo. */
#include "base/buf.h"
#include "platform/debugfile.h"
#include "platform/elfsym.h"

#include <elf.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRS = 64 };

/* Whatever is handed out has to be readable to its end. */
static volatile uint8_t sum;

static void touch(const void *p, size_t n)
{
    for (size_t i = 0; p && i < n; i++)
        sum += ((const uint8_t *)p)[i];
}

static void read_sections(const struct elf *f)
{
    for (size_t i = 0; i < f->sections_n; i++) {
        const struct elf_section *s = &f->sections[i];
        struct elf_data d;

        touch(s->name, strlen(s->name));
        if (s->size > 1u << 20 || elf_section_data(f, s, &d, NULL))
            continue;
        touch(d.p, d.n);
        elf_data_release(&d);
    }
}

static void find_symbols(const struct elf *f, const uint64_t *addrs)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    struct elf_symtab tables[2];
    struct elfsym q;

    elfsym_init(&q, addrs, ADDRS);
    for (int i = 0; i < 2; i++)
        if (!elf_symtab_open(f, types[i], &tables[i], NULL))
            elfsym_scan(&q, f, &tables[i]);
    elfsym_finish(&q);
    for (size_t i = 0; i < ADDRS; i++)
        if (q.best[i].name)
            touch(q.best[i].name, strlen(q.best[i].name) + 1);
    elfsym_release(&q);
    for (int i = 0; i < 2; i++)
        elf_symtab_release(&tables[i]);
}

static void find_stubs(const struct elf *f, const uint64_t *addrs)
{
    struct elf_plt_stub stubs[ADDRS] = {{0}};

    for (size_t i = 0; i < ADDRS; i++)
        stubs[i].addr = addrs[i];
    elf_plt_resolve(f, stubs, ADDRS);
    for (size_t i = 0; i < ADDRS; i++)
        if (stubs[i].name)
            touch(stubs[i].name, strlen(stubs[i].name) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    uint64_t addrs[ADDRS], start;
    struct buf mini = {0};
    struct elf f;

    if (elf_open_mem(&f, data, size, NULL))
        return 0;
    for (size_t i = 0; i < ADDRS; i++)
        addrs[i] = f.entry + i * 16;
    touch(id, elf_build_id(&f, id));
    touch(elf_at(&f, f.entry, 16), 16);
    for (size_t i = 0; i < ADDRS; i++)
        elf_function_start(&f, addrs[i], &start);
    read_sections(&f);
    find_symbols(&f, addrs);
    find_stubs(&f, addrs);
    debugfile_mini(&f, &mini, NULL);
    buf_release(&mini);
    elf_close(&f);
    return 0;
}
