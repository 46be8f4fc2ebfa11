/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader that holds no more than a token: in pieces of any size it reads what it reads in one. */
#include "base/io.h"
#include "base/json_stream.h"
#include "base/mem.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A text that comes in pieces of at most `piece` bytes. */
struct source {
    const char *p;
    size_t left, piece;
    int broken; /* fails at the end */
};

static ssize_t give(void *ctx, void *to, size_t n, struct err *e)
{
    struct source *s = ctx;

    n = n < s->piece ? n : s->piece;
    n = n < s->left ? n : s->left;
    if (!n && s->broken)
        return err_set(e, "the source broke");
    memcpy(to, s->p, n);
    s->p += n;
    s->left -= n;
    return (ssize_t)n;
}

/* All tokens as text; what was refused ends with the message. */
static void tokens(struct json_stream *s, struct buf *out)
{
    struct json_token t;
    struct err e = {0};
    int rc;

    while ((rc = json_stream_next(s, &t, &e)) > 0)
        buf_addf(out, "%d%s %.*s=%.*s %d\n", (int)t.type, t.ends ? "." : "", (int)t.key_len,
                 t.key ? t.key : "", (int)t.len, t.text ? t.text : "", t.boolean);
    if (rc)
        buf_addf(out, "%s%s\n", e.msg, json_stream_is_cut(s) ? " (cut)" : "");
}

static void whole(const char *text, size_t n, struct buf *out)
{
    struct json_stream s;

    json_stream_init_text(&s, text, n);
    tokens(&s, out);
    json_stream_release(&s);
}

static void in_pieces(const char *text, size_t n, size_t at_hand, struct buf *out)
{
    struct source from = {text, n, 3, 0};
    struct json_stream s;

    json_stream_init(&s, give, &from);
    s.cap = at_hand;
    tokens(&s, out);
    json_stream_release(&s);
}

static void same_in_pieces(const char *text, size_t n)
{
    static const size_t sizes[] = {3, 7, 64, 5000};
    struct buf want = {0};

    whole(text, n, &want);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct buf got = {0};

        in_pieces(text, n, sizes[i], &got);
        assert_string_equal(buf_str(&got), buf_str(&want));
        buf_release(&got);
    }
    buf_release(&want);
}

static void gives_every_value(void **state)
{
    static const char text[] =
        " {\"a\": [1, -2.5e3, true, null], \"b\\n\": {\"c\": \"x\\u00e9\\ud83d\\ude00\"}} ";
    struct buf out = {0};

    whole(text, strlen(text), &out);
    assert_string_equal(buf_str(&out), "5 = 0\n4 a= 0\n2 =1 0\n2 =-2.5e3 0\n1 = 1\n0 = 0\n4. = 0\n"
                                       "5 b\n= 0\n3 c=x\xc3\xa9\xf0\x9f\x98\x80 0\n5. = 0\n5. = 0\n");
    buf_release(&out);
    same_in_pieces(text, strlen(text));
}

static void refusals_in_pieces(void **state)
{
    static const char *const texts[] = {"",          "[1,\n 2",        "[1,\n\n  tru]", "{\"a\":1}\nx",
                                        "\"abc\xc3", "\"\\ud83d",      "[\"\\u12",      "12",
                                        "[1e]",      "\"\xf0\x9f\x98", "\"\xff\"",      "{\"a\" 1}"};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        same_in_pieces(texts[i], strlen(texts[i]));
}

static void what_is_skipped_is_checked(void **state)
{
    static const char good[] = "{\"skip\": [[1, {\"a\": 2}], 3], \"then\": 4}", bad[] = "{\"skip\": [1, }";
    struct json_token t;
    struct json_stream s;
    struct err e = {0};

    json_stream_init_text(&s, good, strlen(good));
    assert_int_equal(json_stream_next(&s, &t, &e), 1);
    assert_int_equal(json_stream_next(&s, &t, &e), 1);
    assert_true(json_key_is(&t, "skip"));
    assert_int_equal(json_stream_skip(&s, &t, &e), 0);
    assert_int_equal(json_stream_next(&s, &t, &e), 1);
    assert_true(json_key_is(&t, "then") && json_text_is(&t, "4"));
    assert_int_equal(json_stream_skip(&s, &t, &e), 0);
    json_stream_release(&s);

    json_stream_init_text(&s, bad, strlen(bad));
    json_stream_next(&s, &t, &e);
    json_stream_next(&s, &t, &e);
    assert_int_equal(json_stream_skip(&s, &t, &e), -1);
    assert_non_null(strstr(e.msg, "a value was expected"));
    assert_false(json_stream_is_cut(&s));
    json_stream_release(&s);
}

static void long_tokens(void **state)
{
    struct buf text = {0};

    buf_addstr(&text, "[\"");
    for (int i = 0; i < 100000; i++)
        buf_addstr(&text, i % 10 ? "ab" : "\\t");
    buf_addstr(&text, "\",       1]");
    same_in_pieces(text.data, text.len);
    buf_release(&text);
}

static void bytes_that_are_not_utf8_pass_where_allowed(void **state)
{
    struct json_token t;
    struct json_stream s;
    struct err e = {0};

    json_stream_init_text(&s, "\"a\xff\"", 4);
    s.lenient = 1;
    assert_int_equal(json_stream_next(&s, &t, &e), 1);
    assert_memory_equal(t.text, "a\xff", 2);
    json_stream_release(&s);
}

static void a_source_that_fails(void **state)
{
    struct source from = {"[1, 2, ", 7, 100, 1};
    struct json_stream s;
    struct buf out = {0};

    json_stream_init(&s, give, &from);
    tokens(&s, &out);
    assert_non_null(strstr(buf_str(&out), "the source broke"));
    buf_release(&out);
    json_stream_release(&s);
}

/* The suite of other people's cases: y_ must be taken, n_ refused, and pieces make no difference. */
static void test_suite(void **state)
{
    const char *data = getenv("WPROF_SHARED_DATA");
    char *dir = mem_printf("%s/json/test_parsing", data ? data : "../shared/data");
    DIR *d = opendir(dir);
    size_t seen = 0;

    free(dir);
    if (!d) {
        print_message("# needs the JSON test suite (WPROF_SHARED_DATA)\n");
        skip();
    }
    for (struct dirent *ent; (ent = readdir(d));) {
        struct buf text = {0}, out = {0};
        int refused;

        if (ent->d_name[0] == '.')
            continue;
        assert_int_equal(io_read_file(dirfd(d), ent->d_name, &text, NULL), 0);
        whole(buf_str(&text), text.len, &out);
        refused = strstr(buf_str(&out), "not JSON: line ") != NULL;
        if ((ent->d_name[0] == 'y' && refused) || (ent->d_name[0] == 'n' && !refused))
            fail_msg("%s was %s", ent->d_name, refused ? "refused" : "taken");
        same_in_pieces(buf_str(&text), text.len);
        seen++;
        buf_release(&text);
        buf_release(&out);
    }
    closedir(d);
    assert_true(seen > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_every_value),
        cmocka_unit_test(refusals_in_pieces),
        cmocka_unit_test(what_is_skipped_is_checked),
        cmocka_unit_test(long_tokens),
        cmocka_unit_test(bytes_that_are_not_utf8_pass_where_allowed),
        cmocka_unit_test(a_source_that_fails),
        cmocka_unit_test(test_suite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
