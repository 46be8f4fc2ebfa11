/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/elf_cfi.h"

#include "unwind/ehframe_leb.h"

#include <elf.h>
#include <string.h>

#define PAGE 4096u

static int add_segment(struct unw_layout *l, const struct elf_segment *s, struct err *err)
{
    if (l->n == UNW_MAX_SEGMENTS)
        return err_set(err, "more than %d executable segments", UNW_MAX_SEGMENTS);
    if (s->vaddr + s->filesz < s->vaddr || s->offset + s->filesz < s->offset)
        return err_set(err, "malformed ELF: a segment that wraps around");
    if (l->n && s->vaddr < l->seg[l->n - 1].vaddr + l->seg[l->n - 1].filesz)
        return err_set(err, "malformed ELF: executable segments overlap or don't rise");
    l->seg[l->n++] = (struct unw_segment){s->offset, s->vaddr, s->filesz};
    return 0;
}

int elf_cfi_layout(const struct elf *f, struct unw_layout *l, struct err *err)
{
    memset(l, 0, sizeof(*l));
    if (f->machine != EM_X86_64)
        return err_set(err, "not an ELF file for x86-64");
    for (size_t i = 0; i < f->segments_n; i++) {
        const struct elf_segment *s = &f->segments[i];

        if (s->type == PT_LOAD && (s->flags & PF_X) && s->filesz && add_segment(l, s, err))
            return -1;
    }
    l->base = l->n ? l->seg[0].vaddr & ~(uint64_t)(PAGE - 1) : 0;
    l->build_id_len = (uint32_t)elf_build_id(f, l->build_id);
    return 0;
}

static void find_section(const struct elf *f, const char *name, struct cfi_section *out,
                         struct elf_data *data)
{
    const struct elf_section *s = elf_section(f, name);

    if (s && !elf_section_data(f, s, data, NULL))
        *out = (struct cfi_section){data->n ? data->p : NULL, data->n, s->addr, 0};
}

/* The bytes from vaddr to the end of its segment in the file. */
static void rest_of_segment(const struct elf *f, uint64_t vaddr, struct cfi_section *out)
{
    for (size_t i = 0; i < f->segments_n; i++) {
        const struct elf_segment *s = &f->segments[i];
        uint64_t in = vaddr - s->vaddr;
        const void *p;

        if (s->type != PT_LOAD || vaddr < s->vaddr || in >= s->filesz)
            continue;
        p = elf_at(f, vaddr, s->filesz - in);
        if (p)
            *out = (struct cfi_section){p, s->filesz - in, vaddr, 0};
        return;
    }
}

/* Without section headers: by PT_GNU_EH_FRAME. Its first pointer says where .eh_frame begins; the end isn't
 * said, so that of its segment has to do. */
static void find_by_segment(struct elf_cfi *e)
{
    const struct elf_segment *hdr = NULL;
    struct cursor c;
    uint64_t at;

    for (size_t i = 0; i < e->elf.segments_n && !hdr; i++)
        if (e->elf.segments[i].type == PT_GNU_EH_FRAME)
            hdr = &e->elf.segments[i];
    if (!hdr || hdr->filesz < 8)
        return;
    e->hdr = (struct cfi_section){elf_at(&e->elf, hdr->vaddr, hdr->filesz), hdr->filesz, hdr->vaddr, 0};
    if (!e->hdr.p) {
        e->hdr.n = 0;
        return;
    }
    c = cursor_init(e->hdr.p + 4, e->hdr.n - 4);
    at = cfi_pointer(&c, e->hdr.p[1], 8, e->hdr.vaddr + 4, e->hdr.vaddr);
    if (!c.bad)
        rest_of_segment(&e->elf, at, &e->eh);
}

static int open_elf(struct elf_cfi *e, struct err *err)
{
    struct elf_data hdr = {0};

    if (elf_cfi_layout(&e->elf, &e->layout, err))
        return -1;
    find_section(&e->elf, ".eh_frame", &e->eh, &e->eh_data);
    find_section(&e->elf, ".eh_frame_hdr", &e->hdr, &hdr);
    find_section(&e->elf, ".debug_frame", &e->debug, &e->debug_data);
    e->debug.is_debug = 1;
    if (hdr.owned) { /* loaded sections are never compressed */
        elf_data_release(&hdr);
        e->hdr = (struct cfi_section){0};
    }
    if (!e->eh.p)
        find_by_segment(e);
    return 0;
}

int elf_cfi_open(struct elf_cfi *e, int fd, struct err *err)
{
    *e = (struct elf_cfi){0};
    return elf_open_fd(&e->elf, fd, err) ? -1 : open_elf(e, err);
}

int elf_cfi_open_image(struct elf_cfi *e, const void *image, size_t size, struct err *err)
{
    *e = (struct elf_cfi){0};
    return elf_open_mem(&e->elf, image, size, err) ? -1 : open_elf(e, err);
}

void elf_cfi_close(struct elf_cfi *e)
{
    elf_data_release(&e->eh_data);
    elf_data_release(&e->debug_data);
    elf_close(&e->elf);
}

const uint8_t *elf_cfi_code(const struct elf_cfi *e, uint64_t vaddr, uint64_t n)
{
    for (unsigned i = 0; i < e->layout.n; i++) {
        const struct unw_segment *s = &e->layout.seg[i];
        uint64_t in = vaddr - s->vaddr;

        if (vaddr < s->vaddr || in > s->filesz || s->filesz - in < n)
            continue;
        if (s->offset + in > e->elf.n || e->elf.n - (s->offset + in) < n)
            return NULL;
        return e->elf.p + s->offset + in;
    }
    return NULL;
}
