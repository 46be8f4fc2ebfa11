/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of simulated runs, whose differences are known; `make bench` does many more of them. Seeds are
 * fixed: what is found is the same each time. */
#include "compare_simulation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define MODEL .functions = 20, .first = 3000, .speed = 0.02, .alpha = 0.01

/* At alpha 0.01 one pair in a hundred may show something that is not there; the gate wants 5 points besides.
 */
static void equal_programs(void **state)
{
    static const struct simulation several[] = {
        {.runs = 3, .variation = 0.01, MODEL},
        {.runs = 3, .variation = 0.03, .per = "second", MODEL},
        {.runs = 6, .variation = 0.01, MODEL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(several); i++) {
        struct simulation_rates r = simulate(&several[i], 100, i + 1);

        assert_in_range(r.any, 0, 3);
        assert_in_range(r.gates, 0, 1);
        assert_in_range(r.covered, 96, 100);
    }
}

/* Of one run a side the samples of a burst are not independent: blocks of time know it, counts don't. */
static void one_run_in_bursts(void **state)
{
    static const struct simulation m = {
        .runs = 1, .slices = 60, .functions = 20, .first = 300, .speed = 0.02, .alpha = 0.01};
    struct simulation_rates r = simulate(&m, 60, 5);

    assert_in_range(r.any, 0, 2);
    assert_int_equal(r.gates, 0);
}

static void planted_growth(void **state)
{
    static const struct simulation ten = {.runs = 3, .growth = 0.1, .variation = 0.005, MODEL};
    static const struct simulation three = {.runs = 10,
                                            .growth = 0.03,
                                            .functions = 20,
                                            .first = 6000,
                                            .speed = 0.02,
                                            .variation = 0.005,
                                            .alpha = 0.01};
    struct simulation_rates r = simulate(&ten, 100, 1);

    assert_in_range(r.found, 95, 100);
    assert_in_range(r.covered, 95, 100);
    r = simulate(&three, 50, 1);
    assert_in_range(r.found, 40, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_programs),
        cmocka_unit_test(one_run_in_bursts),
        cmocka_unit_test(planted_growth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
