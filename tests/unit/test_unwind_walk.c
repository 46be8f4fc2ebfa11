/* SPDX-License-Identifier: Apache-2.0 */
/* The native walker in user space: over recorded walks (tests/fixtures/native, made by record_native), over
 * what remains of them when something is missing, and over this program's own stack. */
#include "native_fixture.h"

#include "base/io.h"

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#define DEPTH 512

/* ---- recorded walks ---- */

struct replay {
    struct fixture fx;
    uint8_t *stack; /* the words that were read, zeros between them */
    size_t stack_n;
    int no_code;
    int java; /* the first mapping is HotSpot's code */
};

static int on_map(void *ctx, uint64_t pc, struct walk_map *m)
{
    const struct replay *r = ctx;
    const struct fixture *fx = &r->fx;

    for (size_t i = 0; i < fx->maps.n; i++) {
        const struct fixture_map *e = &fx->maps.a[i];

        if (pc < e->start || pc >= e->end)
            continue;
        *m = (struct walk_map){.start = e->start, .end = e->end, .module = e->module};
        m->frame_pointers = e->frame_pointers;
        m->java = r->java && !i;
        return 0;
    }
    return -1;
}

static void on_row(void *ctx, const struct walk_map *m, uint64_t pc, struct unw_row *row)
{
    const struct fixture *fx = &((struct replay *)ctx)->fx;

    memset(row, 0, sizeof(*row));
    for (size_t i = 0; i < fx->rows.n; i++)
        if (fx->rows.a[i].pc == pc) {
            *row = fx->rows.a[i].row;
            return;
        }
}

static int on_read(void *ctx, uint64_t addr, void *dst, uint32_t size)
{
    const struct replay *r = ctx;

    for (size_t i = 0; i < r->fx.code.n && size == 8 && !r->no_code; i++)
        if (r->fx.code.a[i].addr == addr) {
            memcpy(dst, &r->fx.code.a[i].value, 8);
            return 0;
        }
    return -1;
}

static const struct walk_user_ops replay_ops = {.map = on_map, .row = on_row, .read = on_read};

static void replay_open(struct replay *r, const char *name)
{
    char path[256];
    struct buf b = {0};
    struct err e = {0};
    uint64_t top;

    memset(r, 0, sizeof(*r));
    snprintf(path, sizeof(path), "tests/fixtures/native/%s.walk", name);
    if (io_read_file(AT_FDCWD, path, &b, &e))
        fail_msg("%s", e.msg);
    assert_int_equal(fixture_load(&r->fx, b.data, b.len), 0);
    buf_release(&b);
    top = r->fx.regs.sp;
    for (size_t i = 0; i < r->fx.words.n; i++)
        if (r->fx.words.a[i].addr + 8 > top)
            top = r->fx.words.a[i].addr + 8;
    assert_true(top - r->fx.regs.sp < 1 << 20);
    r->stack_n = top - r->fx.regs.sp;
    r->stack = mem_calloc(1, r->stack_n + 1);
    for (size_t i = 0; i < r->fx.words.n; i++)
        memcpy(r->stack + (r->fx.words.a[i].addr - r->fx.regs.sp), &r->fx.words.a[i].value, 8);
}

static void replay_close(struct replay *r)
{
    fixture_release(&r->fx);
    free(r->stack);
}

/* Walks with the first `stack_n` bytes of the stack. */
static void replay_walk(struct replay *r, size_t stack_n, struct walk_frame *frames, uint32_t max,
                        struct walk_result *res)
{
    uint8_t *copy = mem_dup(r->stack, stack_n); /* of exactly this size, for the sanitizer */
    struct walk_stack stack = {copy, r->fx.regs.sp, stack_n};

    walk_user(&replay_ops, r, &stack, &r->fx.regs, 1, frames, max, res);
    free(copy);
}

static const char *module_of(const struct replay *r, const struct walk_frame *f)
{
    for (size_t i = 0; i < r->fx.maps.n; i++)
        if (r->fx.maps.a[i].module == f->module)
            return r->fx.maps.a[i].name;
    return "?";
}

