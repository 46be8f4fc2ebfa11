/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/elf.h"

#include "base/io.h"
#include "base/mem.h"

#include <elf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#define PAGE         4096u
#define SECTIONS_MAX 65536u /* executables have dozens */
#define INFLATED_MAX                                                                                         \
    (1ull << 30) /* a section that claims to be larger than this when decompressed is refused */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

/* Does [off, off + size) lie within n bytes? */
static int within(uint64_t off, uint64_t size, uint64_t n)
{
    return off <= n && size <= n - off;
}

static int elf_read_segments(struct elf *f, const Elf64_Ehdr *h, size_t count, struct err *e)
{
    if (!count)
        return 0;
    if (h->e_phentsize != sizeof(Elf64_Phdr) || !within(h->e_phoff, count * sizeof(Elf64_Phdr), f->n))
        return err_set(e, "its program headers lie outside of the file: cut off or damaged");
    f->segments = mem_calloc(count, sizeof(*f->segments));
    f->segments_n = count;
    for (size_t i = 0; i < count; i++) {
        Elf64_Phdr p;

        memcpy(&p, f->p + h->e_phoff + i * sizeof(p), sizeof(p));
        f->segments[i] =
            (struct elf_segment){p.p_type, p.p_flags, p.p_offset, p.p_vaddr, p.p_filesz, p.p_memsz};
    }
    return 0;
}

/* A string of a string table of n bytes: "" where it would not end inside. */
static const char *string_at(const char *strs, size_t n, uint64_t off)
{
    return off < n && memchr(strs + off, '\0', n - off) ? strs + off : "";
}

static void elf_name_sections(struct elf *f, const uint32_t *names, size_t strndx)
{
    const struct elf_section *s = strndx < f->sections_n ? &f->sections[strndx] : NULL;
    int usable = s && s->type == SHT_STRTAB && within(s->offset, s->size, f->n);

    for (size_t i = 0; i < f->sections_n; i++)
        f->sections[i].name = usable ? string_at((const char *)f->p + s->offset, s->size, names[i]) : "";
}

/* Section headers are not needed to run, so that broken ones are no reason to refuse: the file then has none.
 */
static void elf_read_sections(struct elf *f, const Elf64_Ehdr *h, const Elf64_Shdr *first)
{
    uint64_t count = h->e_shnum ? h->e_shnum : first ? first->sh_size : 0;
    size_t strndx = h->e_shstrndx == SHN_XINDEX && first ? first->sh_link : h->e_shstrndx;
    uint32_t *names;

    if (!first || count > f->n / sizeof(Elf64_Shdr) ||
        !within(h->e_shoff, count * sizeof(Elf64_Shdr), f->n) || !count)
        return;
    f->sections = mem_calloc(count, sizeof(*f->sections));
    f->sections_n = count;
    names = mem_calloc(count, sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        Elf64_Shdr s;

        memcpy(&s, f->p + h->e_shoff + i * sizeof(s), sizeof(s));
        names[i] = s.sh_name;
        f->sections[i] = (struct elf_section){.type = s.sh_type,
                                              .link = s.sh_link,
                                              .info = s.sh_info,
                                              .flags = s.sh_flags,
                                              .addr = s.sh_addr,
                                              .offset = s.sh_offset,
                                              .size = s.sh_size,
                                              .entsize = s.sh_entsize};
    }
    elf_name_sections(f, names, strndx);
    free(names);
}

static int elf_parse(struct elf *f, struct err *e)
{
    Elf64_Ehdr h;
    Elf64_Shdr first, *have_first = NULL;
    size_t phnum;

    if (f->n < sizeof(h) || memcmp(f->p, ELFMAG, SELFMAG))
        return err_set(e, "not an ELF file");
    memcpy(&h, f->p, sizeof(h));
    if (h.e_ident[EI_CLASS] != ELFCLASS64)
        return err_set(e, "not a 64-bit ELF file; 32-bit programs are not supported");
    if (h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_ident[EI_VERSION] != EV_CURRENT)
        return err_set(e, "not a little-endian ELF file of version 1");
    f->type = h.e_type;
    f->machine = h.e_machine;
    f->entry = h.e_entry;
    if (h.e_shoff && h.e_shentsize == sizeof(first) && within(h.e_shoff, sizeof(first), f->n)) {
        memcpy(&first, f->p + h.e_shoff, sizeof(first));
        have_first = &first;
    }
    phnum = h.e_phnum == PN_XNUM && have_first ? first.sh_info : h.e_phnum;
    if (elf_read_segments(f, &h, phnum, e))
        return -1;
    elf_read_sections(f, &h, have_first);
    return 0;
}

int elf_open_mem(struct elf *f, const void *p, size_t n, struct err *e)
{
    *f = (struct elf){.p = p, .n = n};
    if (!elf_parse(f, e))
        return 0;
    elf_close(f);
    return -1;
}

