/* SPDX-License-Identifier: Apache-2.0 */
/* Placing Python frames among native ones. Stacks are written innermost first, as text. */
#include "base/buf.h"
#include "base/mem.h"
#include "unwind/py_merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One native frame: a letter each, `E` for the eval loop, `J` for generated code. They lie 0x100 apart from
 * 0x1000 on. */
struct scene {
    const char *native;
    const char *python; /* a letter each; the entry frame of a run is a capital */
    uint64_t addr[8];   /* of the runs */
    struct py_merge_how how;
};

static struct py_merge_stats stats;

static const char *merged(const struct scene *s)
{
    static char text[64];
    struct py_native native[16];
    struct py_frame python[16];
    struct py_slot out[32];
    size_t nn = strlen(s->native), np = strlen(s->python), run = 0, n, i;

    for (i = 0; i < nn; i++)
        native[i] = (struct py_native){.sp = 0x1000 + 0x100 * i,
                                       .flags = s->native[i] == 'E'   ? PY_NATIVE_EVAL
                                                : s->native[i] == 'J' ? PY_NATIVE_JIT
                                                                      : 0};
    for (i = 0; i < np; i++) {
        int entry = s->python[i] < 'a';

        python[i] = (struct py_frame){.flags = entry ? PY_FRAME_ENTRY : 0, .addr = entry ? s->addr[run] : 0};
        run += entry;
    }
    stats = (struct py_merge_stats){0};
    n = py_merge(out, native, nn, python, np, &s->how, &stats);
    assert_true(n <= nn + np);
    for (i = 0; i < n; i++)
        text[i] = out[i].python ? s->python[out[i].index] : s->native[out[i].index];
    text[n] = '\0';
    return text;
}

static const struct py_merge_how shim = {.entry = PY_ENTRY_SHIM, .native_whole = 1, .python_whole = 1};
static const struct py_merge_how count = {.entry = PY_ENTRY_NONE, .native_whole = 1, .python_whole = 1};

static void test_callbacks(void **state)
{
    /* leaf <- eval 1 <- sorted <- eval 2 <- main: x, y, Z run in eval 1, w, V in eval 2 */
    struct scene s = {"lEsEm", "xyZwV", {0x1110, 0x13f8}, shim};

    (void)state;
    assert_string_equal(merged(&s), "lxyZswVm");
    assert_int_equal(stats.runs, 2);
    assert_int_equal(stats.unplaced, 0);
}

/* By address alone: the loop's symbol isn't known, or the frame is in a part of it that was split off. */
static void test_no_eval_symbol(void **state)
{
    struct scene s = {"lesem", "xyZwV", {0x1110, 0x13f8}, shim};

    (void)state;
    assert_string_equal(merged(&s), "lxyZswVm");
}

static void test_loop_being_entered(void **state)
{
    /* The run's loop has returned already: its address is below all native frames. */
    struct scene s = {"lsEm", "XyZ", {0xf00, 0x1210}, shim};

    (void)state;
    assert_string_equal(merged(&s), "XlsyZm");
    assert_int_equal(stats.unplaced, 1);
}

static void test_native_cut_off(void **state)
{
    struct scene s = {"lEsf", "xYwVuT", {0x1110, 0x1810, 0x1910}, shim};

    (void)state;
    s.how.native_whole = 0;
    assert_string_equal(merged(&s), "lxYsfwVuT");
    assert_int_equal(stats.unplaced, 2);
    /* The last frame that was reached is the loop itself: where it ends isn't known, but it must be this one.
     */
    s = (struct scene){"lEsE", "xYwV", {0x1110, 0x1310}, s.how};
    assert_string_equal(merged(&s), "lxYswV");
    assert_int_equal(stats.unplaced, 0);
}

static void test_no_native(void **state)
{
    struct scene s = {"", "xYz", {0x1110}, shim};

    (void)state;
    assert_string_equal(merged(&s), "xYz");
    s = (struct scene){"abE", "", {0}, shim};
    assert_string_equal(merged(&s), "abE");
}

