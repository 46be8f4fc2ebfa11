/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information written by hand, byte by byte, and the rows that must come of it: from the whole
 * table and from the lazy lookup. */
#include "base/buf.h"
#include "base/mem.h"
#include "unwind/table.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CODE   0x401000 /* where the code lies */
#define CODE_N 0x3000
#define EH     0x500000 /* where .eh_frame lies */

/* Bytes in a row: B(b, 1, 2, 3). */
#define B(b, ...)                                                                                            \
    do {                                                                                                     \
        const uint8_t bytes_[] = {__VA_ARGS__};                                                              \
        buf_add(b, bytes_, sizeof(bytes_));                                                                  \
    } while (0)

static void le(struct buf *b, uint64_t v, unsigned n)
{
    buf_add(b, &v, n);
}

/* ---- an ELF image around the sections ---- */

struct image {
    struct buf eh, debug, code, elf;
    uint64_t entry;
    struct unw_table *table;
    struct unw_lazy *lazy;
};

static void add_section(struct buf *b, uint32_t name, uint32_t type, uint64_t addr, uint64_t off,
                        uint64_t size)
{
    Elf64_Shdr sh = {.sh_name = name, .sh_type = type, .sh_addr = addr, .sh_offset = off, .sh_size = size};

    buf_add(b, &sh, sizeof(sh));
}

static void image_build(struct image *m)
{
    static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";
    Elf64_Ehdr eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                     .e_type = ET_EXEC,
                     .e_machine = EM_X86_64,
                     .e_version = EV_CURRENT,
                     .e_entry = m->entry,
                     .e_phoff = sizeof(eh),
                     .e_ehsize = sizeof(eh),
                     .e_phentsize = sizeof(Elf64_Phdr),
                     .e_phnum = 1,
                     .e_shentsize = sizeof(Elf64_Shdr),
                     .e_shnum = 4,
                     .e_shstrndx = 3};
    Elf64_Phdr ph = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1000, .p_vaddr = CODE};
    size_t eh_at, debug_at, names_at;
    struct err e = {0};

    ph.p_filesz = ph.p_memsz = CODE_N;
    buf_add(&m->elf, &eh, sizeof(eh));
    buf_add(&m->elf, &ph, sizeof(ph));
    while (m->elf.len < 0x1000)
        buf_addch(&m->elf, 0);
    buf_add(&m->elf, buf_str(&m->code), m->code.len);
    while (m->elf.len < 0x1000 + CODE_N)
        buf_addch(&m->elf, (char)0x90);
    eh_at = m->elf.len;
    buf_add(&m->elf, buf_str(&m->eh), m->eh.len);
    debug_at = m->elf.len;
    buf_add(&m->elf, buf_str(&m->debug), m->debug.len);
    names_at = m->elf.len;
    buf_add(&m->elf, names, sizeof(names));
    ((Elf64_Ehdr *)m->elf.data)->e_shoff = m->elf.len;
    add_section(&m->elf, 0, SHT_NULL, 0, 0, 0);
    add_section(&m->elf, 1, SHT_PROGBITS, EH, eh_at, m->eh.len);
    add_section(&m->elf, 11, SHT_PROGBITS, 0, debug_at, m->debug.len);
    add_section(&m->elf, 24, SHT_STRTAB, 0, names_at, sizeof(names));
    m->table = unw_table_open_image(m->elf.data, m->elf.len, &e);
    m->lazy = unw_lazy_open_image(m->elf.data, m->elf.len, &e);
    if (!m->table || !m->lazy)
        fail_msg("%s", e.msg);
}

static void image_release(struct image *m)
{
    unw_table_free(m->table);
    unw_lazy_free(m->lazy);
    buf_release(&m->eh);
    buf_release(&m->debug);
    buf_release(&m->code);
    buf_release(&m->elf);
    *m = (struct image){0};
}