static void assert_as_recorded(struct replay *r, const struct walk_frame *frames,
                               const struct walk_result *res)
{
    assert_int_equal(res->status, r->fx.status);
    assert_int_equal(res->flags, r->fx.flags);
    assert_int_equal(res->n, r->fx.frames.n);
    for (uint32_t i = 0; i < res->n; i++) {
        assert_int_equal(frames[i].ip, r->fx.frames.a[i].ip);
        assert_int_equal(frames[i].sp, r->fx.frames.a[i].sp);
        assert_int_equal(frames[i].module, r->fx.frames.a[i].module);
        assert_int_equal(frames[i].is_return, r->fx.frames.a[i].is_return);
        assert_int_equal(frames[i].guessed, r->fx.frames.a[i].guessed);
        if (i)
            assert_true(frames[i].sp > frames[i - 1].sp);
    }
}

static void fixtures_give_the_recorded_frames(void **state)
{
    struct walk_frame frames[DEPTH];
    struct walk_result res;
    glob_t g;

    assert_int_equal(glob("tests/fixtures/native/*.walk", 0, NULL, &g), 0);
    assert_true(g.gl_pathc >= 10);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        char name[128];
        struct replay r;

        snprintf(name, sizeof(name), "%s", strrchr(g.gl_pathv[i], '/') + 1);
        *strrchr(name, '.') = '\0';
        replay_open(&r, name);
        replay_walk(&r, r.stack_n, frames, DEPTH, &res);
        assert_as_recorded(&r, frames, &res);
        replay_close(&r);
    }
    globfree(&g);
}

/* Each fixture cut off at every 8 bytes: an ordered prefix of the frames or a lesser end, never a root that
 * isn't one. */
static void cut_stacks_say_so(void **state)
{
    static const char *const names[] = {"drap",   "signal",       "vla-qsort",
                                        "thread", "torch-onednn", "musl-qsort"};

    for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
        struct walk_frame frames[DEPTH];
        struct walk_result res;
        struct replay r;

        replay_open(&r, names[k]);
        for (size_t n = 0; n < r.stack_n; n += 8) {
            replay_walk(&r, n, frames, DEPTH, &res);
            assert_true(res.n >= 1 && res.n <= r.fx.frames.n);
            assert_int_equal(frames[0].ip, r.fx.regs.ip);
            if (res.status != WALK_ROOT && !r.fx.flags)
                assert_true(res.flags & WALK_F_TRUNCATED);
            for (uint32_t i = 0; i < res.n && !res.flags; i++)
                assert_int_equal(frames[i].ip, r.fx.frames.a[i].ip);
        }
        replay_close(&r);
    }
}

static void a_full_array_is_truncated(void **state)
{
    struct walk_frame frames[DEPTH];
    struct walk_result res;
    struct replay r;

    replay_open(&r, "recurse-300");
    for (uint32_t max = 0; max < 40; max += 13) {
        replay_walk(&r, r.stack_n, frames, max, &res);
        assert_int_equal(res.n, max);
        assert_int_equal(res.status, WALK_FULL);
        assert_true(res.flags & WALK_F_TRUNCATED);
    }
    replay_close(&r);
    replay_open(&r, "recurse-2000");
    replay_walk(&r, r.stack_n, frames, DEPTH, &res);
    assert_int_equal(res.n, DEPTH);
    assert_int_equal(res.flags, WALK_F_TRUNCATED);
    replay_close(&r);
}

static void recursion_returns_to_one_place(void **state)
{
    struct walk_frame frames[DEPTH];
    struct walk_result res;
    unsigned same = 0;
    struct replay r;

    replay_open(&r, "recurse-300");
    replay_walk(&r, r.stack_n, frames, DEPTH, &res);
    for (uint32_t i = 2; i < res.n; i++)
        same += frames[i].ip == frames[i - 1].ip;
    assert_in_range(same, 298, 301);
    replay_close(&r);
}

/* What a signal interrupts stands at its own pc: exactly one frame besides the sampled one isn't a return
 * address, and the frame before it is the trampoline. */
static void signals_interrupt_at_the_pc(void **state)
{
    static const char *const names[] = {"signal", "musl-signal"};

    for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
        struct walk_frame frames[DEPTH];
        struct walk_result res;
        uint32_t interrupted = 0;
        struct unw_row row;
        struct replay r;

        replay_open(&r, names[k]);
        replay_walk(&r, r.stack_n, frames, DEPTH, &res);
        assert_int_equal(res.status, WALK_ROOT);
        for (uint32_t i = 1; i < res.n; i++)
            if (!frames[i].is_return) {
                assert_int_equal(interrupted, 0);
                interrupted = i;
            }
        assert_true(interrupted >= 2);
        on_row(&r, NULL, frames[interrupted - 1].ip - 1, &row);
        assert_int_equal(row.rule, UNW_SIGNAL);
        replay_close(&r);
    }
}

