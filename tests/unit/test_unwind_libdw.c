/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind tables against elfutils: for real files, each row is compared with what dwarf_cfi_addrframe says
 * at its first and its last byte, and each range that libdw gives with the row that covers it. */
#include "unwind/table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BP = 6, SP = 7, R10 = 10, R13 = 13, RA = 16 };

struct file {
    int fd;
    Elf *elf;
    Dwarf_CFI *cfi;
    struct unw_table *table;
    struct unw_lazy *lazy;
};

static void file_close(struct file *f)
{
    unw_lazy_free(f->lazy);
    unw_table_free(f->table);
    if (f->cfi)
        dwarf_cfi_end(f->cfi);
    if (f->elf)
        elf_end(f->elf);
    if (f->fd >= 0)
        close(f->fd);
}

/* 0; -1: no such file here. */
static int file_open(struct file *f, const char *pattern)
{
    struct err e = {0};
    glob_t g;

    *f = (struct file){.fd = -1};
    if (glob(pattern, GLOB_BRACE, NULL, &g))
        return -1;
    f->fd = open(g.gl_pathv[0], O_RDONLY | O_CLOEXEC);
    globfree(&g);
    if (f->fd < 0)
        return -1;
    elf_version(EV_CURRENT);
    f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
    f->cfi = dwarf_getcfi_elf(f->elf);
    f->table = unw_table_open(NULL, f->fd, NULL, 0, &e);
    f->lazy = unw_lazy_open(f->fd, &e);
    if (!f->table || !f->lazy)
        fail_msg("%s: %s", pattern, e.msg);
    assert_non_null(f->cfi);
    return 0;
}

static int op_is(const Dwarf_Op *op, unsigned reg, int64_t *off)
{
    if (op->atom == DW_OP_bregx && op->number == reg) {
        *off = (int64_t)op->number2;
        return 1;
    }
    if (op->atom == DW_OP_breg0 + reg) {
        *off = (int64_t)op->number;
        return 1;
    }
    return 0;
}

static void set_cfa(struct unw_row *row, int rule, int64_t off)
{
    if (off == (int16_t)off)
        *row = (struct unw_row){.rule = (uint8_t)rule, .cfa = (int16_t)off};
    else if (off % 8 == 0 && off / 8 == (int16_t)(off / 8))
        *row = (struct unw_row){.rule = (uint8_t)(rule | UNW_CFA8), .cfa = (int16_t)(off / 8)};
}

static void oracle_cfa(const Dwarf_Op *ops, size_t n, struct unw_row *row)
{
    int64_t off;

    if (n == 1 && op_is(ops, SP, &off))
        set_cfa(row, UNW_SP, off);
    else if (n == 1 && op_is(ops, BP, &off))
        set_cfa(row, UNW_BP, off);
    else if (n == 1 && op_is(ops, R10, &off))
        set_cfa(row, UNW_R10, off);
    else if (n == 1 && op_is(ops, R13, &off))
        set_cfa(row, UNW_R13, off);
    else if (n == 2 && op_is(ops, BP, &off) && ops[1].atom == DW_OP_deref)
        set_cfa(row, UNW_DEREF_BP, off);
    else if (n == 3 && op_is(ops, SP, &off) && ops[1].atom == DW_OP_deref &&
             ops[2].atom == DW_OP_plus_uconst && ops[2].number == 8)
        set_cfa(row, UNW_DEREF_SP, off);
    else if (n == 9 && op_is(ops, SP, &off) && op_is(ops + 1, RA, &off) && ops[5].atom == DW_OP_ge)
        set_cfa(row, UNW_PLT, ops[4].atom - DW_OP_lit0);
}

/* An expression for a register starts with the CFA on its stack (DWARF 5 section 6.4.2.3), and libdw shows
 * that. */
static void skip_cfa(Dwarf_Op **ops, size_t *n)
{
    if (*n > 1 && (*ops)[0].atom == DW_OP_call_frame_cfa) {
        ++*ops;
        --*n;
    }
}