/* An entry with its length in front, padded with DW_CFA_nop to a multiple of 8. */
static size_t add_entry(struct buf *sec, const struct buf *body)
{
    size_t at = sec->len, pad = (8 - (body->len + 4) % 8) % 8;

    le(sec, body->len + pad, 4);
    buf_add(sec, body->data, body->len);
    while (pad--)
        buf_addch(sec, 0);
    return at;
}

/* "zR", code align 1, data align -8, rip in column 16; CFA = rsp + 8, rip at CFA - 8. */
static size_t add_cie(struct buf *sec, uint8_t enc)
{
    struct buf b = {0};
    size_t at;

    B(&b, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, enc, 0x0c, 7, 8, 0x90, 1);
    at = add_entry(sec, &b);
    buf_release(&b);
    return at;
}

/* An entry of .eh_frame for [pc, pc + len), addresses as pcrel sdata4. */
static void add_fde(struct buf *sec, size_t cie, uint64_t pc, uint32_t len, const struct buf *program)
{
    struct buf b = {0};

    le(&b, sec->len + 4 - cie, 4);
    le(&b, pc - (EH + sec->len + 8), 4);
    le(&b, len, 4);
    buf_addch(&b, 0);
    if (program->len)
        buf_add(&b, program->data, program->len);
    add_entry(sec, &b);
    buf_release(&b);
}

#define PCREL_SDATA4 0x1b

/* One function [CODE, CODE + 0x100) with this program. */
static void one_function(struct image *m, struct buf *program)
{
    size_t cie = add_cie(&m->eh, PCREL_SDATA4);

    add_fde(&m->eh, cie, CODE, 0x100, program);
    image_build(m);
    buf_release(program);
}

/* Both the table and the lazy lookup must say this at CODE + off. */
static void expect(const struct image *m, uint32_t off, int rule, int cfa, int bp)
{
    const struct unw_row *row = unw_table_find(m->table, CODE + off);
    struct unw_row lazy;

    unw_lazy_find(m->lazy, CODE + off, &lazy);
    assert_non_null(row);
    if (row->rule != rule || row->cfa != cfa || row->bp != bp)
        fail_msg("at %#x: table says %#x %d %d, not %#x %d %d", off, row->rule, row->cfa, row->bp, rule, cfa,
                 bp);
    if (lazy.rule != rule || lazy.cfa != cfa || lazy.bp != bp)
        fail_msg("at %#x: lazy says %#x %d %d, not %#x %d %d", off, lazy.rule, lazy.cfa, lazy.bp, rule, cfa,
                 bp);
}

/* ---- programs ---- */

static void a_usual_function(void **state)
{
    struct image m = {0};
    struct buf p = {0};

    /* push %rbp; mov %rsp, %rbp; ...; leave; ret */
    B(&p, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x60, 0x0c, 7, 8, 0xc6);
    one_function(&m, &p);
    expect(&m, 0x00, UNW_SP, 8, 0);
    expect(&m, 0x01, UNW_SP | UNW_BP_CFA, 16, -2);
    expect(&m, 0x03, UNW_SP | UNW_BP_CFA, 16, -2);
    expect(&m, 0x04, UNW_BP | UNW_BP_CFA, 16, -2);
    expect(&m, 0x23, UNW_BP | UNW_BP_CFA, 16, -2);
    expect(&m, 0x24, UNW_SP, 8, 0);
    expect(&m, 0xff, UNW_SP, 8, 0);
    expect(&m, 0x100, UNW_NONE, 0, 0);
    assert_int_equal(m.table->n, 5);
    assert_int_equal(m.table->stats.entries, 1);
    image_release(&m);
}