static void jit_code_is_scanned(void **state)
{
    struct walk_frame frames[DEPTH];
    struct walk_result res;
    struct replay r;

    replay_open(&r, "torch-onednn");
    replay_walk(&r, r.stack_n, frames, DEPTH, &res);
    assert_int_equal(res.status, WALK_ROOT);
    assert_int_equal(res.flags, WALK_F_SCANNED);
    assert_string_equal(module_of(&r, &frames[0]), "");
    assert_memory_equal(module_of(&r, &frames[1]), "libdnnl", 7);
    assert_int_equal(frames[1].guessed, 1);
    assert_int_equal(frames[2].guessed, 0);
    assert_memory_equal(module_of(&r, &frames[res.n - 2]), "libc.so", 7);

    r.no_code = 1; /* the process is gone and its code with it: nothing may be guessed */
    replay_walk(&r, r.stack_n, frames, DEPTH, &res);
    assert_int_equal(res.n, 1);
    assert_int_equal(res.flags, 0);
    assert_true(res.status == WALK_NOROW || res.status == WALK_NOTABLE);
    assert_int_equal(res.stop.ip, r.fx.regs.ip);
    replay_close(&r);
}

static void perf_map_code_goes_by_frame_pointer(void **state)
{
    struct walk_frame frames[DEPTH], by_scan[DEPTH];
    struct walk_result res, scan;
    struct replay r;

    replay_open(&r, "jit");
    replay_walk(&r, r.stack_n, by_scan, DEPTH, &scan);
    assert_int_equal(scan.flags, WALK_F_SCANNED);
    for (size_t i = 0; i < r.fx.maps.n; i++)
        r.fx.maps.a[i].frame_pointers = !r.fx.maps.a[i].tables;
    replay_walk(&r, r.stack_n, frames, DEPTH, &res);
    assert_int_equal(res.status, WALK_ROOT);
    assert_int_equal(res.flags, WALK_F_FP);
    assert_int_equal(res.n, scan.n);
    for (uint32_t i = 0; i < res.n; i++)
        assert_int_equal(frames[i].ip, by_scan[i].ip);
    replay_close(&r);
}

/* ---- stacks made by hand: JIT code at 0x10000, a library at 0x20000 ---- */

enum { JIT = 0x10800, LIB_SP = 0x20100, LIB_END = 0x20200, LIB_BP = 0x20300, STACK = 0x700000 };

static void made_open(struct replay *r, const uint64_t *slots, size_t n)
{
    static const struct fixture_map maps[] = {{0x10000, 0x11000, 1, 0, 0, "jit"},
                                              {0x20000, 0x21000, 2, 0, 1, "lib"}};
    static const struct fixture_row rows[] = {
        {LIB_SP - 1, {0, 16, UNW_SP, 0}},
        {LIB_END - 1, {0, 0, UNW_END, 0}},
        {LIB_BP - 1, {0, 16, UNW_BP | UNW_BP_CFA, -2}},
    };

    memset(r, 0, sizeof(*r));
    r->fx.regs = (struct walk_regs){.ip = JIT, .sp = STACK, .bp = 0x123456789};
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        *vec_push(&r->fx.maps) = maps[i];
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        *vec_push(&r->fx.rows) = rows[i];
        /* call *%rax before each */
        *vec_push(&r->fx.code) = (struct fixture_word){rows[i].pc + 1 - 8, 0xd0ff909090909090};
    }
    r->stack = mem_dup(slots, n * 8);
    r->stack_n = n * 8;
}

/* A stale return address, whose frame would end in a zero, lies before the true one. */
static void a_guess_must_reach_a_known_root(void **state)
{
    static const uint64_t slots[] = {LIB_SP, 77, 0, LIB_END, 0};
    struct walk_frame frames[8];
    struct walk_result res;
    struct replay r;

    made_open(&r, slots, ARRAY_SIZE(slots));
    replay_walk(&r, r.stack_n, frames, 8, &res);
    assert_int_equal(res.status, WALK_ROOT);
    assert_int_equal(res.n, 2);
    assert_int_equal(frames[1].ip, LIB_END);
    assert_int_equal(frames[1].sp, STACK + 32);
    assert_int_equal(res.flags, WALK_F_SCANNED);
    replay_close(&r);
}