static void test_python_too_deep(void **state)
{
    /* The outermost run was cut at the depth limit, so it has no address: the next loop outwards is its own.
     */
    struct scene s = {"lEsEm", "xYw", {0x1110}, shim};

    (void)state;
    s.how.python_whole = 0;
    assert_string_equal(merged(&s), "lxYswm");
}

static void test_tail_calling_opcodes(void **state)
{
    struct scene s = {"laEshEm", "xYwV", {0x1210, 0x1510}, shim};

    (void)state;
    s.how.tail_calls = 1;
    assert_string_equal(merged(&s), "lxYswVm"); /* a and h are opcodes */
    s = (struct scene){"Em", "xY", {0x1010}, s.how};
    assert_string_equal(merged(&s), "xYm");
}

static void test_trampolines(void **state)
{
    /* x <- eval <- trampoline <- f <- eval <- trampoline <- other generated code */
    struct py_native native[] = {
        {0x1000, PY_NATIVE_EVAL}, {0x1100, PY_NATIVE_JIT}, {0x1110, 0}, {0x1200, PY_NATIVE_EVAL},
        {0x1300, PY_NATIVE_JIT},  {0x1310, PY_NATIVE_JIT}, {0x1340, 0}};
    struct py_frame python[] = {{.flags = PY_FRAME_ENTRY, .addr = 0x1010},
                                {.flags = PY_FRAME_ENTRY, .addr = 0x1210}};
    struct py_slot out[9];

    (void)state;
    stats = (struct py_merge_stats){0};
    assert_int_equal(py_merge(out, native, 7, python, 2, &shim, &stats), 5);
    assert_int_equal(stats.trampolines, 2);
    assert_true(out[0].python && out[2].python && !out[3].python);
    assert_int_equal(out[1].index, 2);
    assert_int_equal(out[3].index, 5);
    /* A larger frame: somebody else's generated code called the eval loop. */
    native[2].sp = 0x1120;
    stats = (struct py_merge_stats){0};
    assert_int_equal(py_merge(out, native, 7, python, 2, &shim, &stats), 6);
    assert_int_equal(stats.trampolines, 1);
    assert_int_equal(out[1].index, 1);
}

static void test_signal_stack(void **state)
{
    /* A handler on an alternate stack above: frame 1 appears to end before it begins. */
    struct py_native native[] = {
        {0x9000, 0}, {0x9100, 0}, {0x1000, 0}, {0x1100, PY_NATIVE_EVAL}, {0x1200, 0}};
    struct py_frame python[] = {{.flags = PY_FRAME_ENTRY, .addr = 0x1180}};
    struct py_slot out[8];

    (void)state;
    assert_int_equal(py_merge(out, native, 5, python, 1, &shim, &stats), 5);
    assert_int_equal(out[3].python, 1);
}

static void test_one_loop_a_frame(void **state)
{
    struct scene s = {"lEsEEm", "XYZ", {0}, count};

    (void)state;
    assert_string_equal(merged(&s), "lXsYZm");
    /* A loop more than frames: it is only just being entered. */
    s.native = "EfEsEEm";
    assert_string_equal(merged(&s), "EfXsYZm");
    /* The same when frames are missing outside. */
    s.how.python_whole = 0;
    assert_string_equal(merged(&s), "XfYsZEm");
    /* Fewer loops: the rest goes where their order allows, and is counted. */
    s = (struct scene){"lEsm", "XYZ", {0}, count};
    assert_string_equal(merged(&s), "lXYZsm");
    assert_int_equal(stats.unplaced, 2);
    s.how.native_whole = 0;
    assert_string_equal(merged(&s), "lXsmYZ");
    /* No loop known at all. */
    s = (struct scene){"lesm", "XYZ", {0}, count};
    assert_string_equal(merged(&s), "lesmXYZ");
    assert_int_equal(stats.unplaced, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_no_eval_symbol),
        cmocka_unit_test(test_loop_being_entered),
        cmocka_unit_test(test_native_cut_off),
        cmocka_unit_test(test_no_native),
        cmocka_unit_test(test_python_too_deep),
        cmocka_unit_test(test_tail_calling_opcodes),
        cmocka_unit_test(test_trampolines),
        cmocka_unit_test(test_signal_stack),
        cmocka_unit_test(test_one_loop_a_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
