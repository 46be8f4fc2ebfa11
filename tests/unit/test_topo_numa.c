/* SPDX-License-Identifier: Apache-2.0 */
/* Pages by NUMA node, from the text of numa_maps. */
#include "topo/numa_maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_pages(void **state)
{
    struct numa_maps m = {0};

    assert_int_equal(
        numa_maps_parse(&m, "00400000 default file=/bin/N9=7 mapped=6 N1=4 N0=2 kernelpagesize_kB=4\n"
                            "7f0000000000 interleave:0-1 anon=3 dirty=3 N0=1 N12=2 kernelpagesize_kB=4\n"
                            "7f1000000000 bind:1 file=/anon_hugepage\\040(deleted) huge N1=3 "
                            "kernelpagesize_kB=2048\n"
                            "7f2000000000 default\n"
                            "7f3000000000 default heap anon=1 N1=1\n"),
        0);
    assert_int_equal(m.nodes.n, 3);
    assert_int_equal(m.nodes.a[0].node, 0);
    assert_int_equal(m.nodes.a[0].file, 2 * 4096);
    assert_int_equal(m.nodes.a[0].anon, 4096);
    assert_int_equal(m.nodes.a[1].node, 1);
    assert_int_equal(m.nodes.a[1].file, 4 * 4096 + 3 * (2 << 20));
    assert_int_equal(m.nodes.a[1].anon, 4096); /* of the smallest pages, where it is not said */
    assert_int_equal(m.nodes.a[2].node, 12);
    assert_int_equal(numa_maps_bytes(&m, 1), 4 * 4096);
    numa_maps_release(&m);
}

static void test_bad(void **state)
{
    struct numa_maps m = {0};

    assert_int_equal(numa_maps_parse(&m,
                                     "nonsense\n7f00 default N1=99999999999999999999\n7f00 default N5000=1\n"
                                     "7f00 default N1x=1\n"),
                     4);
    assert_int_equal(numa_maps_parse(&m, "7f00 default N1=1"), 0); /* cut off before the end of its line */
    assert_int_equal(numa_maps_bytes(&m, 0), 4096);
    numa_maps_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