int elf_open_fd(struct elf *f, int fd, struct err *e)
{
    struct io_map m;

    *f = (struct elf){0};
    if (io_map_fd(fd, &m, e))
        return -1;
    *f = (struct elf){.p = m.p, .n = m.n, .mapped = 1};
    if (!elf_parse(f, e))
        return 0;
    elf_close(f);
    return -1;
}

int elf_open(struct elf *f, const char *path, struct err *e)
{
    struct io_map m;

    *f = (struct elf){0};
    if (io_map_file(path, &m, e))
        return -1;
    *f = (struct elf){.p = m.p, .n = m.n, .mapped = 1};
    if (!elf_parse(f, e))
        return 0;
    elf_close(f);
    return err_wrap(e, "%s", path);
}

void elf_close(struct elf *f)
{
    struct io_map m = {f->p, f->n};

    if (f->mapped)
        io_unmap(&m);
    free(f->segments);
    free(f->sections);
    *f = (struct elf){0};
}

int elf_is_executable(const struct elf *f)
{
    return (f->type == ET_EXEC || f->type == ET_DYN) && f->machine == OUR_MACHINE;
}

const struct elf_section *elf_section(const struct elf *f, const char *name)
{
    for (size_t i = 0; i < f->sections_n; i++)
        if (!strcmp(f->sections[i].name, name))
            return &f->sections[i];
    return NULL;
}

const struct elf_section *elf_section_at(const struct elf *f, uint64_t vaddr)
{
    for (size_t i = 0; i < f->sections_n; i++) {
        const struct elf_section *s = &f->sections[i];

        if ((s->flags & SHF_ALLOC) && !(s->flags & SHF_TLS) && vaddr >= s->addr && vaddr - s->addr < s->size)
            return s;
    }
    return NULL;
}

const struct elf_section *elf_section_of_type(const struct elf *f, uint32_t sh_type)
{
    for (size_t i = 0; i < f->sections_n; i++)
        if (f->sections[i].type == sh_type)
            return &f->sections[i];
    return NULL;
}

/*
 * libelf knows the compression methods, but writes into the image that it is given. So it gets one of its
 * own: a header, a copy of the section, and section headers that say no more than where it is.
 */
static int inflate_section(const struct elf *f, const struct elf_section *s, struct elf_data *d,
                           struct err *e)
{
    size_t shoff = (sizeof(Elf64_Ehdr) + s->size + 15) & ~(size_t)15, n = shoff + 2 * sizeof(Elf64_Shdr);
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                    .e_type = ET_DYN,
                    .e_machine = f->machine,
                    .e_version = EV_CURRENT,
                    .e_shoff = shoff,
                    .e_ehsize = sizeof(h),
                    .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = 2};
    Elf64_Shdr sh = {.sh_type = s->type,
                     .sh_flags = SHF_COMPRESSED,
                     .sh_offset = sizeof(h),
                     .sh_size = s->size,
                     .sh_addralign = 8};
    char *image = mem_calloc(1, n);
    Elf *elf;
    Elf_Scn *scn;
    Elf_Data *data;
    int rc = -1;

    memcpy(image, &h, sizeof(h));
    memcpy(image + sizeof(h), f->p + s->offset, s->size);
    memcpy(image + shoff + sizeof(sh), &sh, sizeof(sh));
    elf_version(EV_CURRENT);
    elf = elf_memory(image, n);
    scn = elf ? elf_getscn(elf, 1) : NULL;
    data = scn && elf_compress(scn, 0, 0) >= 0 ? elf_getdata(scn, NULL) : NULL;
    if (!data) {
        err_set(e, "section %s: decompress: %s", s->name, elf_errmsg(-1));
    } else {
        d->owned = mem_dup(data->d_buf, data->d_size);
        d->p = d->owned;
        d->n = data->d_size;
        rc = 0;
    }
    elf_end(elf);
    free(image);
    return rc;
}

int elf_section_data(const struct elf *f, const struct elf_section *s, struct elf_data *d, struct err *e)
{
    Elf64_Chdr c;

    *d = (struct elf_data){0};
    if (s->type == SHT_NOBITS)
        return err_set(e, "section %s: has no bytes in this file", s->name);
    if (!within(s->offset, s->size, f->n))
        return err_set(e, "section %s: lies outside of the file: cut off or damaged", s->name);
    if (!(s->flags & SHF_COMPRESSED)) {
        *d = (struct elf_data){.p = f->p + s->offset, .n = s->size};
        return 0;
    }
    if (s->size < sizeof(c))
        return err_set(e, "section %s: too small for its compression header", s->name);
    memcpy(&c, f->p + s->offset, sizeof(c));
    if (c.ch_size > INFLATED_MAX)
        return err_set(e, "section %s: claims %llu bytes when decompressed", s->name,
                       (unsigned long long)c.ch_size);
    return inflate_section(f, s, d, e);
}

