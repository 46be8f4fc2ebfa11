/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and sentences on terminals that are too narrow for them. */
#include "render/text.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// clang-format off
#include <cmocka.h>
// clang-format on

static const struct table_column columns[] = {
    {"change", "change", TABLE_FIGURE}, {"interval", "interval", TABLE_FIGURE, 2},
    {"kind", "kind", TABLE_TEXT, 3},    {"name", "name", TABLE_TEXT},
    {"module", "in", TABLE_TEXT, 1},    {"low", "at least", TABLE_FIGURE, 4},
};

static void add(struct table *t, const char *change, const char *interval, const char *name,
                const char *module)
{
    union table_cell *cell = table_add(t);

    cell[0].text = mem_strdup(change);
    cell[1].text = mem_strdup(interval);
    cell[3].text = mem_strdup(name);
    cell[4].text = mem_strdup(module);
}

static size_t widest_line(const char *s)
{
    size_t widest = 0, at = 0;

    for (; *s; s++) {
        at = *s == '\n' ? 0 : at + (((unsigned char)*s & 0xc0) != 0x80);
        widest = at > widest ? at : widest;
    }
    return widest;
}

static void shown(struct buf *out, const char *name, size_t width)
{
    struct text_style style = {.width = width};
    struct table t;

    table_init(&t, columns, ARRAY_SIZE(columns));
    add(&t, "+12.5 %", "+1.0 % .. +24.0 %", name, "libmodel.so");
    add(&t, "-1 %", "-2 % .. +1 %", "short", "app");
    buf_clear(out);
    text_table(&t, "Functions", &style, out);
    table_release(&t);
}

static void spare_columns_go_before_the_name(void **state)
{
    struct buf out = {0};

    shown(&out, "parse_line", 0);
    assert_non_null(strstr(buf_str(&out), "   change           interval  name        in\n"
                                          "  +12.5 %  +1.0 % .. +24.0 %  parse_line  libmodel.so\n"));
    shown(&out, "the_name_that_matters_is_whole", 60);
    assert_non_null(strstr(buf_str(&out), "  +12.5 %  the_name_that_matters_is_whole  libmodel.so\n"));
    assert_non_null(strstr(buf_str(&out), "left out to fit the terminal: interval\n"));
    shown(&out, "the_name_that_matters_is_whole", 44);
    assert_non_null(strstr(buf_str(&out), "  +12.5 %  the_name_that_matters_is_whole\n"));
    assert_non_null(strstr(buf_str(&out), "terminal: interval, in\n"));
    buf_release(&out);
}

static void an_empty_spare_column_is_not_shown(void **state)
{
    struct buf out = {0};

    shown(&out, "f", 0);
    assert_null(strstr(buf_str(&out), "kind"));
    assert_null(strstr(buf_str(&out), "at least"));
    buf_release(&out);
}

static void a_long_name_goes_on_below(void **state)
{
    struct buf out = {0};

    shown(&out, "model::layers::attention::forward_of_a_block_of_heads", 44);
    assert_true(widest_line(buf_str(&out)) <= 44);
    assert_non_null(strstr(buf_str(&out), "  +12.5 %  model::layers::attention::\n"
                                          "           forward_of_a_block_of_heads\n"
                                          "     -1 %  short\n"));
    buf_release(&out);
}

static void what_two_lines_do_not_hold_is_cut(void **state)
{
    char name[400];
    struct buf out = {0};

    memset(name, 'x', sizeof(name) - 1);
    memcpy(name + sizeof(name) - 5, ".end", 5);
    shown(&out, name, 44);
    assert_true(widest_line(buf_str(&out)) <= 44);
    assert_non_null(strstr(buf_str(&out), "…"));
    assert_non_null(strstr(buf_str(&out), ".end\n"));
    shown(&out, name, 0); /* a file has all of it */
    assert_non_null(strstr(buf_str(&out), name));
    buf_release(&out);
}

static void sentences_are_wrapped(void **state)
{
    struct buf out = {0};

    text_wrap(&out, "it grew by 12.5 % \033in all of them", 16, 2, 0);
    assert_string_equal(buf_str(&out), "it grew by\n  12.5 % ?in all\n  of them\n");
    buf_clear(&out);
    text_wrap(&out, "it grew by 12.5 % in all of them", 0, 2, 0);
    assert_string_equal(buf_str(&out), "it grew by 12.5 % in all of them\n");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spare_columns_go_before_the_name),
        cmocka_unit_test(an_empty_spare_column_is_not_shown),
        cmocka_unit_test(a_long_name_goes_on_below),
        cmocka_unit_test(what_two_lines_do_not_hold_is_cut),
        cmocka_unit_test(sentences_are_wrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
