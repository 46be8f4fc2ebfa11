/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that nobody marks, found by what a device runs again and again, and what the slow one of them waited
 * for. */
#include "gpu_fixture.h"

#include "analyze/report_units.h"
#include "analyze/unit_gpu.h"
#include "analyze/unit_periods.h"
#include "analyze/unit_tables.h"

static const struct gpu_work KERNEL = {.op = GPU_KERNEL};

enum { PERIODS = 12, SLOW_ONE = 7, TIME = 880 + 500 };

/* Eight kernels after a pause of 500; before the slow period the thread is in a call that takes 3,000 more.
 */
static void fill(struct gpu_fixture *f)
{
    static const char *const names[] = {"load", "mm", "relu", "norm", "mm", "relu", "drop", "adam"};
    uint32_t main_task = gpu_fixture_task(f, "python3", 0);
    uint64_t at = 0;

    for (size_t step = 0; step < PERIODS + 1; step++) {
        at += 500;
        if (step == SLOW_ONE + 1) {
            gpu_fixture_gpu(f, "cudaFree", (struct gpu_work){.op = GPU_RUNTIME}, main_task, at - 490,
                            at + 2900);
            at += 3000;
        }
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++, at += 110)
            gpu_fixture_launch(f, names[i], KERNEL, main_task, at - 5, 4, at, at + 100);
    }
}

static void periods(void **state)
{
    struct gpu_fixture f;
    struct units_choice choice;
    struct unit_slow slow;
    struct units u;

    gpu_fixture_init(&f, 0, 100000);
    fill(&f);
    units_collect(&u, &f.s);
    assert_int_equal(u.list.n, 0);
    units_find_periods(&u, &f.s);
    assert_int_equal(u.list.n, PERIODS);
    assert_string_equal(strtab_get(&u.strings, units_main_kind(&u)), "period");
    assert_int_equal(u.list.a[0].task, 1);
    assert_int_equal(units_choose_kind(&choice, &u, "period", NULL), 0);
    assert_int_equal(unit_slow_init(&slow, &f.s, &u, &choice), 1);
    assert_int_equal(slow.side[COMPARISON_NEW].units.n, 1);
    assert_int_equal(slow.side[COMPARISON_NEW].units.a[0], SLOW_ONE);
    assert_int_equal(slow.side[COMPARISON_NEW].ns, TIME + 3000);
    assert_int_equal(slow.order[0], UNIT_CALLED);
    assert_true(unit_slow_more(&slow, UNIT_CALLED) > 3000);
    assert_true(slow.gpu);
    assert_int_equal(slow.side[COMPARISON_NEW].gpu_idle, TIME + 3000 - 800);
    assert_int_equal(unit_slow_each(&slow, COMPARISON_BASE, slow.side[COMPARISON_BASE].gpu_idle), TIME - 800);
    unit_slow_release(&slow);
    units_choice_release(&choice);
    units_release(&u);
    gpu_fixture_release(&f);
}

/* Marks are what the program says: what comes again is none of its steps then. */
static void marks_come_first(void **state)
{
    struct gpu_fixture f;
    struct units u;

    gpu_fixture_init(&f, 0, 100000);
    fill(&f);
    gpu_fixture_event(&f, EVENT_MARKER, 1, 100, 200)->metric = strtab_add(&f.s.store.strings, "eval");
    units_collect(&u, &f.s);
    units_find_periods(&u, &f.s);
    assert_int_equal(u.list.n, 1);
    units_release(&u);
    gpu_fixture_release(&f);
}

static void in_the_report(void **state)
{
    struct gpu_fixture f;
    struct report r = {0};

    gpu_fixture_init(&f, 0, 100000);
    fill(&f);
    report_units(&r, &f.s, 5);
    assert_int_equal(gpu_cell(&r.sections[REPORT_UNITS].table, 0, "count")->count, PERIODS);
    assert_string_equal(gpu_cell(&r.sections[REPORT_SLOW].table, 1, "key")->text, "call");
    assert_non_null(
        strstr(r.slow_units, "While the GPU was idle: 3.58 us of a slow one, 580 ns of a typical one."));
    assert_int_equal(r.sections[REPORT_STEPS].table.left_out, PERIODS - 5);
    report_release(&r);
    gpu_fixture_release(&f);
}

/* Its own process's devices count; where it has none all do. */
static void whose_devices(void **state)
{
    const struct gpu_work other = {.op = GPU_KERNEL, .device = 1};
    struct gpu_fixture f;
    struct unit_gpu g;
    struct unit x = {.start = 0, .end = 1000, .task = 1};

    gpu_fixture_init(&f, 0, 10000);
    gpu_fixture_task(&f, "a", 0);
    gpu_fixture_task(&f, "b", 0);
    gpu_fixture_task(&f, "c", 0);
    gpu_fixture_launch(&f, "mm", KERNEL, 1, 0, 5, 100, 400);
    gpu_fixture_launch(&f, "mm", other, 2, 0, 5, 200, 900);
    unit_gpu_init(&g, &f.s);
    assert_int_equal(unit_gpu_idle(&g, &x), 700);
    x.task = 2;
    assert_int_equal(unit_gpu_idle(&g, &x), 300);
    x.task = 3;
    assert_int_equal(unit_gpu_idle(&g, &x), 500);
    unit_gpu_release(&g);
    gpu_fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periods),
        cmocka_unit_test(marks_come_first),
        cmocka_unit_test(in_the_report),
        cmocka_unit_test(whose_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
