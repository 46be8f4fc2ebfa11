/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/walk_user.h"

#include <string.h>

struct walker;
static int walk_read(void *mem, __u64 addr, void *dst, __u32 size);

#include "bpf/walk_native.h"

#define SCAN_SLOTS  512
#define SAVED_SLOTS 6   /* callee-saved registers that a function may have pushed below its return address */
#define MAX_NEST    256 /* guesses on top of each other: each frame of JIT code is one */
#define MAX_WORK    50000 /* frames and slots that guessing may look at in one walk: some 5 ms */
#define ENOUGH                                                                                               \
    4 /* rows that fit one another: after so many, the copied stack's end is no reason for doubt             \
       */
#define NO_MODULE 0xffffffffu
#define FUNCTION_MAX                                                                                         \
    (1u << 20)              /* a call that leads further back than this isn't one of the function at hand */
#define NOT_AN_ADDRESS 4096 /* what main()'s caller has in rbp mostly is a small number */

struct walker {
    const struct walk_user_ops *ops;
    void *ctx;
    const struct walk_stack *stack;
    struct walk_frame *frames;
    uint32_t max, n;
    uint32_t flags;
    unsigned work; /* what is left of MAX_WORK */
    int no_framed; /* frame pointers are guesses like any other: those of before led nowhere */
    int used_bp;   /* a rule since the last guess counted from rbp */
    int lacks_bp;  /* the walk stopped for want of rbp alone */
};

/* Where a walk stands. */
struct position {
    struct walk_regs regs;
    struct walk_map map;
    int top, mapped, guessed;
};

/* 0: this walk has guessed enough. */
static int spend(struct walker *w)
{
    if (!w->work)
        return 0;
    w->work--;
    return 1;
}

static int in_stack(const struct walk_stack *s, uint64_t addr, uint32_t size)
{
    return addr >= s->addr && addr - s->addr <= s->n && s->n - (addr - s->addr) >= size;
}

/* What bpf/walk_native.h reads with: the stack. */
static int walk_read(void *mem, __u64 addr, void *dst, __u32 size)
{
    struct walker *w = mem;

    if (in_stack(w->stack, addr, size)) {
        memcpy(dst, w->stack->bytes + (addr - w->stack->addr), size);
        return 0;
    }
    if (w->ops->read && !w->ops->read(w->ctx, addr, dst, size)) {
        w->flags |= WALK_F_LIVE;
        return 0;
    }
    if (addr >= w->stack->addr && addr - w->stack->addr < WALK_FRAME_MAX)
        w->flags |= WALK_F_TRUNCATED;
    return -1;
}

/* Code, from the file where it is known, else from the process. */
static int read_code(struct walker *w, const struct walk_map *m, uint64_t addr, void *dst, uint32_t size)
{
    if (m->lazy && !unw_lazy_code(m->lazy, addr - m->bias, dst, size))
        return 0;
    return w->ops->read ? w->ops->read(w->ctx, addr, dst, size) : -1;
}

static enum walk_status find_row(struct walker *w, const struct position *at, uint64_t pc,
                                 struct unw_row *row)
{
    const struct walk_map *m = &at->map;
    const struct unw_row *found;

    row->rule = UNW_NONE;
    if (w->ops->row) {
        w->ops->row(w->ctx, m, pc, row);
    } else if (m->table) {
        found = unw_table_find(m->table, pc - m->bias);
        if (found)
            *row = *found;
    } else if (m->lazy) {
        unw_lazy_find(m->lazy, pc - m->bias, row);
    } else {
        return WALK_NOTABLE;
    }
    return (row->rule & UNW_RULE_MASK) == UNW_NONE ? WALK_NOROW : WALK_RUNNING;
}

static void add_frame(struct walker *w, struct position *at)
{
    at->mapped = !w->ops->map(w->ctx, walk_lookup_pc(&at->regs, at->top), &at->map);
    w->frames[w->n++] = (struct walk_frame){
        .ip = at->regs.ip,
        .sp = at->regs.sp,
        .module = at->mapped ? at->map.module : NO_MODULE,
        .is_return = !at->top,
        .guessed = (uint8_t)at->guessed,
    };
}