/* The caller counts from rbp, which the JIT code has pushed and changed. */
static void a_pushed_rbp_is_found(void **state)
{
    static const uint64_t slots[] = {1, 2, STACK + 64, 3, LIB_BP, 4, 5, 6, 0, LIB_END, 0};
    struct walk_frame frames[8];
    struct walk_result res;
    struct replay r;

    made_open(&r, slots, ARRAY_SIZE(slots));
    replay_walk(&r, r.stack_n, frames, 8, &res);
    assert_int_equal(res.status, WALK_ROOT);
    assert_int_equal(res.n, 3);
    assert_int_equal(frames[1].ip, LIB_BP);
    assert_int_equal(frames[2].ip, LIB_END);
    assert_int_equal(frames[2].sp, STACK + 80);
    assert_int_equal(frames[2].guessed, 0);
    replay_close(&r);
}

/* Nothing on the stack leads anywhere: one frame, and no mark of what was tried. */
static void guesses_that_fail_leave_nothing(void **state)
{
    uint64_t slots[600];
    struct walk_frame frames[8];
    struct walk_result res;
    struct replay r;

    for (size_t i = 0; i < ARRAY_SIZE(slots); i++)
        slots[i] = LIB_BP;
    made_open(&r, slots, ARRAY_SIZE(slots));
    replay_walk(&r, r.stack_n, frames, 8, &res);
    assert_int_equal(res.status, WALK_NOROW);
    assert_int_equal(res.n, 1);
    assert_int_equal(res.flags, 0);
    assert_int_equal(res.stop.ip, JIT);
    replay_close(&r);
}

/* The same JIT code, known to keep frame pointers, with `code` at its pc. */
static void framed_open(struct replay *r, const uint64_t *slots, size_t n, uint64_t code, uint8_t keeps)
{
    made_open(r, slots, n);
    r->fx.maps.a[0].frame_pointers = keeps;
    *vec_push(&r->fx.code) = (struct fixture_word){JIT, code};
}

/* jit's caller is the library's function: where its return address lies depends on how far the function has
 * come. */
static void the_edges_of_a_framed_function(void **state)
{
    static const uint64_t nops = 0x9090909090909090;
    static const struct {
        uint64_t code, slots[6], bp;
    } cases[] = {
        {(nops & ~0xffull) | 0x55, {LIB_END, 0}, STACK + 0x1000},             /* push %rbp */
        {(nops & ~0xffull) | 0xc3, {LIB_END, 0}, STACK + 0x1000},             /* ret */
        {0x55fffec000248489, {LIB_END, 0}, STACK + 0x1000},                   /* mov %eax,-0x14000(%rsp) */
        {(nops & ~0xffffffull) | 0xa73b49, {LIB_END, 0}, STACK + 0x1000},     /* cmp N(%r15),%rsp */
        {(nops & ~0xffffffull) | 0xe58948, {STACK + 0x1000, LIB_END, 0}, 77}, /* mov %rsp,%rbp */
        {(nops & ~0xffffffull) | 0xec8b48,
         {STACK + 0x1000, LIB_END, 0},
         77},                                                        /* the same, encoded otherwise */
        {nops, {LIB_SP, 3, STACK + 0x1000, LIB_END, 0}, STACK + 16}, /* in between */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct walk_frame frames[8];
        struct walk_result res;
        struct replay r;

        framed_open(&r, cases[i].slots, ARRAY_SIZE(cases[i].slots), cases[i].code, WALK_FP_KEPT);
        r.fx.regs.bp = cases[i].bp;
        replay_walk(&r, r.stack_n, frames, 8, &res);
        assert_int_equal(res.status, WALK_ROOT);
        assert_int_equal(res.n, 2);
        assert_int_equal(frames[1].ip, LIB_END);
        assert_int_equal(res.flags, WALK_F_FP);
        replay_close(&r);
    }
}

