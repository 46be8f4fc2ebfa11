/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings of a PMU that libpfm4 is told to be on, so that they are the same on every machine. */
#include "platform/pfm.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Only with libpfm4 are there names of hardware events. */
static int have_libpfm(void)
{
    struct pfm_event ev;

    return !pfm_encode("skl::INST_RETIRED:ANY_P", &ev, NULL);
}

static void need_libpfm(void)
{
    if (have_libpfm())
        return;
    print_message("# needs a build with libpfm4\n");
    skip();
}

/* Skylake's numbers: Intel SDM volume 3B, event 24H umask 21H and event C0H; counter mask and edge as
 * IA32_PERFEVTSELx. */
static void a_forced_pmu(void **state)
{
    struct pfm_event ev;
    struct err e = {0};

    need_libpfm();
    if (pfm_encode("skl::L2_RQSTS:DEMAND_DATA_RD_MISS", &ev, &e))
        fail_msg("%s", e.msg);
    assert_int_equal(ev.type, PERF_TYPE_RAW);
    assert_int_equal(ev.config & 0xffff, 0x2124);
    assert_int_equal(pfm_encode("skl::INST_RETIRED:ANY_P:u", &ev, &e), 0);
    assert_int_equal(ev.config & 0xffff, 0x00c0);
    assert_int_equal(ev.exclude_kernel, 1);
    assert_int_equal(pfm_encode("skl::INST_RETIRED:ANY_P:c=2:i=1", &ev, &e), 0);
    assert_int_equal(ev.config >> 24 & 0xff, 2);
    assert_int_equal(ev.config >> 23 & 1, 1);
}

static void the_list_has_the_forced_pmu(void **state)
{
    struct pfm_list l;
    size_t skl = 0;

    need_libpfm();
    assert_int_equal(pfm_list(&l, NULL), 0);
    for (size_t i = 0; i < l.items.n; i++)
        skl += !strncmp(l.items.a[i].name, "skl::", 5);
    assert_true(skl > 100);
    pfm_list_release(&l);
}

/* What the list offers must be what encoding takes. */
static void every_listed_event_is_encoded(void **state)
{
    struct pfm_list l;
    struct err e = {0};
    size_t bad = 0;

    assert_int_equal(pfm_list(&l, &e), 0);
    for (size_t i = 0; i < l.items.n; i++) {
        struct pfm_event ev;

        if (!pfm_encode(l.items.a[i].name, &ev, &e))
            continue;
        bad++;
        print_message("# %s: %s\n", l.items.a[i].name, e.msg);
    }
    assert_int_equal(bad, 0);
    pfm_list_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forced_pmu),
        cmocka_unit_test(the_list_has_the_forced_pmu),
        cmocka_unit_test(every_listed_event_is_encoded),
    };

    setenv("LIBPFM_FORCE_PMU", "skl", 1);
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