/* Where a register was saved, as an offset from the CFA: 1; from a register: 2; unchanged or unknowable: 0;
 * else -1. */
static int oracle_saved(Dwarf_Frame *fr, int reg, int *undefined, int64_t *off)
{
    Dwarf_Op mem[3], *ops;
    size_t n;

    *undefined = 0;
    *off = 0;
    if (dwarf_frame_register(fr, reg, mem, &ops, &n))
        return -1;
    if (!n) {
        *undefined = ops == mem;
        return 0;
    }
    if (ops[n - 1].atom == DW_OP_stack_value)
        return -1;
    if (ops[0].atom == DW_OP_call_frame_cfa && n == 1)
        return 1;
    if (ops[0].atom == DW_OP_call_frame_cfa && n == 2 && ops[1].atom == DW_OP_plus_uconst) {
        *off = (int64_t)ops[1].number;
        return 1;
    }
    skip_cfa(&ops, &n);
    return n == 1 && op_is(ops, BP, off) ? 2 : -1;
}

static int is_signal(Dwarf_Frame *fr)
{
    Dwarf_Op mem[3], *ops;
    int64_t off;
    size_t n;

    if (dwarf_frame_register(fr, RA, mem, &ops, &n))
        return 0;
    skip_cfa(&ops, &n);
    return n == 1 && op_is(ops, SP, &off) && off == 168 && !dwarf_frame_cfa(fr, &ops, &n) && n == 2 &&
           op_is(ops, SP, &off) && off == 160;
}

/* The row that libdw's frame amounts to; UNW_NONE where these tables can't say it. */
static struct unw_row oracle_row(Dwarf_Frame *fr)
{
    struct unw_row row = {0};
    Dwarf_Op *ops;
    int64_t off;
    int undefined, how;
    size_t n;

    if (is_signal(fr))
        return (struct unw_row){.rule = UNW_SIGNAL};
    how = oracle_saved(fr, RA, &undefined, &off);
    if (undefined)
        return (struct unw_row){.rule = UNW_END};
    if (how != 1 || off != -8 || dwarf_frame_cfa(fr, &ops, &n))
        return row;
    oracle_cfa(ops, n, &row);
    if (!row.rule)
        return row;
    how = oracle_saved(fr, BP, &undefined, &off);
    if (how < 0 || (how > 0 && (off % 8 || off / 8 != (int8_t)(off / 8))))
        return (struct unw_row){0};
    if (how == 2 && row.rule == UNW_SP && row.cfa == 8) /* gcc's mistake at the ret: see ehframe_row.c */
        return row;
    if (how > 0) {
        row.rule |= how == 1 ? UNW_BP_CFA : UNW_BP_BP;
        row.bp = (int8_t)(off / 8);
    }
    return row;
}

static int same(const struct unw_row *a, const struct unw_row *b)
{
    return a->rule == b->rule && a->cfa == b->cfa && a->bp == b->bp;
}

/* Compares at one ELF address, the lazy lookup too. 1: agreed; 0: libdw has nothing there. *end: of libdw's
 * range. */
static int compare(struct file *f, uint64_t vaddr, uint64_t *end)
{
    const struct unw_row *mine = unw_table_find(f->table, vaddr);
    struct unw_row theirs, lazy, none = {0};
    Dwarf_Addr from, to;
    Dwarf_Frame *fr;
    bool signal;

    if (dwarf_cfi_addrframe(f->cfi, vaddr, &fr))
        return 0;
    theirs = oracle_row(fr);
    dwarf_frame_info(fr, &from, &to, &signal);
    free(fr);
    *end = to;
    unw_lazy_find(f->lazy, vaddr, &lazy);
    if (!mine)
        mine = &none;
    if (!same(mine, &theirs) || !same(&lazy, &theirs))
        fail_msg("at %#lx: table %#x %d %d, lazy %#x %d %d, libdw %#x %d %d", (unsigned long)vaddr,
                 mine->rule, mine->cfa, mine->bp, lazy.rule, lazy.cfa, lazy.bp, theirs.rule, theirs.cfa,
                 theirs.bp);
    return 1;
}

