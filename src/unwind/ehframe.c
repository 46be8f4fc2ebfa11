/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of .eh_frame and .debug_frame. */
#include "unwind/ehframe.h"

#include "unwind/ehframe_leb.h"

#include <string.h>

/* Pointer encodings, LSB Core 5.0 section 10.5.1. */
enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128 = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB128 = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

#define RA_REG 16 /* rip's column, System V psABI x86-64, figure 3.36 */

void cfi_reader_init(struct cfi_reader *r, const struct cfi_section *sec)
{
    *r = (struct cfi_reader){.sec = *sec};
}

void cfi_reader_release(struct cfi_reader *r)
{
    vec_release(&r->cies);
    map_release(&r->by_offset);
}

static uint64_t pointer_value(struct cursor *c, uint8_t format, uint8_t address_size)
{
    switch (format) {
    case PE_ABSPTR:
        return leb_fixed(c, address_size);
    case PE_ULEB128:
        return leb_unsigned(c);
    case PE_UDATA2:
        return leb_fixed(c, 2);
    case PE_UDATA4:
        return leb_fixed(c, 4);
    case PE_UDATA8:
    case PE_SDATA8:
        return leb_fixed(c, 8);
    case PE_SLEB128:
        return (uint64_t)leb_signed(c);
    case PE_SDATA2:
        return (uint64_t)(int16_t)leb_fixed(c, 2);
    case PE_SDATA4:
        return (uint64_t)(int32_t)leb_fixed(c, 4);
    default:
        c->bad = 1;
        return 0;
    }
}

uint64_t cfi_pointer(struct cursor *c, uint8_t enc, uint8_t address_size, uint64_t vaddr, uint64_t base)
{
    uint64_t v;

    if (enc == PE_OMIT || (enc & PE_INDIRECT)) {
        c->bad = 1;
        return 0;
    }
    v = pointer_value(c, enc & 0x0f, address_size);
    switch (enc & 0x70) {
    case 0:
        return v;
    case PE_PCREL:
        return v + vaddr;
    case PE_DATAREL:
        return v + base;
    default:
        c->bad = 1;
        return 0;
    }
}

/* The augmentation's data for each of its letters, in their order. Unknown letters: the rest can be skipped
 * by its length, which 'z' gives, but a letter that changes the FDEs would be missed, so the CIE is refused.
 */
static void read_augmentation(struct cfi_cie *cie, struct cursor *c, const char *aug)
{
    struct cursor data;
    uint64_t len;

    if (!aug[0])
        return;
    if (aug[0] != 'z') {
        cie->bad = 1;
        return;
    }
    len = leb_unsigned(c);
    data.p = leb_block(c, len);
    if (!data.p)
        return;
    data.end = data.p + len;
    data.bad = 0;
    cie->has_aug_data = 1;
    for (aug++; *aug; aug++) {
        if (*aug == 'R') {
            cie->address_enc = leb_u8(&data);
        } else if (*aug == 'P') {
            pointer_value(&data, leb_u8(&data) & 0x0f,
                          cie->address_size); /* the personality: of no use here */
        } else if (*aug == 'L') {
            leb_u8(&data);
        } else if (*aug == 'S') {
            cie->signal = 1;
        } else {
            cie->bad = 1;
            return;
        }
    }
    cie->bad |= data.bad;
}

/* c stands behind the CIE's id. */
static void read_cie(const struct cfi_reader *r, struct cfi_cie *cie, struct cursor *c)
{
    uint8_t version = leb_u8(c);
    const char *aug = (const char *)c->p;
    const uint8_t *nul = memchr(c->p, 0, (size_t)(c->end - c->p));
    struct cfi_run run;

    cie->address_enc = PE_ABSPTR;
    cie->address_size = 8;
    if (!nul || (version != 1 && version != 3 && version != 4)) {
        cie->bad = 1;
        return;
    }
    c->p = nul + 1;
    if (version == 4) {
        cie->address_size = leb_u8(c);
        if (leb_u8(c) || cie->address_size != 8) /* segment selectors, other address sizes */
            cie->bad = 1;
    }
    cie->code_align = leb_unsigned(c);
    cie->data_align = leb_signed(c);
    cie->ra_reg = version == 1 ? leb_u8(c) : leb_unsigned(c);
    read_augmentation(cie, c, aug);
    cie->program = c->p;
    cie->program_end = c->end;
    cie->bad |= c->bad || cie->ra_reg != RA_REG || !cie->code_align;
    if (cie->bad)
        return;
    cfi_run_init(
        &run, r,
        &(struct cfi_fde){.len = 1, .cie = UINT32_MAX, .program = cie->program, .program_end = c->end});
    run.cie = cie;
    cfi_run_next(&run);
    cie->bad |= run.bad || run.p != run.end; /* a CIE's program advances nowhere */
    cie->initial = run.state;
}