static int counts_from_bp(const struct unw_row *row)
{
    uint32_t rule = row->rule & UNW_RULE_MASK;

    return rule == UNW_BP || rule == UNW_DEREF_BP || (row->rule & UNW_BP_BP);
}

/* The caller did not know rbp, and no frame so far has saved it: as good as no row. */
static int lacks_bp(const struct walk_regs *regs, const struct unw_row *row)
{
    return !regs->bp && counts_from_bp(row);
}

static int is_code(struct walker *w, uint64_t addr, struct walk_map *m)
{
    memset(m, 0, sizeof(*m));
    return addr >= 4096 && addr >> 47 == 0 && !in_stack(w->stack, addr, 1) && !w->ops->map(w->ctx, addr, m);
}

/* Does v follow a call, in executable memory; and where the call names its target, is that executable, too?
 */
static int is_return_address(struct walker *w, uint64_t v)
{
    struct walk_map m, target;
    uint64_t code;
    uint8_t b[8];

    if (!is_code(w, v - 1, &m) || read_code(w, &m, v - 8, &code, 8) || !walk_call_before(code))
        return 0;
    memcpy(b, &code, 8);
    if (b[3] == 0xe8) {
        int32_t rel;

        memcpy(&rel, b + 4, 4);
        if (is_code(w, v + (uint64_t)(int64_t)rel, &target))
            return 1;
        return b[6] == 0xff || b[5] == 0xff || b[4] == 0xff; /* another call form fits as well */
    }
    return 1;
}

/* A step through code that is known to keep frame pointers. HotSpot's interpreter pushes return addresses and
 * jumps: no call lies before them. */
static enum walk_status framed(struct walker *w, struct position *at)
{
    struct walk_regs next = at->regs;
    struct walk_map m;
    uint64_t code = 0, slot;
    enum walk_status st;

    if (at->top && read_code(w, &at->map, at->regs.ip, &code, sizeof(code)))
        code = 0;
    if (at->top && at->map.frame_pointers == WALK_FP_BUT_LEAVES && !walk_read(w, next.sp, &slot, 8) &&
        is_return_address(w, slot)) {
        next.ip = slot;
        next.sp += 8;
        st = WALK_RUNNING;
    } else {
        st = walk_native_framed(w, &next, code);
    }
    if (st == WALK_RUNNING && !is_code(w, next.ip - 1, &m))
        st = WALK_NOROW;
    if (st == WALK_RUNNING || st == WALK_ROOT)
        w->flags |= WALK_F_FP;
    if (st != WALK_RUNNING)
        return st == WALK_ROOT ? st : WALK_NOROW;
    at->regs = next;
    at->top = 0;
    at->guessed = 1;
    return WALK_RUNNING;
}

/* Goes on by rows until they end. *known_root: the end is one that a row tells, not merely a return address
 * of 0. */
static enum walk_status follow(struct walker *w, struct position *at, int *known_root)
{
    int guessing = at->guessed;

    *known_root = 0;
    for (;;) {
        struct unw_row row;
        enum walk_status st;
        uint64_t pc = walk_lookup_pc(&at->regs, at->top);

        if (w->n == w->max) {
            w->flags |= WALK_F_TRUNCATED;
            return WALK_FULL;
        }
        if (guessing && !spend(w))
            return WALK_STUCK;
        memset(&at->map, 0, sizeof(at->map));
        add_frame(w, at);
        if (!at->mapped)
            return WALK_NOMAP;
        st = find_row(w, at, pc, &row);
        if (st != WALK_RUNNING && at->map.frame_pointers && !w->no_framed) {
            st = framed(w, at);
            if (st == WALK_RUNNING)
                continue;
            return st;
        }
        if (st == WALK_RUNNING && lacks_bp(&at->regs, &row)) {
            w->lacks_bp = 1;
            st = WALK_NOROW;
        }
        if (st != WALK_RUNNING)
            return st;
        w->used_bp |= counts_from_bp(&row);
        st = walk_native_step(w, &at->regs, &row, pc, at->top);
        if (st != WALK_RUNNING) {
            *known_root = (row.rule & UNW_RULE_MASK) == UNW_END;
            return st;
        }
        at->top = walk_row_signal(&row);
        at->guessed = 0;
    }
}

static enum walk_status walk_on(struct walker *w, struct position *at, unsigned nest);

