/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-16 as UTF-8: however the text is cut into pieces, halves without the other, both orders. */
#include "exchange/import/utf16.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* a, pi, a pair (U+1D11E), a lone first half, b, a lone second half */
static const unsigned char little[] = {0xff, 0xfe, 'a',  0,    0xc0, 0x03, 0x34, 0xd8,
                                       0x1e, 0xdd, 0x34, 0xd8, 'b',  0,    0x1e, 0xdd};
static const char text[] = "a\xcf\x80\xf0\x9d\x84\x9e\xef\xbf\xbd\x62\xef\xbf\xbd";

static void whatever_the_pieces(void **state)
{
    for (size_t step = 1; step < sizeof(little); step++) {
        struct buf out = {0};
        struct utf16 u;

        assert_true(utf16_begins(&u, little, sizeof(little)));
        for (size_t at = 2; at < sizeof(little); at += step)
            utf16_add(&u, little + at, at + step < sizeof(little) ? step : sizeof(little) - at, &out);
        utf16_end(&u, &out);
        assert_string_equal(buf_str(&out), text);
        buf_release(&out);
    }
}

static void both_orders(void **state)
{
    unsigned char big[sizeof(little)];
    struct buf out = {0};
    struct utf16 u;

    for (size_t i = 0; i < sizeof(big); i++)
        big[i] = little[i ^ 1];
    assert_true(utf16_begins(&u, big, sizeof(big)));
    assert_int_equal(u.big, 1);
    utf16_add(&u, big + 2, sizeof(big) - 2, &out);
    assert_string_equal(buf_str(&out), text);
    buf_release(&out);
}

static void what_is_cut_off(void **state)
{
    struct buf out = {0};
    struct utf16 u;

    assert_true(utf16_begins(&u, little, 2));
    utf16_add(&u, "a\0b", 3, &out);
    utf16_end(&u, &out);
    assert_string_equal(buf_str(&out), "a\xef\xbf\xbd");
    utf16_end(&u, &out);
    assert_int_equal(out.len, 4);
    assert_false(utf16_begins(&u, "ab", 2));
    assert_false(utf16_begins(&u, little, 1));
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_the_pieces),
        cmocka_unit_test(both_orders),
        cmocka_unit_test(what_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
