/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void durations(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"10s", 10000000000}, {"1.5m", 90000000000}, {"250ms", 250000000}, {"100us", 100000},
                {"5ns", 5},           {"1h", 3600000000000}, {"2", 2000000000},    {"0", 0},
                {"0.1s", 100000000},  {"3 s", 3000000000}};
    static const char *const bad[] = {"", "s", "-1s", "10x", "1s2", "nan", "inf", "0x10q", "1e300h", "+1"};
    uint64_t ns;

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(units_parse_duration(good[i].text, &ns, NULL), 0);
        assert_true(ns == good[i].ns);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err e = {0};

        if (!units_parse_duration(bad[i], &ns, &e))
            fail_msg("'%s' was taken", bad[i]);
        assert_non_null(strstr(e.msg, "is not a duration"));
    }
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"512", 512},      {"10k", 10240}, {"64M", 64 << 20},
                {"1GiB", 1 << 30}, {"1.5K", 1536}, {"2TiB", 2ull << 40}};
    static const char *const bad[] = {"", "M", "-1", "1Q", "64 MB/s"};
    uint64_t v;

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(units_parse_size(good[i].text, &v, NULL), 0);
        assert_true(v == good[i].bytes);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(units_parse_size(bad[i], &v, NULL), -1);
}

static void whole_numbers(void **state)
{
    static const char *const bad[] = {"", " 1", "-1", "+1", "1.0", "0x1", "1a", "18446744073709551616"};
    uint64_t v;

    assert_int_equal(units_parse_uint("18446744073709551615", &v, NULL), 0);
    assert_true(v == UINT64_MAX);
    assert_int_equal(units_parse_uint("007", &v, NULL), 0);
    assert_true(v == 7);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(units_parse_uint(bad[i], &v, NULL), -1);
}

static void as_people_read_them(void **state)
{
    char t[40];

    assert_string_equal(units_duration(t, sizeof(t), 999), "999 ns");
    assert_string_equal(units_duration(t, sizeof(t), 1500), "1.5 us");
    assert_string_equal(units_duration(t, sizeof(t), 20500000), "20.5 ms");
    assert_string_equal(units_duration(t, sizeof(t), 1234567890), "1.23 s");
    assert_string_equal(units_size(t, sizeof(t), 512), "512 B");
    assert_string_equal(units_size(t, sizeof(t), 47815066), "45.6 MiB");
    assert_string_equal(units_count(t, sizeof(t), 0), "0");
    assert_string_equal(units_count(t, sizeof(t), 999), "999");
    assert_string_equal(units_count(t, sizeof(t), 12345), "12,345");
    assert_string_equal(units_count(t, sizeof(t), UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(units_share(t, sizeof(t), 0.123), "12.3 %");
    assert_string_equal(units_share(t, sizeof(t), 0.0001), "0.01 %");
    assert_string_equal(units_share(t, sizeof(t), 0), "0.0 %");
    units_count(t, 4, 123456); /* cut, never beyond */
    assert_true(strlen(t) < 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(as_people_read_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