/* One guess, followed to its end. It counts when it leads to the thread's start, or so far along rows that
 * only the copied stack's end stops it; else nothing of it stays. */
static int try_guess(struct walker *w, struct position *at, unsigned nest, uint32_t how, enum walk_status *st)
{
    uint32_t n = w->n, flags = w->flags;

    w->used_bp = 0;
    w->flags |= how;
    at->top = 0;
    at->guessed = 1;
    *st = walk_on(w, at, nest + 1);
    if (*st == WALK_ROOT)
        return 1;
    if (*st == WALK_FULL || (*st == WALK_READ && (w->flags & WALK_F_TRUNCATED) && w->n - n >= ENOUGH))
        return 1;
    w->n = n;
    w->flags = flags;
    return 0;
}

/* The return address may be at `slot`. The caller's rbp: still in its register, else among what was pushed
 * just below. */
static int try_slot(struct walker *w, struct position *at, uint64_t slot, uint64_t ip, unsigned nest,
                    enum walk_status *st)
{
    struct position from = *at, try = from;

    try.regs.ip = ip;
    try.regs.sp = slot + 8;
    if (try_guess(w, &try, nest, WALK_F_SCANNED, st)) {
        *at = try;
        return 1;
    }
    for (unsigned i = 1; i <= SAVED_SLOTS && w->used_bp; i++) {
        uint64_t bp;

        if (slot - 8 * i < from.regs.sp || walk_read(w, slot - 8 * i, &bp, 8) ||
            !walk_bp_plausible(bp, slot + 8) || bp == from.regs.bp)
            continue;
        try = from;
        try.regs.ip = ip;
        try.regs.sp = slot + 8;
        try.regs.bp = bp;
        if (try_guess(w, &try, nest, WALK_F_SCANNED, st)) {
            *at = try;
            return 1;
        }
        w->used_bp = 1;
    }
    return 0;
}

static int try_frame_pointer(struct walker *w, struct position *at, unsigned nest, enum walk_status *st)
{
    struct position try = *at;
    uint32_t flags = w->flags;

    if (walk_native_fp(w, &try.regs) != WALK_RUNNING || !is_return_address(w, try.regs.ip)) {
        w->flags = flags;
        return 0;
    }
    if (!try_guess(w, &try, nest, WALK_F_FP, st))
        return 0;
    *at = try;
    return 1;
}

/* Looks for the return address in stack slots [from, to). 1: found, and *st is where it led; 0: not. */
static int scan(struct walker *w, struct position *at, unsigned from, unsigned to, unsigned nest,
                enum walk_status *st)
{
    for (unsigned i = from; i < to && spend(w); i++) {
        uint64_t slot = at->regs.sp + 8 * (uint64_t)i, v;

        if (walk_read(w, slot, &v, 8))
            return 0;
        if (is_return_address(w, v) && try_slot(w, at, slot, v, nest, st))
            return 1;
    }
    return 0;
}

/*
 * HotSpot's code without frame pointers: compiled code is called by its like and by stubs, and its prologue
 * saves rbp, whatever that is, right below the return address; the interpreter and the stubs keep frame
 * pointers, and the interpreter's return addresses follow no call. What else on the stack looks like a return
 * address is of calls that have ended.
 */
static int scan_java(struct walker *w, struct position *at, unsigned nest, enum walk_status *st)
{
    uint64_t slot = at->regs.sp, bp = 0, v = 0;

    for (unsigned i = 0; i < SCAN_SLOTS && spend(w); i++, slot += 8, bp = v) {
        int framed = slot == at->regs.bp + 8;
        struct position try = *at;
        struct walk_map m;

        if (walk_read(w, slot, &v, 8))
            return 0;
        if (!is_code(w, v - 1, &m) || (!m.java && !framed) ||
            (!framed && !walk_bp_plausible(bp, slot + 8) && !is_return_address(w, v)))
            continue;
        try.regs = (struct walk_regs){.ip = v, .sp = slot + 8, .bp = i ? bp : at->regs.bp};
        if (try_guess(w, &try, nest, WALK_F_SCANNED, st)) {
            *at = try;
            return 1;
        }
    }
    return 0;
}

