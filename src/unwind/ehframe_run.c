/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of call frame programs (DWARF 5 section 6.4.2), for the three registers that a walk needs.
 */
#include "unwind/ehframe.h"

#include "unwind/ehframe_leb.h"

enum {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0a,
    CFA_RESTORE_STATE = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_ADVANCE_LOC8 = 0x1d,             /* DW_CFA_MIPS_advance_loc8 */
    CFA_ARGS_SIZE = 0x2e,                /* DW_CFA_GNU_args_size */
    CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f, /* DW_CFA_GNU_negative_offset_extended */
    CFA_ADVANCE_LOC = 0x40,              /* the high two bits; the low six are the operand */
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
};

#define BP_REG 6 /* rbp's column, System V psABI x86-64, figure 3.36 */

void cfi_run_init(struct cfi_run *run, const struct cfi_reader *r, const struct cfi_fde *fde)
{
    run->reader = r;
    run->cie = fde->cie < r->cies.n ? &r->cies.a[fde->cie] : NULL;
    if (run->cie)
        run->state = run->cie->initial;
    else
        run->state = (struct cfi_state){0};
    run->bad = 0;
    run->from = run->to = run->next = fde->pc;
    run->limit = fde->pc + fde->len;
    run->p = fde->program;
    run->end = fde->program_end;
    run->depth = 0;
}

/* Where a register's rule is kept; a place to forget it where the walker doesn't need it. */
static struct cfi_rule *rule_of(struct cfi_run *run, uint64_t reg, struct cfi_rule *other)
{
    if (reg == BP_REG)
        return &run->state.bp;
    return reg == run->cie->ra_reg ? &run->state.ra : other;
}

static void restore_rule(struct cfi_run *run, uint64_t reg)
{
    if (reg == BP_REG)
        run->state.bp = run->cie->initial.bp;
    else if (reg == run->cie->ra_reg)
        run->state.ra = run->cie->initial.ra;
}

/* Multiplies as the format means it: modulo 2^64, so that hostile operands are no undefined behaviour. */
static int64_t scaled(uint64_t v, int64_t align)
{
    return (int64_t)(v * (uint64_t)align);
}

static void set_offset(struct cfi_run *run, uint64_t reg, int64_t off)
{
    struct cfi_rule other, *r = rule_of(run, reg, &other);

    *r = (struct cfi_rule){.how = CFI_OFFSET, .off = off};
}

static void set_how(struct cfi_run *run, uint64_t reg, enum cfi_how how)
{
    struct cfi_rule other, *r = rule_of(run, reg, &other);

    *r = (struct cfi_rule){.how = (uint8_t)how};
}

static void read_expr(struct cursor *c, struct cfi_rule *r)
{
    uint64_t len = leb_unsigned(c);

    *r = (struct cfi_rule){.how = CFI_EXPR, .expr = leb_block(c, len), .expr_len = (size_t)len};
}

static void advance(struct cfi_run *run, uint64_t by)
{
    run->next = run->to + by * run->cie->code_align;
}

/* The opcodes that move on in the code. 1: done; 0: another opcode. */
static int exec_advance(struct cfi_run *run, struct cursor *c, uint8_t op)
{
    switch (op) {
    case CFA_SET_LOC:
        run->next = cfi_pointer(c, run->cie->address_enc, run->cie->address_size,
                                run->reader->sec.vaddr + (uint64_t)(c->p - run->reader->sec.p), 0);
        return 1;
    case CFA_ADVANCE_LOC1:
        advance(run, leb_u8(c));
        return 1;
    case CFA_ADVANCE_LOC2:
        advance(run, leb_fixed(c, 2));
        return 1;
    case CFA_ADVANCE_LOC4:
        advance(run, leb_fixed(c, 4));
        return 1;
    case CFA_ADVANCE_LOC8:
        advance(run, leb_fixed(c, 8));
        return 1;
    default:
        return 0;
    }
}

/* The opcodes that define the CFA. 1: done; 0: another opcode. */
static int exec_cfa(struct cfi_run *run, struct cursor *c, uint8_t op)
{
    struct cfi_rule *cfa = &run->state.cfa;

    switch (op) {
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
        *cfa = (struct cfi_rule){.how = CFI_REGISTER, .reg = (uint32_t)leb_unsigned(c)};
        cfa->off = op == CFA_DEF_CFA ? (int64_t)leb_unsigned(c)
                                     : scaled((uint64_t)leb_signed(c), run->cie->data_align);
        return 1;
    case CFA_DEF_CFA_REGISTER:
        cfa->reg = (uint32_t)leb_unsigned(c);
        c->bad |= cfa->how != CFI_REGISTER;
        return 1;
    case CFA_DEF_CFA_OFFSET:
        cfa->off = (int64_t)leb_unsigned(c);
        c->bad |= cfa->how != CFI_REGISTER;
        return 1;
    case CFA_DEF_CFA_OFFSET_SF:
        cfa->off = scaled((uint64_t)leb_signed(c), run->cie->data_align);
        c->bad |= cfa->how != CFI_REGISTER;
        return 1;
    case CFA_DEF_CFA_EXPRESSION:
        read_expr(c, cfa);
        return 1;
    default:
        return 0;
    }
}

