/* SPDX-License-Identifier: Apache-2.0 */
/* From the state of a call frame program to a row: the few expressions that compilers, linkers and libcs
 * write. */
#include "unwind/ehframe.h"

#include "unwind/ehframe_leb.h"

/* DWARF 5 section 7.7.1. */
enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
};

/* Registers' columns, System V psABI x86-64, figure 3.36. */
enum { REG_BP = 6, REG_SP = 7, REG_R10 = 10, REG_R13 = 13, REG_IP = 16 };

#define MAX_OPS 10

struct ops {
    unsigned n;
    struct {
        uint8_t op;  /* OP_BREG0 and OP_LIT0 stand for their whole ranges */
        uint8_t reg; /* OP_BREG0 */
        int64_t arg;
    } a[MAX_OPS];
};

/* 0; -1 when there are other operations in it, or too many. */
static int decode(const struct cfi_rule *r, struct ops *o)
{
    struct cursor c = cursor_init(r->expr, r->expr_len);

    o->n = 0;
    while (c.p < c.end) {
        uint8_t op = leb_u8(&c);

        if (o->n == MAX_OPS)
            return -1;
        o->a[o->n].op = op;
        if (op >= OP_BREG0 && op <= OP_BREG31) {
            o->a[o->n].op = OP_BREG0;
            o->a[o->n].reg = op - OP_BREG0;
            o->a[o->n].arg = leb_signed(&c);
        } else if (op >= OP_LIT0 && op <= OP_LIT31) {
            o->a[o->n].op = OP_LIT0;
            o->a[o->n].arg = op - OP_LIT0;
        } else if (op == OP_PLUS_UCONST) {
            o->a[o->n].arg = (int64_t)leb_unsigned(&c);
        } else if (op != OP_DEREF && op != OP_AND && op != OP_PLUS && op != OP_SHL && op != OP_GE) {
            return -1;
        }
        o->n++;
    }
    return c.bad ? -1 : 0;
}

static int is_breg(const struct ops *o, unsigned i, uint8_t reg)
{
    return i < o->n && o->a[i].op == OP_BREG0 && o->a[i].reg == reg;
}

static int is_op(const struct ops *o, unsigned i, uint8_t op)
{
    return i < o->n && o->a[i].op == op;
}

/* rsp + 8 + (((rip & 15) >= N) << 3): what ld writes for .plt, N being where the entry has pushed its index.
 */
static int is_plt(const struct ops *o)
{
    return o->n == 9 && is_breg(o, 0, REG_SP) && o->a[0].arg == 8 && is_breg(o, 1, REG_IP) && !o->a[1].arg &&
           is_op(o, 2, OP_LIT0) && o->a[2].arg == 15 && is_op(o, 3, OP_AND) && is_op(o, 4, OP_LIT0) &&
           is_op(o, 5, OP_GE) && is_op(o, 6, OP_LIT0) && o->a[6].arg == 3 && is_op(o, 7, OP_SHL) &&
           is_op(o, 8, OP_PLUS);
}

static int set_cfa(struct unw_row *row, enum unw_rule rule, int64_t off)
{
    row->rule = (uint8_t)rule;
    if (off != (int16_t)off) {
        if (off % 8 || off / 8 != (int16_t)(off / 8))
            return -1;
        off /= 8;
        row->rule |= UNW_CFA8;
    }
    row->cfa = (int16_t)off;
    return 0;
}

static int cfa_register(struct unw_row *row, const struct cfi_rule *r)
{
    switch (r->reg) {
    case REG_SP:
        return set_cfa(row, UNW_SP, r->off);
    case REG_BP:
        return set_cfa(row, UNW_BP, r->off);
    case REG_R10:
        return set_cfa(row, UNW_R10, r->off);
    case REG_R13:
        return set_cfa(row, UNW_R13, r->off);
    default:
        return -1;
    }
}

