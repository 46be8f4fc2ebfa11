/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct json_doc *parse(const char *text)
{
    struct err e = {0};
    struct json_doc *doc = json_parse(text, strlen(text), &e);

    if (!doc)
        print_message("# %s\n", e.msg);
    return doc;
}

static void refused(const char *text, const char *where)
{
    struct err e = {0};

    assert_null(json_parse(text, strlen(text), &e));
    if (!strstr(e.msg, where))
        fail_msg("'%s' does not say '%s'", e.msg, where);
}

static void writes_compact_text(void **state)
{
    struct buf b = {0};
    struct json_writer w = {.out = &b};

    json_object(&w, NULL);
    json_str(&w, "s", "a\"b\\c\n\t\x01\x7f");
    json_u64(&w, "u", UINT64_MAX);
    json_i64(&w, "i", INT64_MIN);
    json_array(&w, "a");
    json_bool(&w, NULL, 1);
    json_null(&w, NULL);
    json_array(&w, NULL);
    json_end_array(&w);
    json_end_array(&w);
    json_object(&w, "o");
    json_end_object(&w);
    json_str(&w, "n", NULL);
    json_end_object(&w);
    assert_string_equal(b.data, "{\"s\":\"a\\\"b\\\\c\\n\\t\\u0001\x7f\",\"u\":18446744073709551615,"
                                "\"i\":-9223372036854775808,\"a\":[true,null,[]],\"o\":{},\"n\":null}");
    buf_release(&b);
}

static void writes_indented_text(void **state)
{
    struct buf b = {0};
    struct json_writer w = {.out = &b, .indent = 2};

    json_object(&w, NULL);
    json_array(&w, "a");
    json_u64(&w, NULL, 1);
    json_u64(&w, NULL, 2);
    json_end_array(&w);
    json_object(&w, "e");
    json_end_object(&w);
    json_end_object(&w);
    assert_string_equal(b.data, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"e\": {}\n}");
    buf_release(&b);
}

/* A hostile name must not close the <script> that the JSON stands in, nor break it with bytes that are no
 * text. */
static void strings_are_safe_inside_a_script(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"</script><img onerror=x>&", "\"\\u003c/script\\u003e\\u003cimg onerror=x\\u003e\\u0026\""},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff|\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82",
         "\"\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf b = {0};
        struct json_writer w = {.out = &b};

        json_str(&w, NULL, cases[i].in);
        assert_string_equal(b.data, cases[i].out);
        buf_release(&b);
    }
}

static void doubles_read_back_the_same(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {1, "1"},
                 {-2.5, "-2.5"},
                 {-0.0, "-0.0"},
                 {1e300, "1e+300"},
                 {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "4.94065645841247e-324"},
                 {NAN, "null"},
                 {INFINITY, "null"},
                 {123456789.125, "123456789.125"}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct buf b = {0};
        struct json_writer w = {.out = &b};

        json_f64(&w, NULL, cases[i].v);
        assert_string_equal(b.data, cases[i].text);
        if (isfinite(cases[i].v))
            assert_true(strtod(b.data, NULL) == cases[i].v);
        buf_release(&b);
    }
}

static void reads_a_tree(void **state)
{
    struct json_doc *doc = parse(" {\"a\":[1,-2.5e1,true,null],\"s\":\"x\\u00e9\\ud83d\\ude00\\u0000y\","
                                 "\"big\":9223372036854775807,\"o\":{\"k\":false}}\n");
    const struct json_value *root, *a, *s;

    assert_non_null(doc);
    root = json_root(doc);
    a = json_get(root, "a");
    assert_int_equal(a->len, 4);
    assert_true(a->child->is_integer && a->child->integer == 1);
    assert_true(!a->child->next->is_integer && a->child->next->number == -25);
    s = json_get(root, "s");
    assert_int_equal(s->len, 1 + 2 + 4 + 1 + 1);
    assert_memory_equal(s->str, "x\xc3\xa9\xf0\x9f\x98\x80\0y", s->len + 1);
    assert_true(json_get_u64(root, "big", 0) == 9223372036854775807u);
    assert_int_equal(json_get_bool(json_get(root, "o"), "k", 1), 0);
    json_free(doc);
}

static void absent_members_give_the_default(void **state)
{
    struct json_doc *doc = parse("{\"n\":-1,\"s\":\"x\"}");
    const struct json_value *root = json_root(doc);

    assert_null(json_get(root, "none"));
    assert_null(json_get(NULL, "none"));
    assert_null(json_get(json_get(root, "s"), "none"));
    assert_string_equal(json_get_str(root, "n", "other"), "other");
    assert_true(json_get_u64(root, "n", 7) == 7); /* negative is no u64 */
    assert_true(json_get_f64(root, "s", 1.5) == 1.5);
    json_free(doc);
}

static void lone_surrogates_become_replacements(void **state)
{
    struct json_doc *doc = parse("\"\\ud800|\\udc00|\\ud800\\u0041\"");

    assert_string_equal(json_root(doc)->str, "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd"
                                             "A");
    json_free(doc);
}

static void refusals_say_line_and_column(void **state)
{
    refused("", "line 1, column 1");
    refused("{\n  \"a\": tru\n}", "line 2, column 8");
    refused("[1, 2", "line 1, column 6");
    refused("[1] x", "column 5: text behind the end");
    refused("[1,]", "column 4");
    refused("01", "leading zeros");
    refused("1e999", "range");
    refused("\"a\xff\"", "UTF-8");
    refused("\"a\nb\"", "control character");
}

static void depth_is_bounded(void **state)
{
    char text[1100];

    memset(text, '[', 513);
    memset(text + 513, ']', 513);
    text[1026] = '\0';
    refused(text, "512");
    memmove(text, text + 1, 1026);
    text[1024] = '\0';
    json_free(parse(text));
}

/* The suite of other people's cases: y_ must be taken, n_ refused, i_ either, and none may crash. */
static void test_suite(void **state)
{
    const char *data = getenv("WPROF_SHARED_DATA");
    char *dir = mem_printf("%s/json/test_parsing", data ? data : "../shared/data");
    DIR *d = opendir(dir);
    size_t seen = 0, bad = 0;

    if (!d) {
        free(dir);
        print_message("# needs the JSON test suite (WPROF_SHARED_DATA)\n");
        skip();
    }
    for (struct dirent *ent; (ent = readdir(d));) {
        struct buf text = {0};
        struct json_doc *doc;
        char kind = ent->d_name[0];

        if (ent->d_name[0] == '.')
            continue;
        assert_int_equal(io_read_file(dirfd(d), ent->d_name, &text, NULL), 0);
        doc = json_parse(buf_str(&text), text.len, NULL);
        if ((kind == 'y' && !doc) || (kind == 'n' && doc)) {
            print_message("# %s was %s\n", ent->d_name, doc ? "taken" : "refused");
            bad++;
        }
        seen++;
        json_free(doc);
        buf_release(&text);
    }
    closedir(d);
    free(dir);
    assert_true(seen > 300);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_compact_text),
        cmocka_unit_test(writes_indented_text),
        cmocka_unit_test(strings_are_safe_inside_a_script),
        cmocka_unit_test(doubles_read_back_the_same),
        cmocka_unit_test(reads_a_tree),
        cmocka_unit_test(absent_members_give_the_default),
        cmocka_unit_test(lone_surrogates_become_replacements),
        cmocka_unit_test(refusals_say_line_and_column),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(test_suite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
