/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded reader of ELF64 headers (System V gABI chapters 4 and 5), over bytes. */
#include "unwind/elf_cfi.h"

#include "unwind/ehframe_leb.h"

#include <elf.h>
#include <string.h>

#define PAGE       4096u
#define MAX_PHDRS  4096 /* more than this is no file that a loader takes */
#define NOTE_LIMIT (1u << 20)

struct view {
    const uint8_t *p;
    size_t n;
    Elf64_Ehdr eh;
};

/* Copies `size` bytes at off, -1 outside the image. */
static int view_get(const struct view *v, uint64_t off, void *dst, size_t size)
{
    if (off > v->n || v->n - off < size)
        return -1;
    memcpy(dst, v->p + off, size);
    return 0;
}

static int view_open(struct view *v, const void *image, size_t size, struct err *err)
{
    *v = (struct view){.p = image, .n = size};
    if (view_get(v, 0, &v->eh, sizeof(v->eh)) || memcmp(v->eh.e_ident, ELFMAG, SELFMAG))
        return err_set(err, "not an ELF file");
    if (v->eh.e_ident[EI_CLASS] != ELFCLASS64 || v->eh.e_ident[EI_DATA] != ELFDATA2LSB ||
        v->eh.e_machine != EM_X86_64)
        return err_set(err, "not an ELF file for x86-64");
    if (v->eh.e_phnum && v->eh.e_phentsize != sizeof(Elf64_Phdr))
        return err_set(err, "malformed ELF: program headers of %u bytes", v->eh.e_phentsize);
    return 0;
}

static int view_phdr(const struct view *v, unsigned i, Elf64_Phdr *ph)
{
    return i >= v->eh.e_phnum || i >= MAX_PHDRS
               ? -1
               : view_get(v, v->eh.e_phoff + i * sizeof(*ph), ph, sizeof(*ph));
}

static uint64_t align4(uint64_t v)
{
    return (v + 3) & ~3ull;
}

/* The build id among the notes at [off, off + size). */
static void notes_build_id(const struct view *v, uint64_t off, uint64_t size, struct unw_layout *l)
{
    Elf64_Nhdr nh;
    char name[4];

    while (size >= sizeof(nh) && !view_get(v, off, &nh, sizeof(nh))) {
        uint64_t desc = sizeof(nh) + align4(nh.n_namesz), whole = desc + align4(nh.n_descsz);

        if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 && nh.n_descsz &&
            nh.n_descsz <= UNW_MAX_BUILD_ID && !view_get(v, off + sizeof(nh), name, 4) &&
            !memcmp(name, "GNU", 4) && !view_get(v, off + desc, l->build_id, nh.n_descsz)) {
            l->build_id_len = nh.n_descsz;
            return;
        }
        if (whole > size)
            return;
        off += whole;
        size -= whole;
    }
}

static int add_segment(struct unw_layout *l, const Elf64_Phdr *ph, struct err *err)
{
    if (l->n == UNW_MAX_SEGMENTS)
        return err_set(err, "more than %d executable segments", UNW_MAX_SEGMENTS);
    if (ph->p_vaddr + ph->p_filesz < ph->p_vaddr || ph->p_offset + ph->p_filesz < ph->p_offset)
        return err_set(err, "malformed ELF: a segment that wraps around");
    if (l->n && ph->p_vaddr < l->seg[l->n - 1].vaddr + l->seg[l->n - 1].filesz)
        return err_set(err, "malformed ELF: executable segments overlap or don't rise");
    l->seg[l->n++] = (struct unw_segment){ph->p_offset, ph->p_vaddr, ph->p_filesz};
    return 0;
}

static int view_layout(const struct view *v, struct unw_layout *l, uint64_t *need, struct err *err)
{
    Elf64_Phdr ph;

    memset(l, 0, sizeof(*l));
    *need = v->eh.e_phoff + (uint64_t)v->eh.e_phnum * sizeof(ph);
    for (unsigned i = 0; i < v->eh.e_phnum; i++) {
        if (view_phdr(v, i, &ph))
            return err_set(err, "malformed ELF: program headers outside the file");
        if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X) && ph.p_filesz && add_segment(l, &ph, err))
            return -1;
        if (ph.p_type == PT_NOTE && !l->build_id_len && ph.p_filesz <= NOTE_LIMIT) {
            if (ph.p_offset + ph.p_filesz > *need)
                *need = ph.p_offset + ph.p_filesz;
            notes_build_id(v, ph.p_offset, ph.p_filesz, l);
        }
    }
    l->base = l->n ? l->seg[0].vaddr & ~(uint64_t)(PAGE - 1) : 0;
    return 0;
}

