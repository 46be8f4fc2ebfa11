/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/pfm.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Only with libpfm4 are there names of hardware events. */
static int have_libpfm(void)
{
    struct pfm_event ev;

    return !pfm_encode("cycles", &ev, NULL);
}

static void need_libpfm(void)
{
    if (have_libpfm())
        return;
    print_message("# needs a build with libpfm4\n");
    skip();
}

static void clocks_are_encoded(void **state)
{
    struct pfm_event ev;
    struct err e = {0};

    assert_int_equal(pfm_encode("cpu-clock", &ev, &e), 0);
    assert_int_equal(ev.type, PERF_TYPE_SOFTWARE);
    assert_int_equal(ev.config, PERF_COUNT_SW_CPU_CLOCK);
    assert_int_equal(ev.time, 1);
    assert_string_equal(ev.name, "cpu-clock");
    assert_int_equal(pfm_encode("page-faults", &ev, &e), 0);
    assert_int_equal(ev.config, PERF_COUNT_SW_PAGE_FAULTS);
    assert_int_equal(ev.time, 0);
}

static void generic_hardware_events(void **state)
{
    struct pfm_event ev;
    struct err e = {0};

    need_libpfm();
    assert_int_equal(pfm_encode("cycles", &ev, &e), 0);
    assert_int_equal(ev.type, PERF_TYPE_HARDWARE);
    assert_int_equal(ev.config, PERF_COUNT_HW_CPU_CYCLES);
    assert_int_equal(ev.exclude_user + ev.exclude_kernel, 0);
    assert_int_equal(pfm_encode("cycles:u", &ev, &e), 0);
    assert_int_equal(ev.exclude_kernel, 1);
    assert_int_equal(ev.exclude_user, 0);
    assert_int_equal(pfm_encode("L1-DCACHE-LOAD-MISSES", &ev, &e), 0);
    assert_int_equal(ev.type, PERF_TYPE_HW_CACHE);
    assert_int_equal(ev.config, PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 |
                                    PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
}

static void unknown_events_tell_the_nearest(void **state)
{
    struct pfm_event ev;
    struct err e = {0};

    assert_int_equal(pfm_encode("cpu-clok", &ev, &e), -1);
    if (!strstr(e.msg, "cpu-clok") || !strstr(e.msg, "nearest: cpu-clock"))
        fail_msg("%s", e.msg);
    assert_int_equal(pfm_encode("task_clock2", &ev, &e), -1);
    assert_non_null(strstr(e.msg, "nearest: task-clock"));
    assert_int_equal(pfm_encode("nothing like that at all", &ev, &e), -1);
    assert_null(strstr(e.msg, "nearest"));
    assert_int_equal(pfm_encode("", &ev, &e), -1);
}

/* What the list offers must be what encoding takes. */
static void every_listed_event_is_encoded(void **state)
{
    struct pfm_list l;
    struct err e = {0};
    size_t bad = 0, clocks = 0;

    assert_int_equal(pfm_list(&l, &e), 0);
    for (size_t i = 0; i < l.items.n; i++) {
        struct pfm_event ev;

        clocks += !strcmp(l.items.a[i].name, "cpu-clock");
        if (!pfm_encode(l.items.a[i].name, &ev, &e))
            continue;
        bad++;
        print_message("# %s: %s\n", l.items.a[i].name, e.msg);
    }
    assert_int_equal(clocks, 1);
    assert_int_equal(bad, 0);
    pfm_list_release(&l);
}

static void nearest_are_sorted_and_bounded(void **state)
{
    struct pfm_item items[] = {{"branch-misses"}, {"cache-misses"}, {"cache-miss"}, {"cycles"}};
    struct pfm_list l = {{items, ARRAY_SIZE(items), ARRAY_SIZE(items)}};
    char out[64], small[8];

    assert_string_equal(pfm_nearest(&l, "cache_mis", 3, out, sizeof(out)), "cache-misses, cache-miss");
    assert_string_equal(pfm_nearest(&l, "cache-mizz", 1, out, sizeof(out)), "cache-miss");
    assert_string_equal(pfm_nearest(&l, "zzzzzzzzzz", 3, out, sizeof(out)), "");
    pfm_nearest(&l, "cache", 3, small, sizeof(small));
    assert_true(strlen(small) < sizeof(small));
}

static void there_is_always_a_default(void **state)
{
    struct pfm_event ev;
    char why[256];

    pfm_default_event(&ev, why, sizeof(why));
    if (*why)
        assert_string_equal(ev.name, "cpu-clock");
    else
        assert_string_equal(ev.name, "cycles");
}

/* The kernel refuses an event type that does not exist, whatever the machine and the rights. */
static void probing_says_why(void **state)
{
    struct pfm_event ev = {.type = 0x7ffffff0};
    int errnum = 0;

    assert_int_equal(pfm_probe(&ev, &errnum), PFM_OPENS_NO);
    assert_true(errnum != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_are_encoded),
        cmocka_unit_test(generic_hardware_events),
        cmocka_unit_test(unknown_events_tell_the_nearest),
        cmocka_unit_test(every_listed_event_is_encoded),
        cmocka_unit_test(nearest_are_sorted_and_bounded),
        cmocka_unit_test(there_is_always_a_default),
        cmocka_unit_test(probing_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