/* Does the call before return address v lead to the function that pc is in, as far as can be told? */
static int may_have_called(struct walker *w, uint64_t v, uint64_t pc)
{
    struct walk_map m;
    uint8_t code[8];
    uint64_t target;
    int32_t rel;

    if (!is_return_address(w, v) || !is_code(w, v - 1, &m) || read_code(w, &m, v - 8, code, sizeof(code)))
        return 0;
    if (code[3] != 0xe8)
        return 1;
    memcpy(&rel, code + 4, sizeof(rel));
    target = v + (uint64_t)(int64_t)rel;
    return target <= pc && pc - target < FUNCTION_MAX;
}

/*
 * The function keeps a frame pointer, which isn't known: somewhere above is its caller's, and the return
 * address next to it. Its locals may be large, and are looked through as far as the copied stack goes.
 */
static int scan_for_bp(struct walker *w, struct position *at, unsigned nest, enum walk_status *st)
{
    for (uint64_t slot = at->regs.sp + 8; in_stack(w->stack, slot, 8) && spend(w); slot += 8) {
        struct position try = *at;
        uint64_t v, bp;

        if (walk_read(w, slot, &v, 8) || walk_read(w, slot - 8, &bp, 8))
            return 0;
        if ((!walk_bp_plausible(bp, slot + 8) && bp >= NOT_AN_ADDRESS) ||
            !may_have_called(w, v, walk_lookup_pc(&at->regs, at->top)))
            continue;
        try.regs.ip = v;
        try.regs.sp = slot + 8;
        try.regs.bp = bp;
        if (try_guess(w, &try, nest, WALK_F_SCANNED, st)) {
            *at = try;
            return 1;
        }
    }
    return 0;
}

/*
 * No row tells how to go on from here. Code that only pushes registers has its return address in the first
 * slots, and its rbp may be a caller's; code with locals mostly keeps a frame pointer, and what lies among
 * its locals may be stale.
 */
static enum walk_status guess(struct walker *w, struct position *at, enum walk_status why, unsigned nest)
{
    unsigned near = at->map.frame_pointers ? 0 : WALK_JIT_SLOTS;
    uint32_t flags = w->flags;
    enum walk_status st;

    if (nest == MAX_NEST)
        return why;
    if (w->lacks_bp) {
        w->lacks_bp = 0;
        return scan_for_bp(w, at, nest, &st) ? st : why;
    }
    if (at->map.java) {
        if (scan_java(w, at, nest, &st))
            return st;
    } else if (scan(w, at, 0, near, nest, &st) || try_frame_pointer(w, at, nest, &st) ||
               scan(w, at, near, SCAN_SLOTS, nest, &st)) {
        return st;
    }
    w->flags = flags;
    return why;
}

static enum walk_status walk_on(struct walker *w, struct position *at, unsigned nest)
{
    int known_root, lost;
    enum walk_status st = follow(w, at, &known_root);

    if (st == WALK_ROOT)
        return nest && !known_root ? WALK_STUCK : st; /* junk on the stack holds zeros, too */
    lost = st == WALK_NOMAP && !at->top;              /* the step that led here was wrong */
    if ((st == WALK_NOMAP || st == WALK_NOTABLE || st == WALK_NOROW) && !lost)
        return guess(w, at, st, nest);
    return st;
}

void walk_user(const struct walk_user_ops *ops, void *ctx, const struct walk_stack *stack,
               const struct walk_regs *regs, int top, struct walk_frame *frames, uint32_t max,
               struct walk_result *res)
{
    struct walker w = {
        .ops = ops, .ctx = ctx, .stack = stack, .frames = frames, .max = max, .work = MAX_WORK};
    struct position at = {.regs = *regs, .top = top};

    *res = (struct walk_result){.status = walk_on(&w, &at, 0)};
    if (res->status != WALK_ROOT && res->status != WALK_FULL && w.flags & WALK_F_FP &&
        !(w.flags & WALK_F_TRUNCATED)) {
        w = (struct walker){.ops = ops,
                            .ctx = ctx,
                            .stack = stack,
                            .frames = frames,
                            .max = max,
                            .work = MAX_WORK,
                            .no_framed = 1};
        at = (struct position){.regs = *regs, .top = top};
        res->status = walk_on(&w, &at, 0);
    }
    res->n = w.n;
    res->flags = w.flags;
    res->stop = at.regs;
}