static void every_way_to_advance(void **state)
{
    struct image m = {0};
    struct buf p = {0};

    B(&p, 0x42, 0x0e, 16);                            /* to 0x02 */
    B(&p, 0x02, 0x0e, 0x0e, 24);                      /* to 0x10 */
    B(&p, 0x03, 0x10, 0x00, 0x0e, 32);                /* to 0x20 */
    B(&p, 0x04, 0x10, 0, 0, 0, 0x0e, 40);             /* to 0x30 */
    B(&p, 0x1d, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0e, 48); /* to 0x40 */
    B(&p, 0x01);                                      /* set_loc, pcrel: from here to CODE + 0x50 */
    le(&p, CODE + 0x50 - (EH + 24 + 4 + 4 + 4 + 4 + 1 + p.len), 4);
    B(&p, 0x0e, 56);
    one_function(&m, &p);
    for (int i = 1; i < 6; i++)
        expect(&m, (uint32_t)i * 16, UNW_SP, 16 + 8 * i, 0);
    expect(&m, 0x01, UNW_SP, 8, 0);
    expect(&m, 0x02, UNW_SP, 16, 0);
    expect(&m, 0x4f, UNW_SP, 48, 0);
    image_release(&m);
}

static void states_are_remembered(void **state)
{
    struct image m = {0};
    struct buf p = {0};

    B(&p, 0x44, 0x0e, 16, 0x86, 2);               /* 4: pushed rbp */
    B(&p, 0x44, 0x0a, 0x0a, 0x0e, 8, 0xc6, 0x44); /* 8: epilogue; remembered twice */
    B(&p, 0x0b, 0x44, 0x0d, 6, 0x44, 0x0b);       /* 12: restored; 16: by rbp; 20: restored */
    one_function(&m, &p);
    expect(&m, 4, UNW_SP | UNW_BP_CFA, 16, -2);
    expect(&m, 8, UNW_SP, 8, 0);
    expect(&m, 12, UNW_SP | UNW_BP_CFA, 16, -2);
    expect(&m, 16, UNW_BP | UNW_BP_CFA, 16, -2);
    expect(&m, 20, UNW_SP | UNW_BP_CFA, 16, -2);
    image_release(&m);
}

static void realigned_stacks(void **state)
{
    struct image m = {0};
    struct buf p = {0};

    B(&p, 0x41, 0x0c, 10, 0);                /* lea 8(%rsp), %r10 */
    B(&p, 0x44, 0x10, 6, 2, 0x76, 0);        /* rbp at *(rbp + 0) */
    B(&p, 0x44, 0x0f, 3, 0x76, 0x78, 0x06);  /* CFA = *(rbp - 8) */
    B(&p, 0x44, 0x0c, 13, 0x10);             /* CFA = r13 + 16 */
    B(&p, 0x44, 0x0c, 7, 16, 0x44, 0x0e, 8); /* CFA = rsp + 16, then rsp + 8: rbp is back */
    one_function(&m, &p);
    expect(&m, 17, UNW_SP | UNW_BP_BP, 16, 0);
    expect(&m, 21, UNW_SP, 8, 0);
    expect(&m, 1, UNW_R10, 0, 0);
    expect(&m, 5, UNW_R10 | UNW_BP_BP, 0, 0);
    expect(&m, 9, UNW_DEREF_BP | UNW_BP_BP, -8, 0);
    expect(&m, 13, UNW_R13 | UNW_BP_BP, 16, 0);
    image_release(&m);
}