/* Far more frames than guesses may be nested. */
static void deep_recursion_by_frame_pointer(void **state)
{
    enum { FRAMES = 400 };
    uint64_t slots[2 * FRAMES + 4] = {0};
    struct walk_frame frames[DEPTH];
    struct walk_result res;
    struct replay r;

    for (size_t i = 0; i < FRAMES; i++) {
        slots[2 * i] = STACK + 16 * (i + 1);
        slots[2 * i + 1] = i + 1 < FRAMES ? JIT + 5 : LIB_END;
    }
    framed_open(&r, slots, ARRAY_SIZE(slots), 0, WALK_FP_KEPT);
    r.fx.regs.bp = STACK;
    replay_walk(&r, r.stack_n, frames, DEPTH, &res);
    assert_int_equal(res.status, WALK_ROOT);
    assert_int_equal(res.n, FRAMES + 1);
    assert_int_equal(frames[FRAMES].ip, LIB_END);
    replay_close(&r);
}

/* rbp holds a caller's frame, but at the top there is none yet to take it from. */
static void a_leaf_without_a_frame(void **state)
{
    static const uint64_t slots[] = {LIB_SP, 77, LIB_END, 0};
    struct walk_frame frames[8];
    struct walk_result res;
    struct replay r;

    framed_open(&r, slots, ARRAY_SIZE(slots), 0, WALK_FP_BUT_LEAVES);
    replay_walk(&r, r.stack_n, frames, 8, &res);
    assert_int_equal(res.status, WALK_ROOT);
    assert_int_equal(res.n, 3);
    assert_int_equal(frames[1].ip, LIB_SP);
    assert_int_equal(frames[2].ip, LIB_END);
    replay_close(&r);
}

/* A run-time said to keep frame pointers doesn't: what is on the stack is searched all the same. */
static void frame_pointers_that_lead_nowhere(void **state)
{
    static const uint64_t slots[] = {1, 2, LIB_END, 0, STACK + 8, 99, 0};
    struct walk_frame frames[8];
    struct walk_result res;
    struct replay r;

    framed_open(&r, slots, ARRAY_SIZE(slots), 0, WALK_FP_KEPT);
    r.fx.regs.bp = STACK + 32;
    replay_walk(&r, r.stack_n, frames, 8, &res);
    assert_int_equal(res.status, WALK_ROOT);
    assert_int_equal(frames[res.n - 1].ip, LIB_END);
    assert_int_equal(res.flags, WALK_F_SCANNED);
    replay_close(&r);
}

/*
 * HotSpot without frame pointers. The top frame is compiled and its rbp is data; below its return address
 * into the interpreter, which follows no call, stands the interpreter's frame pointer. A library's return
 * address before that is stale. The interpreter's frame leads to the stub that the library called.
 */
static void java_is_told_by_the_saved_rbp(void **state)
{
    enum { INTERPRETER = JIT + 0x100, STUB = JIT + 0x200 };
    static const uint64_t slots[] = {
        LIB_SP,     2,       STACK + 56, INTERPRETER, /* compiled */
        5,          LIB_SP,  7, /* interpreted: no call lies before what it returns to */
        STACK + 88, STUB,       /* its frame: STACK + 56 */
        8,          9,          /* the stub's */
        0,          LIB_END, 0, /* STACK + 88 */
    };
    static const uint64_t ips[] = {JIT, INTERPRETER, STUB, LIB_END};
    struct walk_frame frames[8];
    struct walk_result res;
    struct replay r;

    made_open(&r, slots, ARRAY_SIZE(slots));
    r.java = 1;
    r.fx.regs.bp = 0x42;
    replay_walk(&r, r.stack_n, frames, 8, &res);
    assert_int_equal(res.status, WALK_ROOT);
    assert_int_equal(res.n, ARRAY_SIZE(ips));
    for (size_t i = 0; i < ARRAY_SIZE(ips); i++)
        assert_int_equal(frames[i].ip, ips[i]);
    assert_int_equal(res.flags, WALK_F_SCANNED);
    replay_close(&r);
}

/* ---- this program's own stack ---- */

struct own {
    struct unw_table *table;
    struct unw_lazy *lazy;
    uint64_t start, end, bias;
    int use_lazy;
    struct walk_frame frames[DEPTH];
    struct walk_result res;
};