static int cfa_expr(struct unw_row *row, const struct cfi_rule *r)
{
    struct ops o;

    if (decode(r, &o))
        return -1;
    if (is_plt(&o))
        return set_cfa(row, UNW_PLT, o.a[4].arg);
    if (o.n == 2 && is_breg(&o, 0, REG_BP) && is_op(&o, 1, OP_DEREF))
        return set_cfa(row, UNW_DEREF_BP, o.a[0].arg);
    if (o.n == 3 && is_breg(&o, 0, REG_SP) && is_op(&o, 1, OP_DEREF) && is_op(&o, 2, OP_PLUS_UCONST) &&
        o.a[2].arg == 8)
        return set_cfa(row, UNW_DEREF_SP, o.a[0].arg);
    if (o.n == 1 && is_breg(&o, 0, REG_SP))
        return set_cfa(row, UNW_SP, o.a[0].arg);
    if (o.n == 1 && is_breg(&o, 0, REG_BP))
        return set_cfa(row, UNW_BP, o.a[0].arg);
    return -1;
}

static int set_bp(struct unw_row *row, enum unw_rule flag, int64_t off)
{
    if (off % 8 || off / 8 != (int8_t)(off / 8))
        return -1;
    row->rule |= (uint8_t)flag;
    row->bp = (int8_t)(off / 8);
    return 0;
}

static int bp_rule(struct unw_row *row, const struct cfi_rule *r)
{
    struct ops o;

    switch (r->how) {
    case CFI_UNSET:
    case CFI_SAME:
    case CFI_UNDEFINED: /* nobody above will use it */
        return 0;
    case CFI_OFFSET:
        return set_bp(row, UNW_BP_CFA, r->off);
    case CFI_EXPR:
        if (decode(r, &o) || o.n != 1 || !is_breg(&o, 0, REG_BP))
            return -1;
        return set_bp(row, UNW_BP_BP, o.a[0].arg);
    default:
        return -1;
    }
}

/* The trampoline that returns from a signal handler: everything is read from the ucontext at rsp, rip at 168
 * and rsp at 160 in it (walk_native.h names the source). */
static int is_signal(const struct cfi_state *s)
{
    struct ops cfa, ra;

    return s->cfa.how == CFI_EXPR && s->ra.how == CFI_EXPR && !decode(&s->cfa, &cfa) &&
           !decode(&s->ra, &ra) && cfa.n == 2 && is_breg(&cfa, 0, REG_SP) && cfa.a[0].arg == 160 &&
           is_op(&cfa, 1, OP_DEREF) && ra.n == 1 && is_breg(&ra, 0, REG_SP) && ra.a[0].arg == 168;
}

int cfi_state_row(const struct cfi_state *s, struct unw_row *row)
{
    uint32_t pc = row->pc;
    int rc = -1;

    *row = (struct unw_row){.pc = pc};
    if (s->ra.how == CFI_UNDEFINED) {
        row->rule = UNW_END;
        return 0;
    }
    if (is_signal(s)) {
        row->rule = UNW_SIGNAL;
        return 0;
    }
    if (s->ra.how == CFI_OFFSET && s->ra.off == -8) {
        if (s->cfa.how == CFI_REGISTER)
            rc = cfa_register(row, &s->cfa);
        else if (s->cfa.how == CFI_EXPR)
            rc = cfa_expr(row, &s->cfa);
    }
    if (!rc)
        rc = bp_rule(row, &s->bp);
    /* Before the ret of a function that realigned its stack gcc still says that rbp is to be found through
     * rbp. But with the CFA at rsp + 8 nothing of the frame is left, so rbp is the caller's already. */
    if (!rc && row->rule == (UNW_SP | UNW_BP_BP) && row->cfa == 8)
        *row = (struct unw_row){.pc = pc, .rule = UNW_SP, .cfa = 8};
    if (rc)
        *row = (struct unw_row){.pc = pc, .rule = UNW_NONE};
    return rc;
}