static void the_linkers_stubs(void **state)
{
    struct image m = {0};
    struct buf p = {0};

    B(&p, 0x0e, 16, 0x46, 0x0e, 24, 0x4a);
    B(&p, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
    B(&p, 0x50, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22);
    B(&p, 0x50, 0x0f, 5, 0x77, 24, 0x06, 0x23, 8); /* OpenSSL: *(rsp + 24) + 8 */
    one_function(&m, &p);
    expect(&m, 0, UNW_SP, 16, 0);
    expect(&m, 6, UNW_SP, 24, 0);
    expect(&m, 16, UNW_PLT, 11, 0);
    expect(&m, 32, UNW_PLT, 9, 0);
    expect(&m, 48, UNW_DEREF_SP, 24, 0);
    image_release(&m);
}

static void ends_and_signals(void **state)
{
    struct image m = {0};
    struct buf p = {0};

    B(&p, 0x07, 16); /* rip undefined */
    B(&p, 0x50, 0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 0x01, 0x10, 6, 3, 0x77, 0xf8, 0x00);
    one_function(&m, &p);
    expect(&m, 0, UNW_END, 0, 0);
    expect(&m, 16, UNW_SIGNAL, 0, 0);
    image_release(&m);
}

static void large_and_impossible_frames(void **state)
{
    struct image m = {0};
    struct buf p = {0};

    B(&p, 0x0e, 0xf8, 0xff, 0x01);              /* 32760 */
    B(&p, 0x41, 0x0e, 0x80, 0x80, 0x04);        /* 65536 */
    B(&p, 0x41, 0x0e, 0x84, 0x80, 0x04);        /* 65540: not of 8 */
    B(&p, 0x41, 0x0e, 0x80, 0x80, 0x20);        /* 512 KiB */
    B(&p, 0x41, 0x0c, 3, 16);                   /* by rbx */
    B(&p, 0x41, 0x0c, 7, 16, 0x16, 6, 1, 0x30); /* rbp computed */
    B(&p, 0x41, 0xc6, 0x09, 16, 5);             /* rip in a register */
    one_function(&m, &p);
    expect(&m, 0, UNW_SP, 32760, 0);
    expect(&m, 1, UNW_SP | UNW_CFA8, 8192, 0);
    for (uint32_t off = 2; off < 7; off++)
        expect(&m, off, UNW_NONE, 0, 0);
    assert_int_equal(m.table->stats.unsaid, 5);
    assert_int_equal(m.table->stats.bad, 0);
    image_release(&m);
}

static void offsets_in_every_form(void **state)
{
    struct image m = {0};
    struct buf p = {0};

    B(&p, 0x05, 6, 3);                       /* offset_extended: CFA - 24 */
    B(&p, 0x41, 0x11, 6, 0x04);              /* offset_extended_sf 4: CFA - 32 */
    B(&p, 0x41, 0x2f, 6, 2);                 /* negative_offset_extended: CFA + 16 */
    B(&p, 0x41, 0x06, 6);                    /* restore_extended */
    B(&p, 0x41, 0x12, 6, 0x7d);              /* def_cfa_sf: rbp + 24 */
    B(&p, 0x41, 0x13, 0x7c);                 /* def_cfa_offset_sf: 32 */
    B(&p, 0x41, 0x2e, 64, 0x08, 6, 0x83, 3); /* args_size, same_value, rbx: nothing new */
    one_function(&m, &p);
    expect(&m, 0, UNW_SP | UNW_BP_CFA, 8, -3);
    expect(&m, 1, UNW_SP | UNW_BP_CFA, 8, -4);
    expect(&m, 2, UNW_SP | UNW_BP_CFA, 8, 2);
    expect(&m, 3, UNW_SP, 8, 0);
    expect(&m, 4, UNW_BP, 24, 0);
    expect(&m, 5, UNW_BP, 32, 0);
    expect(&m, 6, UNW_BP, 32, 0);
    image_release(&m);
}

static void malformed_programs_end_in_none(void **state)
{
    static const uint8_t bad[][5] = {
        {0x0b},                         /* restore_state without remember_state */
        {0x3f},                         /* no such instruction */
        {0x0f, 1, 0x96, 0x0e, 32},      /* def_cfa_offset while the CFA is an expression */
        {0x0f, 0x7f},                   /* an expression longer than the entry */
        {0x80, 0x80, 0x80, 0x80, 0x80}, /* a number that the entry's end cuts off */
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct image m = {0};
        struct buf p = {0};

        B(&p, 0x44, 0x0e, 16, 0x44);
        buf_add(&p, bad[i], sizeof(bad[i]));
        while (bad[i][0] == 0x80 && p.len % 8 != 7) /* no padding behind it, which would end the number */
            buf_addch(&p, (char)0x80);
        one_function(&m, &p);
        expect(&m, 0, UNW_SP, 8, 0);
        expect(&m, 4, UNW_SP, 16, 0);
        expect(&m, 8, UNW_NONE, 0, 0);
        expect(&m, 0xff, UNW_NONE, 0, 0);
        assert_int_equal(m.table->stats.bad, 1);
        image_release(&m);
    }
}

/* ---- entries ---- */

static void order_holes_and_padding(void **state)
{
    struct image m = {0};
    struct buf none = {0}, deep = {0};
    size_t cie = add_cie(&m.eh, PCREL_SDATA4);

    B(&deep, 0x0e, 64);
    add_fde(&m.eh, cie, CODE + 0x200, 0x80, &deep); /* a hole before it */
    add_fde(&m.eh, cie, CODE + 0x40, 0x31, &none);  /* 15 bytes of padding behind it */
    add_fde(&m.eh, cie, CODE + 0x80, 0x20, &none);
    add_fde(&m.eh, cie, 0x1000, 0x20, &deep);       /* a function that the linker dropped */
    add_fde(&m.eh, cie, CODE + 0x240, 0x80, &none); /* overlaps the first */
    add_fde(&m.eh, cie, CODE + 0x80, 0x20, &deep);  /* the same again */
    image_build(&m);
    assert_int_equal(unw_table_find(m.table, CODE + 0x3f)->rule, UNW_NONE);
    assert_int_equal(unw_table_find(m.table, CODE + 0x7f)->rule, UNW_SP);
    expect(&m, 0x40, UNW_SP, 8, 0);
    expect(&m, 0x9f, UNW_SP, 8, 0);
    expect(&m, 0xa0, UNW_NONE, 0, 0);
    expect(&m, 0x1ff, UNW_NONE, 0, 0);
    expect(&m, 0x200, UNW_SP, 64, 0);
    expect(&m, 0x23f, UNW_SP, 64, 0);
    expect(&m, 0x240, UNW_SP, 8, 0);
    expect(&m, 0x2c0, UNW_NONE, 0, 0);
    assert_int_equal(m.table->n, 6);
    assert_int_equal(m.table->rows[5].rule, UNW_NONE);
    buf_release(&deep);
    image_release(&m);
}

/* The encodings of an FDE's addresses. */
static void encodings(void **state)
{
    static const struct {
        uint8_t enc, size;
        int relative;
    } forms[] = {{0x00, 8, 0}, {0x03, 4, 0}, {0x04, 8, 0}, {0x0b, 4, 0}, {0x0c, 8, 0},
                 {0x1b, 4, 1}, {0x1c, 8, 1}, {0x10, 8, 1}, {0x14, 8, 1}};

    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        struct image m = {0};
        struct buf b = {0};
        size_t cie = add_cie(&m.eh, forms[i].enc);

        le(&b, m.eh.len + 4 - cie, 4);
        le(&b, CODE - (forms[i].relative ? EH + m.eh.len + 8 : 0), forms[i].size);
        le(&b, 0x100, forms[i].size);
        B(&b, 0, 0x0e, 24);
        add_entry(&m.eh, &b);
        buf_release(&b);
        image_build(&m);
        expect(&m, 0, UNW_SP, 24, 0);
        expect(&m, 0xff, UNW_SP, 24, 0);
        expect(&m, 0x100, UNW_NONE, 0, 0);
        image_release(&m);
    }
}