/* Every `step`-th row of the table, at both its ends; and libdw's ranges inside it. */
static void compare_file(const char *pattern, unsigned step)
{
    unsigned agreed = 0, alone = 0;
    struct file f;

    if (file_open(&f, pattern)) {
        print_message("# no %s here\n", pattern);
        skip();
    }
    assert_true(f.table->n > 1000);
    for (uint32_t i = 0; i + 1 < f.table->n; i += step) {
        uint64_t base = f.table->layout.base, from = base + f.table->rows[i].pc,
                 to = base + f.table->rows[i + 1].pc;
        uint64_t at = from, end = to;

        if (f.table->rows[i].rule == UNW_NONE)
            continue;
        while (at < to && compare(&f, at, &end)) {
            agreed++;
            assert_true(end > at);
            at = end;
            if (at <= to) /* libdw's last byte */
                agreed += (unsigned)compare(&f, at - 1, &end);
        }
        if (at < to) /* merged over padding, or a rule known without an entry */
            alone += at == from;
        agreed += (unsigned)compare(&f, to - 1, &end);
    }
    print_message("# %s: %u rows, %u points agree, %u rows without an entry\n", pattern, f.table->n, agreed,
                  alone);
    assert_true(agreed > f.table->n / step);
    assert_true(alone <= 4);
    assert_int_equal(f.table->stats.bad, 0);
    file_close(&f);
}

static void python_agrees(void **state)
{
    compare_file("/usr/bin/python3.[0-9]*[0-9]", 1);
}

static void libc_agrees(void **state)
{
    compare_file("/{usr/lib,lib64,usr/lib64}{/x86_64-linux-gnu,}/libc.so.6", 1);
}

static void libstdcxx_agrees(void **state)
{
    compare_file("/{usr/lib,lib64,usr/lib64}{/x86_64-linux-gnu,}/libstdc++.so.6", 1);
}

static void libcrypto_agrees(void **state)
{
    compare_file("/{usr/lib,lib64,usr/lib64}{/x86_64-linux-gnu,}/libcrypto.so.[13]*", 1);
}

static void torch_agrees(void **state)
{
    compare_file("/usr/lib{/x86_64-linux-gnu,/python3/dist-packages/torch/lib}/libtorch_cpu.so*", 29);
}

/* Every entry of this program, libdw's order: none may be missing from the table. */
static void own_entries_are_all_there(void **state)
{
    struct file f;
    GElf_Shdr sh = {0};
    Elf_Scn *scn = NULL;
    Elf_Data *data = NULL;
    Dwarf_Off off = 0, next;
    Dwarf_CFI_Entry ent;
    size_t names, fdes = 0;

    assert_int_equal(file_open(&f, "/proc/self/exe"), 0);
    elf_getshdrstrndx(f.elf, &names);
    while (!data && (scn = elf_nextscn(f.elf, scn))) {
        gelf_getshdr(scn, &sh);
        if (!strcmp(elf_strptr(f.elf, names, sh.sh_name), ".eh_frame"))
            data = elf_getdata(scn, NULL);
    }
    assert_non_null(data);
    for (; !dwarf_next_cfi((const unsigned char *)elf_getident(f.elf, NULL), data, true, off, &next, &ent);
         off = next) {
        int32_t rel;
        uint64_t end;

        if (dwarf_cfi_cie_p(&ent))
            continue;
        memcpy(&rel, ent.fde.start, 4); /* pcrel sdata4: what gcc and clang write */
        end = sh.sh_addr + (uint64_t)(ent.fde.start - (const uint8_t *)data->d_buf) + (uint64_t)(int64_t)rel;
        assert_int_equal(compare(&f, end, &end), 1);
        fdes++;
    }
    assert_true(fdes > 10);
    assert_int_equal(f.table->stats.entries, fdes);
    file_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_agrees),    cmocka_unit_test(libc_agrees),
        cmocka_unit_test(libstdcxx_agrees), cmocka_unit_test(libcrypto_agrees),
        cmocka_unit_test(torch_agrees),     cmocka_unit_test(own_entries_are_all_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
