/* SPDX-License-Identifier: Apache-2.0 */
#include "render/markup.h"
#include "render_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_training_run_is_drawn_as_before(void **state)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    fixture_run(&x);
    fake_finish(&x.fake);
    assert_int_equal(fixture_render(&x, "svg", &out), 0);
    assert_int_equal(fixture_golden("train.svg", &out), 0);
    buf_release(&out);
    fixture_close(&x);
}

static void hostile_names_stay_text(void **state)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    fake_stack(&x.fake,
               "p:" HOSTILE ";n:a\nb\x01"
               "c;n:\xff\xfe;n:\xe2\x80\xae"
               "evil;n:\"'&",
               3);
    fake_finish(&x.fake);
    assert_int_equal(fixture_render(&x, "svg", &out), 0);
    assert_null(strstr(out.data, "<img"));
    assert_null(strstr(out.data, "</script"));
    assert_non_null(strstr(out.data, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
    assert_non_null(strstr(out.data, "a\xe2\x90\x8a"
                                     "b\xe2\x90\x81"
                                     "c"));
    assert_null(strchr(out.data, '\xff'));
    assert_null(strstr(out.data, "\xe2\x80\xae"));
    assert_non_null(strstr(out.data, "&quot;&#39;&amp;"));
    buf_release(&out);
    fixture_close(&x);
}

static void an_empty_profile_says_so(void **state)
{
    struct fixture x;
    struct buf out = {0};

    fixture_open(&x);
    fake_finish(&x.fake);
    assert_int_equal(fixture_render(&x, "svg", &out), 0);
    assert_non_null(strstr(out.data, "No samples"));
    assert_non_null(strstr(out.data, "</svg>"));
    buf_release(&out);
    fixture_close(&x);
}

static void many_stacks_stay_a_small_file(void **state)
{
    struct fixture x;
    struct buf out = {0};
    char stack[128];

    fixture_open(&x);
    for (unsigned i = 0; i < 200000; i++) {
        snprintf(stack, sizeof(stack), "t:app;n:f%u;n:g%u;n:h%u", i % 7, i % 911, i % 50021);
        fake_stack(&x.fake, stack, 1);
    }
    fake_finish(&x.fake);
    assert_int_equal(fixture_render(&x, "svg", &out), 0);
    assert_true(out.len < 4000000);
    assert_non_null(strstr(out.data, "[pruned]: "));
    buf_release(&out);
    fixture_close(&x);
}

static void text_is_cut_by_characters(void **state)
{
    struct buf out = {0};

    assert_int_equal(markup_cut(&out, "\xc3\xa4<bc", 3), 3);
    assert_string_equal(out.data, "\xc3\xa4&lt;\xe2\x80\xa6");
    buf_clear(&out);
    assert_int_equal(markup_cut(&out, "abc", 3), 3);
    assert_string_equal(out.data, "abc");
    buf_clear(&out);
    markup_text(&out, "\xed\xa0\x80|\xc0\xaf|\xf4\x90\x80\x80|\xe2\x82|\xf0\x9f\x98\x80");
    /* A surrogate, an overlong form, beyond U+10FFFF and a torn character are no characters. */
    assert_string_equal(out.data, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|"
                                  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|"
                                  "\xf0\x9f\x98\x80");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_run_is_drawn_as_before), cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(an_empty_profile_says_so),          cmocka_unit_test(many_stacks_stay_a_small_file),
        cmocka_unit_test(text_is_cut_by_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