/* Augmentations P and L are skipped, S is known, another letter and an indirect address are refused. */
static void augmentations(void **state)
{
    struct image m = {0};
    struct buf b = {0};
    size_t at;

    B(&b, 0, 0, 0, 0, 1, 'z', 'P', 'L', 'R', 'S', 0, 1, 0x78, 16, 7, 0x9b, 1, 2, 3, 4, 0x1b, 0x1b, 0x0c, 7, 8,
      0x90, 1);
    at = add_entry(&m.eh, &b);
    buf_clear(&b);
    le(&b, m.eh.len + 4 - at, 4);
    le(&b, CODE - (EH + m.eh.len + 8), 4);
    le(&b, 0x10, 4);
    B(&b, 4, 9, 9, 9, 9, 0x0e, 24); /* its LSDA's address */
    add_entry(&m.eh, &b);
    buf_clear(&b);
    B(&b, 0, 0, 0, 0, 1, 'z', 'R', 'Q', 0, 1, 0x78, 16, 2, 0x1b, 0, 0x0c, 7, 8, 0x90, 1);
    at = add_entry(&m.eh, &b);
    add_fde(&m.eh, at, CODE + 0x20, 0x10, &(struct buf){0});
    at = add_cie(&m.eh, 0x9b);
    add_fde(&m.eh, at, CODE + 0x40, 0x10, &(struct buf){0});
    image_build(&m);
    expect(&m, 0, UNW_SP, 24, 0);
    expect(&m, 0x20, UNW_NONE, 0, 0);
    expect(&m, 0x40, UNW_NONE, 0, 0);
    assert_int_equal(m.table->stats.bad, 2);
    assert_int_equal(m.table->stats.entries, 1);
    buf_release(&b);
    image_release(&m);
}

