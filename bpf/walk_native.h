/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The native stack walker's steps, for BPF and user space alike: from a frame's registers to its caller's. No
 * loop over frames, no tables, no mappings in here; the includer has those. Before including, define
 *
 *     static int walk_read(void *mem, __u64 addr, void *dst, __u32 size);     0, or not 0 where it can't be
 * read
 *
 * and, where walk_row_search is wanted, WALK_ROW(ctx, i): an expression that gives row i as a const struct
 * unw_row *, or NULL. A walk then goes, with top = 1 at first:
 *
 *     pc  = walk_lookup_pc(&regs, top)        a return address lies after its call, which may end the
 * function row = the row of pc                     none: walk_native_framed or walk_native_scan, or stop and
 * let user space finish st  = walk_native_step(mem, &regs, row, pc, top) top = walk_row_signal(row) what a
 * signal interrupted stands at its own pc, with all its registers
 */
#ifndef WPROF_BPF_WALK_NATIVE_H
#define WPROF_BPF_WALK_NATIVE_H

#include "bpf/unw.h"

#define WALK_INLINE static inline __attribute__((always_inline, unused))

/* Offsets in struct ucontext, at which rsp points in a signal's return trampoline (Linux uapi asm/ucontext.h,
 * asm/sigcontext.h: uc_flags, uc_link, uc_stack, then r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp,
 * rip). */
enum walk_ucontext {
    WALK_UC_R10 = 56,
    WALK_UC_R13 = 80,
    WALK_UC_BP = 120,
    WALK_UC_SP = 160,
    WALK_UC_IP = 168
};

enum {
    WALK_JIT_SLOTS =
        7, /* stack slots that walk_native_scan looks at: 6 registers pushed, the return address */
    WALK_FRAME_MAX = 1 << 20, /* a saved rbp further up than this is no frame pointer */
    WALK_ROW_STEPS = 24,      /* a binary search among at most 2^24 rows */
};

/* The pc whose row describes this frame. */
WALK_INLINE __u64 walk_lookup_pc(const struct walk_regs *r, int top)
{
    return top ? r->ip : r->ip - 1;
}

WALK_INLINE int walk_row_signal(const struct unw_row *row)
{
    return (row->rule & UNW_RULE_MASK) == UNW_SIGNAL;
}

#ifdef WALK_ROW
/*
 * The index of the row that holds at rel (pc minus the module's load address and base) among rows [first,
 * first + n), or 0xffffffff when rel lies before them all.
 */
