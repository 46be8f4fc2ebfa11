/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native walker in user space: the steps of bpf/walk_native.h over a copied stack, with every means
 * against missing rows that is too dear for the kernel. It finishes what the kernel could not, and walks
 * recorded fixtures.
 */
#ifndef WPROF_UNWIND_WALK_USER_H
#define WPROF_UNWIND_WALK_USER_H

#include <linux/types.h>

#include "bpf/unw.h"
#include "unwind/table.h"

#include <stddef.h>
#include <stdint.h>

#define WALK_USER_DEPTH 512

enum walk_fp {
    WALK_FP_UNKNOWN,
    WALK_FP_KEPT,
    WALK_FP_BUT_LEAVES, /* small functions that call none may have no frame */
};

/* What lies at a pc, as the includer's mapping lookup tells. */
struct walk_map {
    uint64_t start, end;           /* of the mapping, run-time addresses */
    uint64_t bias;                 /* run-time minus ELF address; see unw_layout_bias */
    const struct unw_table *table; /* NULL: not loaded */
    struct unw_lazy *lazy;         /* asked where table is NULL; NULL too: code without tables (JIT) */
    uint32_t module;               /* the caller's own number, handed through to the frames */
    uint8_t java;                  /* HotSpot: compiled code, which only its like calls, and stubs */
    uint8_t frame_pointers;        /* enum walk_fp: does code without a row keep one? */
};

struct walk_user_ops {
    /* 0 and the mapping when pc lies in an executable one, else -1. */
    int (*map)(void *ctx, uint64_t pc, struct walk_map *m);
    /* The row at pc; NULL: from m->table or m->lazy. For fixtures. */
    void (*row)(void *ctx, const struct walk_map *m, uint64_t pc, struct unw_row *row);
    /* Live memory, for what the copied stack and the files don't hold; 0 or -1. NULL: the process is gone. */
    int (*read)(void *ctx, uint64_t addr, void *dst, uint32_t size);
};

struct walk_stack {
    const uint8_t *bytes; /* a copy of [addr, addr + n), taken with the registers */
    uint64_t addr;
    size_t n;
};

struct walk_frame {
    uint64_t ip, sp;   /* sp: the frame's own, so a frame spans [sp, next frame's sp) */
    uint32_t module;   /* walk_map.module; 0xffffffff: in no mapping */
    uint8_t is_return; /* ip lies after a call: look names up at ip - 1 */
    uint8_t guessed;   /* found by scan or by frame pointer, not by a row */
};

enum walk_user_flags {
    WALK_F_SCANNED = 1,   /* a return address was found by scanning the stack */
    WALK_F_FP = 2,        /* a frame pointer was followed without a row */
    WALK_F_TRUNCATED = 4, /* deeper than there was room for, or than the copied stack goes */
    WALK_F_LIVE = 8,      /* stack words came from live memory, which may have changed since */
};

struct walk_result {
    enum walk_status status; /* WALK_ROOT: whole. For others: why it stopped */
    uint32_t n;              /* frames written */
    uint32_t flags;          /* enum walk_user_flags */
    struct walk_regs stop;   /* the registers of the frame where it stopped */
};

/*
 * Walks from regs to the thread's start. Writes at most max frames, the sampled one first; there is always
 * one, ip of regs, when max > 0. top: regs are those of an interrupted instruction (0: of a frame that made a
 * call, whose ip is a return address, as when the kernel's walker hands over halfway). regs->bp 0: not known;
 * where it is needed before a frame has saved it, the stack is scanned. Never fails: res says how far it
 * came.
 */
void walk_user(const struct walk_user_ops *ops, void *ctx, const struct walk_stack *stack,
               const struct walk_regs *regs, int top, struct walk_frame *frames, uint32_t max,
               struct walk_result *res);

#endif