static void debug_frame_fills_what_eh_frame_lacks(void **state)
{
    struct image m = {0};
    struct buf b = {0}, none = {0};
    size_t cie = add_cie(&m.eh, PCREL_SDATA4);

    add_fde(&m.eh, cie, CODE, 0x10, &none);
    B(&b, 0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1);
    add_entry(&m.debug, &b);
    for (unsigned i = 0; i < 2; i++) {
        buf_clear(&b);
        le(&b, 0, 4); /* the CIE's offset */
        le(&b, CODE + i * 0x40, 8);
        le(&b, 0x20, 8);
        B(&b, 0x0e, 96);
        add_entry(&m.debug, &b);
    }
    image_build(&m);
    expect(&m, 0, UNW_SP, 8, 0); /* both describe it: .eh_frame's word counts */
    expect(&m, 0x40, UNW_SP, 96, 0);
    expect(&m, 0x60, UNW_NONE, 0, 0);
    buf_release(&b);
    image_release(&m);
}

static void long_lengths_and_terminators(void **state)
{
    struct image m = {0};
    struct buf none = {0}, b = {0};
    size_t cie = add_cie(&m.eh, PCREL_SDATA4);

    le(&m.eh, 0, 4); /* a terminator in the middle */
    add_fde(&m.eh, cie, CODE, 0x10, &none);
    le(&b, m.eh.len + 12 - cie, 4);
    le(&b, CODE + 0x20 - (EH + m.eh.len + 16), 4);
    le(&b, 0x10, 4);
    B(&b, 0, 0x0e, 40, 0);
    le(&m.eh, 0xffffffff, 4);
    le(&m.eh, b.len, 8);
    buf_add(&m.eh, b.data, b.len);
    image_build(&m);
    expect(&m, 0, UNW_SP, 8, 0);
    expect(&m, 0x20, UNW_SP, 40, 0);
    assert_int_equal(m.table->stats.bad, 0);
    buf_release(&b);
    image_release(&m);
}

/* Cut off at every byte: entries before the cut stay. */
static void cut_sections(void **state)
{
    struct buf none = {0}, whole = {0};
    size_t cie = add_cie(&whole, PCREL_SDATA4), first;

    add_fde(&whole, cie, CODE, 0x10, &none);
    first = whole.len;
    add_fde(&whole, cie, CODE + 0x10, 0x10, &none);
    for (size_t n = 0; n <= whole.len; n++) {
        struct image m = {0};

        buf_add(&m.eh, whole.data, n);
        image_build(&m);
        assert_int_equal(m.table->stats.entries, (n >= first) + (n >= whole.len));
        if (n >= first)
            expect(&m, 0, UNW_SP, 8, 0);
        else
            assert_int_equal(m.table->n, 0);
        image_release(&m);
    }
    buf_release(&whole);
}