WALK_INLINE __u32 walk_row_search(void *ctx, __u32 first, __u32 n, __u32 rel)
{
    __u32 lo = first, hi = first + n;

    for (int i = 0; i < WALK_ROW_STEPS; i++) {
        const struct unw_row *row;
        __u32 mid;

        if (lo >= hi)
            break;
        mid = lo + ((hi - lo) >> 1);
        row = WALK_ROW(ctx, mid);
        if (!row)
            break;
        if (row->pc <= rel)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == first ? 0xffffffffu : lo - 1;
}
#endif

/* A signal frame: all registers are in memory, and the interrupted stack may be another one (sigaltstack). */
WALK_INLINE enum walk_status walk_native_signal(void *mem, struct walk_regs *r)
{
    __u64 uc = r->sp;
    struct walk_regs n;

    if (walk_read(mem, uc + WALK_UC_IP, &n.ip, 8) || walk_read(mem, uc + WALK_UC_SP, &n.sp, 8) ||
        walk_read(mem, uc + WALK_UC_BP, &n.bp, 8) || walk_read(mem, uc + WALK_UC_R10, &n.r10, 8) ||
        walk_read(mem, uc + WALK_UC_R13, &n.r13, 8))
        return WALK_READ;
    *r = n;
    return n.ip ? WALK_RUNNING : WALK_ROOT;
}

/* The CFA by the row's rule. */
WALK_INLINE enum walk_status walk_native_cfa(void *mem, const struct walk_regs *r, const struct unw_row *row,
                                             __u64 pc, int top, __u64 *cfa)
{
    __s64 off = row->cfa;

    if (row->rule & UNW_CFA8)
        off *= 8;
    switch (row->rule & UNW_RULE_MASK) {
    case UNW_SP:
        *cfa = r->sp + off;
        return WALK_RUNNING;
    case UNW_BP:
        *cfa = r->bp + off;
        return WALK_RUNNING;
    case UNW_DEREF_BP:
        return walk_read(mem, r->bp + off, cfa, 8) ? WALK_READ : WALK_RUNNING;
    case UNW_DEREF_SP:
        if (walk_read(mem, r->sp + off, cfa, 8))
            return WALK_READ;
        *cfa += 8;
        return WALK_RUNNING;
    case UNW_R10:
        *cfa = r->r10 + off;
        return top ? WALK_RUNNING : WALK_NOROW;
    case UNW_R13:
        *cfa = r->r13 + off;
        return top ? WALK_RUNNING : WALK_NOROW;
    case UNW_PLT:
        *cfa = r->sp + 8 + ((__s64)(pc & 15) >= off ? 8 : 0);
        return WALK_RUNNING;
    default:
        return WALK_NOROW;
    }
}

/*
 * Replaces r by the caller's registers. row is the row of pc = walk_lookup_pc(r, top). WALK_RUNNING: r is the
 * caller's. WALK_ROOT: there is no caller (UNW_END, or a return address of 0). Anything else: r is as it was,
 * and the walk ends.
 */
WALK_INLINE enum walk_status walk_native_step(void *mem, struct walk_regs *r, const struct unw_row *row,
                                              __u64 pc, int top)
{
    __u64 cfa = 0, slot[2]; /* what lies below the CFA: rbp where it was pushed first, the return address */
    __u32 rule = row->rule;
    enum walk_status st;

    if ((rule & UNW_RULE_MASK) == UNW_END)
        return WALK_ROOT;
    if ((rule & UNW_RULE_MASK) == UNW_SIGNAL)
        return walk_native_signal(mem, r);
    st = walk_native_cfa(mem, r, row, pc, top, &cfa);
    if (st != WALK_RUNNING)
        return st;
    if (cfa <= r->sp)
        return WALK_STUCK;
    if ((rule & UNW_BP_CFA) && row->bp == -2) { /* by far the most frequent place: one read serves both */
        if (walk_read(mem, cfa - 16, slot, 16))
            return WALK_READ;
    } else {
        slot[0] = r->bp;
        if (walk_read(mem, cfa - 8, &slot[1], 8))
            return WALK_READ;
        if ((rule & UNW_BP_CFA) && walk_read(mem, cfa + (__s64)row->bp * 8, &slot[0], 8))
            return WALK_READ;
        /* where rbp is restored but the row lags behind, rbp may be any number: no reason to stop */
        if ((rule & UNW_BP_BP) && walk_read(mem, r->bp + (__s64)row->bp * 8, &slot[0], 8))
            slot[0] = r->bp;
    }
    if (!slot[1])
        return WALK_ROOT;
    r->bp = slot[0];
    r->ip = slot[1];
    r->sp = cfa;
    return WALK_RUNNING;
}

/* The same by frame pointer, for code known to keep one. */
WALK_INLINE enum walk_status walk_native_fp(void *mem, struct walk_regs *r)
{
    __u64 slot[2];

    if (r->bp < r->sp || r->bp - r->sp > WALK_FRAME_MAX || (r->bp & 7))
        return WALK_STUCK;
    if (walk_read(mem, r->bp, slot, 16))
        return WALK_READ;
    if (!slot[1])
        return WALK_ROOT;
    r->sp = r->bp + 16;
    r->bp = slot[0];
    r->ip = slot[1];
    return WALK_RUNNING;
}

/*
 * How many stack slots lie between rsp and the return address at the very beginning and end of a function
 * that keeps a frame pointer, where rbp still is, or is again, its caller's; -1: in between. code: the first
 * 8 bytes at the top frame's pc, the first lowest (Intel SDM volume 2: PUSH, MOV, RET). HotSpot probes the
 * stack before it pushes rbp, and compares rsp with the thread's poll word (in r15) after it has popped it.
 */
WALK_INLINE int walk_frame_edge(__u64 code)
{
    __u32 three = code & 0xffffff;

    if ((code & 0xff) == 0x55 || (code & 0xff) == 0xc3 || (code & 0xff) == 0xc2) /* push %rbp; ret */
        return 0;
    if (three == 0xe58948 || three == 0xec8b48) /* mov %rsp,%rbp */
        return 1;
    if (three == 0x248489 && (code >> 48 & 0xff) == 0xff) /* mov %eax,-N(%rsp) of some 64 KiB and more */
        return 0;
    return three == 0xa73b49 ? 0 : -1; /* cmp N(%r15),%rsp */
}

/* As walk_native_fp, for the top frame, too: code is as of walk_frame_edge, 0 in the other frames. */
WALK_INLINE enum walk_status walk_native_framed(void *mem, struct walk_regs *r, __u64 code)
{
    int slots = walk_frame_edge(code);
    __u64 ip;

    if (slots < 0)
        return walk_native_fp(mem, r);
    if (walk_read(mem, r->sp + 8 * (__u64)slots, &ip, 8))
        return WALK_READ;
    if (!ip)
        return WALK_ROOT;
    r->sp += 8 * (__u64)slots + 8;
    r->ip = ip;
    return WALK_RUNNING;
}

/*
 * Do these 8 bytes, those before a supposed return address (the first lowest), end in a call? e8 rel32, or ff
 * /2 with each form of ModRM and SIB (Intel SDM volume 2, CALL).
 */
WALK_INLINE int walk_call_before(__u64 code)
{
    __u32 b1 = code >> 8 & 0xff, b2 = code >> 16 & 0xff, b3 = code >> 24 & 0xff, b4 = code >> 32 & 0xff;
    __u32 b5 = code >> 40 & 0xff, b6 = code >> 48 & 0xff, b7 = code >> 56;

    if (b3 == 0xe8)
        return 1;
    if (b6 == 0xff && (b7 & 0xf8) == 0xd0) /* call *%reg */
        return 1;
    if (b6 == 0xff && (b7 & 0xf8) == 0x10 && (b7 & 7) != 4 && (b7 & 7) != 5) /* call *(%reg) */
        return 1;
    if (b5 == 0xff && (b6 == 0x14 || ((b6 & 0xf8) == 0x50 && b6 != 0x54))) /* SIB; disp8(%reg) */
        return 1;
    if (b4 == 0xff && b5 == 0x54) /* SIB and disp8 */
        return 1;
    if (b2 == 0xff && (b3 == 0x15 || ((b3 & 0xf8) == 0x90 && b3 != 0x94))) /* disp32(%rip), disp32(%reg) */
        return 1;
    return b1 == 0xff && b2 == 0x94; /* SIB and disp32 */
}

/* A top frame that may have no frame of its own, V8's small built-in functions: then rsp points at the return
 * address. WALK_NOROW: it doesn't; r is unchanged. */
WALK_INLINE enum walk_status walk_native_leaf(void *mem, struct walk_regs *r)
{
    __u64 ip, code;

    if (walk_read(mem, r->sp, &ip, 8))
        return WALK_READ;
    if (ip < 0x1000 || ip >> 47 || (ip >= r->sp && ip - r->sp < WALK_FRAME_MAX))
        return WALK_NOROW;
    if (walk_read(mem, ip - 8, &code, 8) || !walk_call_before(code))
        return WALK_NOROW;
    r->sp += 8;
    r->ip = ip;
    return WALK_RUNNING;
}

/* Might v be the rbp of a frame above the stack slot `above`? */
WALK_INLINE int walk_bp_plausible(__u64 v, __u64 above)
{
    return v >= above && v - above < WALK_FRAME_MAX && !(v & 7);
}

/*
 * The cheap form of the search for a return address, for JIT code that only pushes registers (oneDNN's
 * kernels push rbx, rbp, r12 to r15): the first of WALK_JIT_SLOTS stack slots whose value follows a call
 * instruction. A guess: keep a copy of *r, and when the walk from here doesn't reach the root, give that copy
 * to user space, which tries harder. WALK_RUNNING: r is the supposed caller's; WALK_NOROW: nothing found, r
 * unchanged.
 */
WALK_INLINE enum walk_status walk_native_scan(void *mem, struct walk_regs *r)
{
    __u64 slot = 0, below = 0, below2 = 0, code;

    for (int i = 0; i < WALK_JIT_SLOTS; i++) {
        __u64 at = r->sp + 8 * (__u64)i;

        below2 = below;
        below = slot;
        if (walk_read(mem, at, &slot, 8))
            return WALK_READ;
        if (slot < 0x1000 || slot >> 47 || (slot >= r->sp && slot - r->sp < WALK_FRAME_MAX))
            continue;
        if (walk_read(mem, slot - 8, &code, 8) || !walk_call_before(code))
            continue;
        if (!walk_bp_plausible(r->bp, at + 8)) {
            if (walk_bp_plausible(below2, at + 8)) /* rbx pushed, then rbp */
                r->bp = below2;
            else if (walk_bp_plausible(below, at + 8)) /* rbp pushed first */
                r->bp = below;
        }
        r->sp = at + 8;
        r->ip = slot;
        return WALK_RUNNING;
    }
    return WALK_NOROW;
}

#endif