void elf_data_release(struct elf_data *d)
{
    free(d->owned);
    *d = (struct elf_data){0};
}

const void *elf_at(const struct elf *f, uint64_t vaddr, size_t n)
{
    for (size_t i = 0; i < f->segments_n; i++) {
        const struct elf_segment *s = &f->segments[i];

        if (s->type == PT_LOAD && vaddr >= s->vaddr && within(vaddr - s->vaddr, n, s->filesz) &&
            within(s->offset, s->filesz, f->n))
            return f->p + s->offset + (vaddr - s->vaddr);
    }
    return NULL;
}

size_t elf_build_id_of_notes(const void *notes, size_t n, uint8_t id[ELF_BUILD_ID_MAX])
{
    const uint8_t *p = notes;

    while (n >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        uint64_t desc, end;

        memcpy(&h, p, sizeof(h));
        desc = sizeof(h) + (((uint64_t)h.n_namesz + 3) & ~3ull);
        end = desc + (((uint64_t)h.n_descsz + 3) & ~3ull);
        if (desc + h.n_descsz > n)
            return 0;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == sizeof("GNU") && !memcmp(p + sizeof(h), "GNU", 4)) {
            size_t len = h.n_descsz < ELF_BUILD_ID_MAX ? h.n_descsz : ELF_BUILD_ID_MAX;

            memcpy(id, p + desc, len);
            return len;
        }
        if (end > n)
            return 0;
        p += end;
        n -= end;
    }
    return 0;
}

size_t elf_build_id(const struct elf *f, uint8_t id[ELF_BUILD_ID_MAX])
{
    size_t len = 0;

    for (size_t i = 0; i < f->segments_n && !len; i++) {
        const struct elf_segment *s = &f->segments[i];

        if (s->type == PT_NOTE && within(s->offset, s->filesz, f->n))
            len = elf_build_id_of_notes(f->p + s->offset, s->filesz, id);
    }
    for (size_t i = 0; i < f->sections_n && !len; i++) { /* a separate debug file may lack usable segments */
        const struct elf_section *s = &f->sections[i];

        if (s->type == SHT_NOTE && within(s->offset, s->size, f->n))
            len = elf_build_id_of_notes(f->p + s->offset, s->size, id);
    }
    return len;
}

int elf_symtab_open(const struct elf *f, uint32_t sh_type, struct elf_symtab *t, struct err *e)
{
    const struct elf_section *s = elf_section_of_type(f, sh_type);

    *t = (struct elf_symtab){0};
    if (!s)
        return err_set(e, "no symbol table");
    if (s->entsize != sizeof(Elf64_Sym) || s->link >= f->sections_n)
        return err_set(e, "section %s: damaged", s->name);
    if (elf_section_data(f, s, &t->owned[0], e))
        return -1;
    if (elf_section_data(f, &f->sections[s->link], &t->owned[1], e)) {
        elf_symtab_release(t);
        return -1;
    }
    t->syms = t->owned[0].p;
    t->n = t->owned[0].n / sizeof(Elf64_Sym);
    t->strs = (const char *)t->owned[1].p;
    t->strs_n = t->owned[1].n;
    return 0;
}

void elf_symtab_release(struct elf_symtab *t)
{
    elf_data_release(&t->owned[0]);
    elf_data_release(&t->owned[1]);
    *t = (struct elf_symtab){0};
}

void elf_symtab_get(const struct elf_symtab *t, size_t i, struct elf_sym *sym)
{
    Elf64_Sym s;

    memcpy(&s, t->syms + i * sizeof(s), sizeof(s));
    *sym = (struct elf_sym){.name = string_at(t->strs, t->strs_n, s.st_name),
                            .value = s.st_value,
                            .size = s.st_size,
                            .shndx = s.st_shndx,
                            .type = ELF64_ST_TYPE(s.st_info),
                            .bind = ELF64_ST_BIND(s.st_info)};
}

static int name_is(const char *have, const char *want)
{
    size_t n = strlen(want);

    return !strncmp(have, want, n) && (have[n] == '\0' || have[n] == '@');
}

static int find_in(const struct elf *f, uint32_t sh_type, const char *name, struct elf_sym *sym)
{
    struct elf_symtab t;
    int rc = -1;

    if (elf_symtab_open(f, sh_type, &t, NULL))
        return -1;
    for (size_t i = 0; i < t.n && rc; i++) {
        elf_symtab_get(&t, i, sym);
        if (sym->shndx != SHN_UNDEF && name_is(sym->name, name))
            rc = 0;
    }
    if (!rc && t.owned[1].owned) /* the string goes away with the table */
        sym->name = name;
    elf_symtab_release(&t);
    return rc;
}

int elf_find_symbol(const struct elf *f, const char *name, struct elf_sym *sym)
{
    return find_in(f, SHT_SYMTAB, name, sym) && find_in(f, SHT_DYNSYM, name, sym) ? -1 : 0;
}