int elf_cfi_layout(struct unw_layout *l, const void *head, size_t size, uint64_t *need, struct err *err)
{
    struct view v;

    *need = 0;
    return view_open(&v, head, size, err) ? -1 : view_layout(&v, l, need, err);
}

static void set_section(const struct view *v, struct cfi_section *s, uint64_t off, uint64_t n, uint64_t vaddr)
{
    if (off >= v->n || n > v->n - off)
        return;
    *s = (struct cfi_section){v->p + off, (size_t)n, vaddr, 0};
}

/* By section headers: names, so a stripped file's are enough. */
static void find_sections(const struct view *v, struct elf_cfi *e)
{
    Elf64_Shdr sh, names;
    unsigned n = v->eh.e_shnum, strndx = v->eh.e_shstrndx;
    char name[16];

    if (v->eh.e_shentsize != sizeof(sh) || view_get(v, v->eh.e_shoff, &sh, sizeof(sh)))
        return;
    if (!n) /* more than 65,279 sections: the count stands in the first */
        n = sh.sh_size > UINT32_MAX ? UINT32_MAX : (unsigned)sh.sh_size;
    if (strndx == SHN_XINDEX)
        strndx = sh.sh_link;
    if (view_get(v, v->eh.e_shoff + (uint64_t)strndx * sizeof(sh), &names, sizeof(names)))
        return;
    for (unsigned i = 1; i < n && !view_get(v, v->eh.e_shoff + (uint64_t)i * sizeof(sh), &sh, sizeof(sh));
         i++) {
        memset(name, 0, sizeof(name));
        if (sh.sh_type == SHT_NOBITS || view_get(v, names.sh_offset + sh.sh_name, name, 14))
            continue;
        if (!strcmp(name, ".eh_frame"))
            set_section(v, &e->eh, sh.sh_offset, sh.sh_size, sh.sh_addr);
        else if (!strcmp(name, ".eh_frame_hdr"))
            set_section(v, &e->hdr, sh.sh_offset, sh.sh_size, sh.sh_addr);
        else if (!strcmp(name, ".debug_frame") && !(sh.sh_flags & SHF_COMPRESSED))
            set_section(v, &e->debug, sh.sh_offset, sh.sh_size, sh.sh_addr);
    }
    e->debug.is_debug = 1;
}

/* Without section headers (an image of the vDSO, a file stripped of them): by PT_GNU_EH_FRAME. Its first
 * pointer says where .eh_frame begins; its end isn't said, so that of its segment has to do. */
static void find_by_segment(const struct view *v, struct elf_cfi *e)
{
    Elf64_Phdr ph;
    uint64_t at = 0;

    for (unsigned i = 0; !view_phdr(v, i, &ph) && !e->hdr.p; i++)
        if (ph.p_type == PT_GNU_EH_FRAME)
            set_section(v, &e->hdr, ph.p_offset, ph.p_filesz, ph.p_vaddr);
    if (e->hdr.n >= 8) {
        struct cursor c = cursor_init(e->hdr.p + 4, e->hdr.n - 4);

        at = cfi_pointer(&c, e->hdr.p[1], 8, e->hdr.vaddr + 4, e->hdr.vaddr);
        at = c.bad ? 0 : at;
    }
    for (unsigned i = 0; at && !view_phdr(v, i, &ph) && !e->eh.p; i++)
        if (ph.p_type == PT_LOAD && at >= ph.p_vaddr && at - ph.p_vaddr < ph.p_filesz)
            set_section(v, &e->eh, ph.p_offset + (at - ph.p_vaddr), ph.p_filesz - (at - ph.p_vaddr), at);
}

int elf_cfi_open(struct elf_cfi *e, const void *image, size_t size, struct err *err)
{
    struct view v;
    uint64_t need;

    *e = (struct elf_cfi){.image = image, .size = size};
    if (view_open(&v, image, size, err) || view_layout(&v, &e->layout, &need, err))
        return -1;
    e->entry = v.eh.e_entry;
    find_sections(&v, e);
    if (!e->eh.p)
        find_by_segment(&v, e);
    return 0;
}

const uint8_t *elf_cfi_code(const struct elf_cfi *e, uint64_t vaddr, uint64_t n)
{
    for (unsigned i = 0; i < e->layout.n; i++) {
        const struct unw_segment *s = &e->layout.seg[i];
        uint64_t in = vaddr - s->vaddr;

        if (vaddr < s->vaddr || in > s->filesz || s->filesz - in < n)
            continue;
        if (s->offset + in > e->size || e->size - (s->offset + in) < n)
            return NULL;
        return e->image + s->offset + in;
    }
    return NULL;
}