static int own_map(void *ctx, uint64_t pc, struct walk_map *m)
{
    const struct own *o = ctx;

    if (pc < o->start || pc >= o->end)
        return -1;
    *m = (struct walk_map){.start = o->start, .end = o->end, .bias = o->bias, .module = 7};
    m->table = o->use_lazy ? NULL : o->table;
    m->lazy = o->use_lazy ? o->lazy : NULL;
    return 0;
}

/* The mapping of this program's code. */
static void own_mapping(struct own *o)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    uint64_t here = (uint64_t)(uintptr_t)own_map;
    char line[512];

    assert_non_null(maps);
    while (!o->end && fgets(line, sizeof(line), maps)) {
        unsigned long start, end, off;
        char perm[8];

        if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, perm, &off) != 4 || here < start || here >= end)
            continue;
        o->start = start;
        o->end = end;
        assert_int_equal(unw_layout_bias(&o->table->layout, start, off, &o->bias), 0);
    }
    fclose(maps);
    assert_true(o->end != 0);
}

static void own_open(struct own *o, int use_lazy)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct err e = {0};

    memset(o, 0, sizeof(*o));
    o->use_lazy = use_lazy;
    o->table = unw_table_open(NULL, fd, NULL, 0, &e);
    o->lazy = unw_lazy_open(fd, &e);
    close(fd);
    assert_non_null(o->table);
    assert_non_null(o->lazy);
    own_mapping(o);
}

static void own_close(struct own *o)
{
    unw_table_free(o->table);
    unw_lazy_free(o->lazy);
}

static __attribute__((noinline)) void walk_here(struct own *o)
{
    static const struct walk_user_ops ops = {.map = own_map};
    struct walk_stack stack;
    struct walk_regs regs = {0};
    ucontext_t uc;

    getcontext(&uc);
    regs.ip = (uint64_t)uc.uc_mcontext.gregs[REG_RIP];
    regs.sp = (uint64_t)uc.uc_mcontext.gregs[REG_RSP];
    regs.bp = (uint64_t)uc.uc_mcontext.gregs[REG_RBP];
    stack = (struct walk_stack){(const uint8_t *)regs.sp, regs.sp, 4096};
    walk_user(&ops, o, &stack, &regs, 0, o->frames, DEPTH, &o->res);
}

static __attribute__((noinline)) int middle(struct own *o, int n)
{
    volatile char room[64];

    room[0] = (char)n;
    if (n)
        return middle(o, n - 1) + room[0];
    walk_here(o);
    return room[0];
}

static void own_stack_by_table_and_by_entry(void **state)
{
    static struct own by[2];

    for (int lazy = 0; lazy < 2; lazy++) {
        own_open(&by[lazy], lazy);
        middle(&by[lazy], 5);
        assert_true(by[lazy].res.n >= 8);
        for (uint32_t i = 3; i <= 6;
             i++) /* 0: walk_here, 1: middle, which called it; then middle called itself */
            assert_int_equal(by[lazy].frames[i].ip, by[lazy].frames[2].ip);
        assert_int_not_equal(by[lazy].frames[7].ip, by[lazy].frames[2].ip);
        assert_int_not_equal(by[lazy].frames[1].ip, by[lazy].frames[2].ip);
    }
    for (uint32_t i = 1; i <= 6; i++)
        assert_int_equal(by[0].frames[i].ip, by[1].frames[i].ip);
    own_close(&by[0]);
    own_close(&by[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixtures_give_the_recorded_frames),
        cmocka_unit_test(cut_stacks_say_so),
        cmocka_unit_test(a_full_array_is_truncated),
        cmocka_unit_test(recursion_returns_to_one_place),
        cmocka_unit_test(signals_interrupt_at_the_pc),
        cmocka_unit_test(jit_code_is_scanned),
        cmocka_unit_test(perf_map_code_goes_by_frame_pointer),
        cmocka_unit_test(a_guess_must_reach_a_known_root),
        cmocka_unit_test(a_pushed_rbp_is_found),
        cmocka_unit_test(guesses_that_fail_leave_nothing),
        cmocka_unit_test(the_edges_of_a_framed_function),
        cmocka_unit_test(deep_recursion_by_frame_pointer),
        cmocka_unit_test(a_leaf_without_a_frame),
        cmocka_unit_test(frame_pointers_that_lead_nowhere),
        cmocka_unit_test(java_is_told_by_the_saved_rbp),
        cmocka_unit_test(own_stack_by_table_and_by_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