/* An entry's extent: its cursor behind the length, its id field's place and width. */
struct entry {
    struct cursor body;
    uint64_t id;
    size_t id_off; /* of the id field in the section */
    int wide;      /* 64-bit DWARF */
};

/* 0; -1 with *off at the section's end: the length is malformed, so there is no way on. Length 0: e->body is
 * empty. */
static int read_entry(const struct cfi_section *s, size_t *off, struct entry *e)
{
    struct cursor c = cursor_init(s->p + *off, s->n - *off);
    uint64_t len = leb_fixed(&c, 4);

    e->wide = len == 0xffffffff;
    if (e->wide)
        len = leb_fixed(&c, 8);
    e->id_off = (size_t)(c.p - s->p);
    e->body.p = leb_block(&c, len);
    if (c.bad) {
        *off = s->n;
        return -1;
    }
    *off = (size_t)(c.p - s->p);
    e->body.end = c.p;
    e->body.bad = 0;
    if (len)
        e->id = leb_fixed(&e->body, e->wide && s->is_debug ? 8 : 4);
    return 0;
}

static int is_cie(const struct cfi_section *s, const struct entry *e)
{
    if (!s->is_debug)
        return !e->id;
    return e->id == (e->wide ? ~0ull : 0xffffffffu);
}

/* Index of the CIE at a section offset; UINT32_MAX when there is none that can be used. */
static uint32_t find_cie(struct cfi_reader *r, uint64_t off)
{
    struct entry e = {0};
    size_t at = (size_t)off;
    uint64_t *slot;

    if (r->has_last && r->last_offset == off)
        return r->last_cie;
    if (off >= r->sec.n)
        return UINT32_MAX;
    slot = map_put(&r->by_offset, off);
    if (!*slot) {
        struct cfi_cie cie = {0};

        if (read_entry(&r->sec, &at, &e) || e.body.p == e.body.end || !is_cie(&r->sec, &e))
            cie.bad = 1;
        else
            read_cie(r, &cie, &e.body);
        *vec_push(&r->cies) = cie;
        *slot = r->cies.n;
    }
    r->last_offset = off;
    r->last_cie = r->cies.a[*slot - 1].bad ? UINT32_MAX : (uint32_t)(*slot - 1);
    r->has_last = 1;
    return r->last_cie;
}

/* Where the CIE of an FDE is. .eh_frame: from the id field back; .debug_frame: from the section's start. */
static uint64_t cie_offset(const struct cfi_section *s, const struct entry *e)
{
    return s->is_debug ? e->id : e->id_off - e->id;
}

static int read_fde(const struct cfi_section *s, struct entry *e, const struct cfi_cie *cie,
                    struct cfi_fde *fde)
{
    struct cursor *c = &e->body;
    uint64_t aug;

    fde->pc = cfi_pointer(c, cie->address_enc, cie->address_size, s->vaddr + (uint64_t)(c->p - s->p), 0);
    fde->len = pointer_value(c, cie->address_enc & 0x07,
                             cie->address_size); /* a size: unsigned, relative to nothing */
    if (cie->has_aug_data) {
        aug = leb_unsigned(c);
        leb_block(c, aug);
    }
    fde->program = c->p;
    fde->program_end = c->end;
    return c->bad || fde->pc + fde->len < fde->pc ? -1 : 0;
}

int cfi_fde_at(const struct cfi_section *sec, size_t off, struct cfi_cie *cie, struct cfi_fde *fde)
{
    const struct cfi_reader r = {.sec = *sec};
    struct entry e = {0}, of = {0};
    size_t at;

    if (off >= sec->n || read_entry(sec, &off, &e) || e.body.p == e.body.end || is_cie(sec, &e))
        return -1;
    at = (size_t)cie_offset(sec, &e);
    *cie = (struct cfi_cie){0};
    if (at >= sec->n || read_entry(sec, &at, &of) || of.body.p == of.body.end || !is_cie(sec, &of))
        return -1;
    read_cie(&r, cie, &of.body);
    fde->cie = 0;
    return cie->bad ? -1 : read_fde(sec, &e, cie, fde);
}

enum cfi_entry cfi_next(struct cfi_reader *r, size_t *off, struct cfi_fde *fde)
{
    struct entry e = {0};

    if (*off >= r->sec.n)
        return CFI_END;
    if (read_entry(&r->sec, off, &e))
        return CFI_BAD;
    if (e.body.p == e.body.end && !e.id)
        return CFI_SKIP; /* a terminator: linkers leave some in the middle, too */
    if (e.body.bad)
        return CFI_BAD;
    if (is_cie(&r->sec, &e))
        return CFI_SKIP;
    fde->cie = find_cie(r, cie_offset(&r->sec, &e));
    if (fde->cie == UINT32_MAX || read_fde(&r->sec, &e, &r->cies.a[fde->cie], fde))
        return CFI_BAD;
    return CFI_FDE;
}
