/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPUs and nodes, as the kernel writes them. */
#include "topo/idset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void check(int rc, struct idset *s, int want_rc, const char *want)
{
    struct buf b = {0};

    assert_int_equal(rc, want_rc);
    idset_text(s, &b);
    assert_string_equal(buf_str(&b), want);
    buf_release(&b);
    idset_release(s);
}

static void test_list(void **state)
{
    struct idset s = {0};

    check(idset_parse_list(&s, "0-3,8\n"), &s, 0, "0-3,8");
    check(idset_parse_list(&s, ""), &s, 0, "");
    check(idset_parse_list(&s, "\n"), &s, 0, "");
    check(idset_parse_list(&s, "5,4,3,63-65, 200 "), &s, 0, "3-5,63-65,200");
    check(idset_parse_list(&s, "7-"), &s, -1, "");
    check(idset_parse_list(&s, "9-7"), &s, -1, "");
    check(idset_parse_list(&s, "1;2"), &s, -1, "1");
    check(idset_parse_list(&s, "-1"), &s, -1, "");
    check(idset_parse_list(&s, "0-65536"), &s, -1, "");
    check(idset_parse_list(&s, "99999999999999999999"), &s, -1, "");
}

static void test_mask(void **state)
{
    struct idset s = {0};

    check(idset_parse_mask(&s, "f\n"), &s, 0, "0-3");
    check(idset_parse_mask(&s, "00000001,80000000,0000000c"), &s, 0, "2-3,63-64");
    check(idset_parse_mask(&s, "0,00000000"), &s, 0, "");
    check(idset_parse_mask(&s, "0xf"), &s, 0, "0-3");
    check(idset_parse_mask(&s, ""), &s, 0, "");
    check(idset_parse_mask(&s, "123456789"), &s, -1, "");
    check(idset_parse_mask(&s, "f,"), &s, -1, "32-35");
    check(idset_parse_mask(&s, "g"), &s, -1, "");
}

static void test_sets(void **state)
{
    struct idset a = {0}, b = {0};

    idset_parse_list(&a, "0-70");
    idset_parse_list(&b, "64-66,130");
    assert_int_equal(idset_count(&a), 71);
    assert_true(idset_meets(&a, &b) && idset_meets(&b, &a));
    assert_false(idset_within(&b, &a));
    assert_false(idset_has(&b, 129));
    assert_int_equal(idset_first(&b), 64);
    assert_int_equal(idset_next(&b, 66), 130);
    assert_int_equal(idset_next(&b, 130), -1);
    idset_intersect(&b, &a);
    assert_true(idset_within(&b, &a));
    assert_false(idset_equal(&b, &a));
    idset_unite(&b, &a);
    assert_true(idset_equal(&b, &a));
    idset_release(&a);
    assert_int_equal(idset_first(&a), -1);
    assert_false(idset_meets(&a, &b));
    assert_true(idset_within(&a, &b));
    idset_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
