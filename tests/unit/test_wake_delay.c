/* SPDX-License-Identifier: Apache-2.0 */
/* Delay in the run queue, shared out to the waits before it. */
#include "collect/wake_delay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t queued(const struct outside_ended *w, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        assert_true(w[i].queued <= w[i].dur);
        sum += w[i].queued;
    }
    return sum;
}

static void test_one(void **state)
{
    struct outside_ended w[] = {{.dur = 1000}};

    (void)state;
    assert_int_equal(wake_delay_share(w, 1, 300), 0);
    assert_int_equal(w[0].queued, 300);
    assert_int_equal(wake_delay_share(w, 1, 900), 200); /* none was longer than it was */
    assert_int_equal(w[0].queued, 1000);
    assert_int_equal(wake_delay_share(w, 0, 7), 7);
}

static void test_evenly(void **state)
{
    struct outside_ended w[] = {{.dur = 1000}, {.dur = 10}, {.dur = 4000}, {.dur = 0}};

    (void)state;
    assert_int_equal(wake_delay_share(w, 4, 1210), 0);
    assert_int_equal(queued(w, 4), 1210);
    assert_int_equal(w[1].queued, 10);
    assert_int_equal(w[3].queued, 0);
    assert_in_range(w[0].queued, 590, 610);
    assert_in_range(w[2].queued, 590, 610);
    assert_int_equal(wake_delay_share(w, 4, 5000), 1200);
    assert_int_equal(queued(w, 4), 5010);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one), cmocka_unit_test(test_evenly)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
