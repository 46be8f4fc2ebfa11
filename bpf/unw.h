/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compact unwind tables: rows of .eh_frame, as BPF and user space read them. Include after the __u types are
 * known. */
#ifndef WPROF_BPF_UNW_H
#define WPROF_BPF_UNW_H

/*
 * Call frame information (DWARF 5 section 6.4; the LSB's .eh_frame) says for each pc how to find the caller's
 * registers. A walker that only follows return addresses needs three of them: the CFA (the caller's rsp), the
 * return address, which on x86-64 lies at CFA - 8, and rbp, because the caller's CFA may be counted from it.
 * That fits 8 bytes.
 *
 * One row holds from `pc` up to the next row's. pc is the ELF virtual address minus the module's lowest
 * executable p_vaddr page (so that 32 bits do). Rows are sorted by pc, no two have the same pc, neighbours
 * differ, and the last one is UNW_NONE. Code between functions has UNW_NONE rows but where it is mere padding
 * (< 16 bytes): there the rule of the function before it goes on, which lets most functions' first rows merge
 * with the last of the one before.
 */
struct unw_row {
    __u32 pc;
    __s16 cfa; /* offset: bytes, or units of 8 where UNW_CFA8 is set; for UNW_PLT see there */
    __u8 rule; /* enum unw_rule | flags */
    __s8 bp;   /* where rbp was saved, in units of 8 bytes, when a flag says so */
};

enum unw_rule {
    UNW_NONE,     /* no rule here, or one that these rows can't say */
    UNW_SP,       /* CFA = rsp + cfa */
    UNW_BP,       /* CFA = rbp + cfa */
    UNW_DEREF_BP, /* CFA = *(rbp + cfa): functions that realign their stack (DRAP) */
    UNW_R10,      /* CFA = r10 + cfa, top frame only */
    UNW_R13,      /* CFA = r13 + cfa, top frame only */
    UNW_PLT, /* CFA = rsp + 8 + ((rip & 15) >= cfa ? 8 : 0): what ld emits for .plt; cfa is 11, with IBT 9 */
    UNW_SIGNAL,   /* a signal frame: rip, rsp, rbp from the ucontext at rsp */
    UNW_END,      /* the outermost frame: return address undefined */
    UNW_DEREF_SP, /* CFA = *(rsp + cfa) + 8: OpenSSL's assembler, which keeps the old rsp in its frame */
    UNW_RULE_MASK = 0x0f,
    UNW_BP_CFA = 0x10, /* rbp saved at CFA + 8 * bp */
    UNW_BP_BP = 0x20,  /* rbp saved at rbp + 8 * bp */
    UNW_CFA8 = 0x40,   /* cfa counts units of 8 bytes: frames of 32 KiB and more */
};

/* Why a walk stopped. */
enum walk_status {
    WALK_RUNNING,
    WALK_ROOT,    /* the thread's start */
    WALK_NOMAP,   /* pc in no known mapping */
    WALK_NOTABLE, /* mapping known, its table not loaded */
    WALK_NOROW,   /* UNW_NONE */
    WALK_READ,    /* the stack could not be read */
    WALK_FULL,    /* depth limit */
    WALK_STUCK,   /* CFA not above the old sp */
};

struct walk_regs {
    __u64 ip, sp, bp;
    __u64 r10, r13; /* valid at the top frame and at the one that a signal interrupted */
};

#endif