static int takes_register(uint8_t op)
{
    switch (op) {
    case CFA_OFFSET_EXTENDED:
    case CFA_RESTORE_EXTENDED:
    case CFA_UNDEFINED:
    case CFA_SAME_VALUE:
    case CFA_REGISTER:
    case CFA_EXPRESSION:
    case CFA_OFFSET_EXTENDED_SF:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
    case CFA_VAL_EXPRESSION:
    case CFA_NEGATIVE_OFFSET_EXTENDED:
        return 1;
    default:
        return 0;
    }
}

/* The opcodes that say where a register is. 1: done; 0: another opcode. */
static int exec_register(struct cfi_run *run, struct cursor *c, uint8_t op)
{
    struct cfi_rule other;
    uint64_t reg;

    if (!takes_register(op))
        return 0;
    reg = leb_unsigned(c);
    switch (op) {
    case CFA_OFFSET_EXTENDED:
        set_offset(run, reg, scaled(leb_unsigned(c), run->cie->data_align));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        set_offset(run, reg, scaled((uint64_t)leb_signed(c), run->cie->data_align));
        break;
    case CFA_NEGATIVE_OFFSET_EXTENDED:
        set_offset(run, reg, scaled(0 - leb_unsigned(c), run->cie->data_align));
        break;
    case CFA_RESTORE_EXTENDED:
        restore_rule(run, reg);
        break;
    case CFA_UNDEFINED:
        set_how(run, reg, CFI_UNDEFINED);
        break;
    case CFA_SAME_VALUE:
        set_how(run, reg, CFI_SAME);
        break;
    case CFA_EXPRESSION:
        read_expr(c, rule_of(run, reg, &other));
        break;
    case CFA_VAL_EXPRESSION:
        read_expr(c, &other);
        set_how(run, reg, CFI_OTHER);
        break;
    default: /* CFA_REGISTER, CFA_VAL_OFFSET, CFA_VAL_OFFSET_SF: one more number, of no use here */
        leb_unsigned(c);
        set_how(run, reg, CFI_OTHER);
    }
    return 1;
}

static int exec_stack(struct cfi_run *run, struct cursor *c, uint8_t op)
{
    if (op == CFA_REMEMBER_STATE) {
        if (run->depth == CFI_REMEMBER)
            c->bad = 1;
        else
            run->saved[run->depth++] = run->state;
        return 1;
    }
    if (op == CFA_RESTORE_STATE) {
        if (!run->depth)
            c->bad = 1;
        else
            run->state = run->saved[--run->depth];
        return 1;
    }
    return 0;
}

static void exec(struct cfi_run *run, struct cursor *c, uint8_t op)
{
    switch (op & 0xc0) {
    case CFA_ADVANCE_LOC:
        advance(run, op & 0x3f);
        return;
    case CFA_OFFSET:
        set_offset(run, op & 0x3f, scaled(leb_unsigned(c), run->cie->data_align));
        return;
    case CFA_RESTORE:
        restore_rule(run, op & 0x3f);
        return;
    default:
        break;
    }
    if (op == CFA_NOP || exec_advance(run, c, op) || exec_cfa(run, c, op) || exec_register(run, c, op) ||
        exec_stack(run, c, op))
        return;
    if (op == CFA_ARGS_SIZE)
        leb_unsigned(c);
    else
        c->bad = 1;
}

int cfi_run_next(struct cfi_run *run)
{
    struct cursor c = {.p = run->p, .end = run->end};

    if (run->to >= run->limit || run->bad)
        return 0;
    run->from = run->to;
    while (c.p < c.end && run->next == run->to) {
        exec(run, &c, leb_u8(&c));
        if (c.bad || run->next < run->to) {
            run->bad = 1;
            return 0;
        }
    }
    run->p = c.p;
    if (run->next == run->to ||
        run->next > run->limit) /* the program's end: this row holds up to the function's end */
        run->next = run->limit;
    run->to = run->next;
    return 1;
}