/* ---- code without entries ---- */

static void code_known_by_its_bytes(void **state)
{
    struct image m = {0};

    for (int i = 0; i < 0x100; i++)
        buf_addch(&m.code, (char)0x90);
    B(&m.code, 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05); /* 0x100: mov $15, %rax; syscall */
    for (int i = 0; i < 0x100; i++)
        buf_addch(&m.code, (char)0xcc);
    B(&m.code, 0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05); /* 0x209: exit with what a thread returned */
    m.entry = CODE + 0x1000;
    image_build(&m);
    expect(&m, 0xfe, UNW_NONE, 0, 0);
    expect(&m, 0xff, UNW_SIGNAL, 0, 0);
    expect(&m, 0x108, UNW_SIGNAL, 0, 0);
    expect(&m, 0x109, UNW_NONE, 0, 0);
    expect(&m, 0x208, UNW_END, 0, 0);
    expect(&m, 0x211, UNW_NONE, 0, 0);
    expect(&m, 0xfff, UNW_NONE, 0, 0);
    expect(&m, 0x1000, UNW_END, 0, 0);
    expect(&m, 0x103f, UNW_END, 0, 0);
    expect(&m, 0x1040, UNW_NONE, 0, 0);
    image_release(&m);
}

static void other_files_are_refused(void **state)
{
    struct image m = {0};
    struct err e;

    image_build(&m);
    assert_int_equal(m.table->n, 0);
    ((Elf64_Ehdr *)m.elf.data)->e_machine = EM_AARCH64;
    e.msg[0] = '\0';
    assert_null(unw_table_open_image(m.elf.data, m.elf.len, &e));
    assert_non_null(strstr(e.msg, "x86-64"));
    e.msg[0] = '\0';
    assert_null(unw_lazy_open_image("no ELF at all, but some text", 28, &e));
    assert_true(e.msg[0] != '\0');
    image_release(&m);
}

static void mappings_have_a_bias(void **state)
{
    struct unw_layout l = {.n = 2, .seg = {{0x1000, 0x401000, 0x2345}, {0x5010, 0x806010, 0x100}}};
    uint64_t bias;

    assert_int_equal(unw_layout_bias(&l, 0x7f0000001000, 0x1000, &bias), 0);
    assert_true(bias == 0x7f0000001000 - 0x401000);
    assert_int_equal(unw_layout_bias(&l, 0x7f0000003000, 0x3000, &bias),
                     0); /* the second page of a split mapping */
    assert_true(bias == 0x7f0000001000 - 0x401000);
    assert_int_equal(unw_layout_bias(&l, 0x7f0000005000, 0x5000, &bias),
                     0); /* begins in the middle of a page */
    assert_true(bias == 0x7f0000005010 - 0x806010);
    assert_int_equal(unw_layout_bias(&l, 0x7f0000000000, 0, &bias), -1);
    assert_int_equal(unw_layout_bias(&l, 0x7f0000000000, 0x6000, &bias), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_usual_function),
        cmocka_unit_test(every_way_to_advance),
        cmocka_unit_test(states_are_remembered),
        cmocka_unit_test(realigned_stacks),
        cmocka_unit_test(the_linkers_stubs),
        cmocka_unit_test(ends_and_signals),
        cmocka_unit_test(large_and_impossible_frames),
        cmocka_unit_test(offsets_in_every_form),
        cmocka_unit_test(malformed_programs_end_in_none),
        cmocka_unit_test(order_holes_and_padding),
        cmocka_unit_test(encodings),
        cmocka_unit_test(augmentations),
        cmocka_unit_test(debug_frame_fills_what_eh_frame_lacks),
        cmocka_unit_test(long_lengths_and_terminators),
        cmocka_unit_test(cut_sections),
        cmocka_unit_test(code_known_by_its_bytes),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(mappings_have_a_bias),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
