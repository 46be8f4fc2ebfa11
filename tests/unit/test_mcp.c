/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "exchange/mcp/fit.h"
#include "exchange/mcp/lines.h"
#include "exchange/mcp/mcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a server, and what it answers ---- */

static const struct mcp_arg args[] = {
    {"text", MCP_TEXT, 1, "any text"},
    {"choice", MCP_CHOICE, 0, "either", .choices = "aa|b", .otherwise = "aa"},
    {"count", MCP_COUNT, 0, "how many", .otherwise = "3", .least = 1, .most = 500},
    {"texts", MCP_TEXTS, 0, "some texts", .most = 2},
};

static const struct mcp_member members[] = {{"rows", MCP_IS_ROWS, NULL}};

static const struct mcp_tool tools[] = {{"tool", "Tool", "a tool", args, 4, members, 1}};

static const struct mcp_about about = {"1.2.3", "what to know", tools, 1};

static void say(struct mcp *m, const char *line, struct buf *out)
{
    buf_clear(out);
    mcp_take(m, line, strlen(line), out);
}

static void says(struct mcp *m, const char *line, const char *answer)
{
    struct buf out = {0};

    say(m, line, &out);
    assert_string_equal(buf_str(&out), answer);
    buf_release(&out);
}

static struct mcp *server(const char *version)
{
    struct mcp *m = mcp_new(&about);
    char *line = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                            "\"protocolVersion\":\"%s\"}}",
                            version);
    struct buf out = {0};

    say(m, line, &out);
    assert_non_null(strstr(buf_str(&out), version));
    buf_release(&out);
    free(line);
    return m;
}

static void call(struct mcp *m, const char *id)
{
    char *line = mem_printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":"
                            "\"tool\",\"arguments\":{\"text\":\"x\"}}}",
                            id);

    says(m, line, "");
    free(line);
}

static void gives(struct mcp *m, int failed, const char *result, const char *answer)
{
    struct mcp_result r = {failed, result, strlen(result)};
    struct buf out = {0};

    mcp_end(m, &r, &out);
    assert_string_equal(buf_str(&out), answer);
    buf_release(&out);
}

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define CANCEL(id)                                                                                           \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"

/* ---- lines ---- */

static void expect_line(struct mcp_lines *l, int eof, enum mcp_line kind, const char *text)
{
    const char *line = NULL;
    size_t n = 0;

    assert_int_equal(mcp_lines_next(l, eof, &line, &n), kind);
    if (kind != MCP_LINE)
        return;
    assert_int_equal(n, strlen(text));
    assert_memory_equal(line, text, n);
}

static void test_lines(void **state)
{
    struct mcp_lines l = {.max = 5};

    mcp_lines_add(&l, "ab\ncd\r\n\nef", 10);
    expect_line(&l, 0, MCP_LINE, "ab");
    expect_line(&l, 0, MCP_LINE, "cd");
    expect_line(&l, 0, MCP_LINE, "");
    expect_line(&l, 0, MCP_LINE_NONE, NULL);
    mcp_lines_add(&l, "g\n", 2);
    expect_line(&l, 0, MCP_LINE, "efg");
    mcp_lines_add(&l, "12345\n123456\nx", 14);
    expect_line(&l, 0, MCP_LINE, "12345");
    expect_line(&l, 0, MCP_LINE_TOO_LONG, NULL);
    expect_line(&l, 0, MCP_LINE_NONE, NULL);
    expect_line(&l, 1, MCP_LINE, "x");
    expect_line(&l, 1, MCP_LINE_NONE, NULL);
    mcp_lines_release(&l);
}

/* Nothing is kept of what is too long, however long it gets. */
static void test_lines_without_end(void **state)
{
    struct mcp_lines l = {.max = 100};
    char piece[64];

    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 1000; i++) {
        mcp_lines_add(&l, piece, sizeof(piece));
        expect_line(&l, 0, MCP_LINE_NONE, NULL);
        assert_true(l.text.cap < 1000);
    }
    mcp_lines_add(&l, "x\nok\n", 5);
    expect_line(&l, 0, MCP_LINE_TOO_LONG, NULL);
    expect_line(&l, 0, MCP_LINE, "ok");
    for (int i = 0; i < 10; i++) {
        mcp_lines_add(&l, piece, sizeof(piece));
        expect_line(&l, 0, MCP_LINE_NONE, NULL);
    }
    expect_line(&l, 1, MCP_LINE_TOO_LONG, NULL);
    expect_line(&l, 1, MCP_LINE_NONE, NULL);
    mcp_lines_release(&l);
}

/* ---- arguments ---- */

static void refuses(const char *json, const char *why)
{
    struct err e = {0};
    struct json_doc *doc = json_parse(json, strlen(json), &e);

    assert_non_null(doc);
    assert_int_equal(mcp_args_check(args, 4, json_root(doc), &e), -1);
    assert_non_null(strstr(e.msg, why));
    json_free(doc);
}

static void test_args(void **state)
{
    static const char good[] = "{\"text\":\"x\",\"choice\":\"b\",\"count\":5e0,\"texts\":[\"y\",\"z\"]}";
    struct err e = {0};
    struct json_doc *doc = json_parse(good, strlen(good), &e);

    assert_int_equal(mcp_args_check(args, 4, json_root(doc), &e), 0);
    assert_string_equal(mcp_arg_text(args, 4, json_root(doc), "choice"), "b");
    assert_int_equal(mcp_arg_count(args, 4, json_root(doc), "count"), 5);
    json_free(doc);

    doc = json_parse("{\"text\":\"\",\"texts\":\"one\"}", 25, &e);
    assert_int_equal(mcp_args_check(args, 4, json_root(doc), &e), 0);
    assert_string_equal(mcp_arg_text(args, 4, json_root(doc), "choice"), "aa");
    assert_int_equal(mcp_arg_count(args, 4, json_root(doc), "count"), 3);
    json_free(doc);

    assert_int_equal(mcp_args_check(args, 4, NULL, &e), -1);
    assert_non_null(strstr(e.msg, "text is missing: any text"));
    assert_int_equal(mcp_args_check(args + 1, 3, NULL, &e), 0);
    refuses("[]", "an object is wanted");
    refuses("{\"text\":null}", "text is no string");
    refuses("{\"text\":\"a\\u0000b\"}", "NUL");
    refuses("{\"text\":\"x\",\"text\":\"y\"}", "twice");
    refuses("{\"text\":\"x\",\"choice\":\"a\"}", "one of aa|b");
    refuses("{\"text\":\"x\",\"choice\":\"\"}", "one of aa|b");
    refuses("{\"text\":\"x\",\"count\":0}", "from 1 to 500");
    refuses("{\"text\":\"x\",\"count\":501}", "from 1 to 500");
    refuses("{\"text\":\"x\",\"count\":1.5}", "from 1 to 500");
    refuses("{\"text\":\"x\",\"count\":-1e300}", "from 1 to 500");
    refuses("{\"text\":\"x\",\"texts\":[]}", "1 to 2 strings");
    refuses("{\"text\":\"x\",\"texts\":[\"a\",\"b\",\"c\"]}", "1 to 2 strings");
    refuses("{\"text\":\"x\",\"texts\":[[]]}", "no string");
    refuses("{\"text\":\"x\",\"cuont\":1}", "did you mean 'count'");
}

static void test_schema(void **state)
{
    struct buf out = {0};
    struct json_writer w = {.out = &out};

    mcp_args_schema(args + 1, 2, &w, NULL);
    assert_string_equal(
        buf_str(&out),
        "{\"type\":\"object\",\"properties\":{\"choice\":{\"type\":\"string\",\"enum\":[\"aa\",\"b\"],"
        "\"default\":\"aa\",\"description\":\"either\"},\"count\":{\"type\":\"integer\",\"minimum\":1,"
        "\"maximum\":500,\"default\":3,\"description\":\"how many\"}},\"required\":[],"
        "\"additionalProperties\":false}");
    buf_release(&out);
}

/* ---- what fits ---- */

static void fits(const char *json, size_t max, const char *expected)
{
    struct err e = {0};
    struct json_doc *doc = json_parse(json, strlen(json), &e);
    struct buf out = {0};

    assert_int_equal(mcp_fit(json_root(doc), max, &out, &e), 0);
    assert_string_equal(buf_str(&out), expected);
    buf_release(&out);
    json_free(doc);
}

static void test_fit_quiet(void **state)
{
    fits("{ \"a\" : [1, 2.50, true, null],\n\"\\u009b\":\"\\u202e\\u001b\\udb40\\udc01\\u00e9\"}", 10000,
         "{\"a\":[1,2.5,true,null],\"\\u009b\":\"\\u202e\\u001b\\udb40\\udc01\303\251\"}");
}

/* Arrays and strings lose as much as it takes, and it is said where. */
static void test_fit_cut(void **state)
{
    struct buf json = {0}, out = {0};
    struct err e = {0};
    struct json_doc *doc;
    const struct json_value *cut;
    uint64_t kept, left;

    buf_addstr(&json, "{\"keep\":7,\"in\":{\"list\":[");
    for (int i = 0; i < 5000; i++)
        buf_addf(&json, "%s{\"n\":%d,\"text\":\"some text of a row\"}", i ? "," : "", i);
    buf_addstr(&json, "]}}");
    doc = json_parse(json.data, json.len, &e);
    assert_int_equal(mcp_fit(json_root(doc), 20000, &out, &e), 0);
    assert_true(out.len <= 20000 && out.len > 5000);
    json_free(doc);
    doc = json_parse(out.data, out.len, &e);
    assert_int_equal(json_get_u64(json_root(doc), "keep", 0), 7);
    kept = json_get(json_get(json_root(doc), "in"), "list")->len;
    cut = json_get(json_get(json_root(doc), "cut_to_fit"), "arrays")->child;
    left = json_get_u64(cut, "left_out", 0);
    assert_string_equal(json_get_str(cut, "at", ""), "in.list");
    assert_true(kept > 100);
    assert_int_equal(kept + left, 5000);
    json_free(doc);
    buf_release(&json);
    buf_release(&out);
}

static void test_fit_string(void **state)
{
    struct buf json = {0}, out = {0};
    struct err e = {0};
    struct json_doc *doc;
    const char *text;

    buf_addstr(&json, "{\"s\":\"");
    for (int i = 0; i < 20000; i++)
        buf_addstr(&json, "\303\251");
    buf_addstr(&json, "\"}");
    doc = json_parse(json.data, json.len, &e);
    assert_int_equal(mcp_fit(json_root(doc), 10000, &out, &e), 0);
    json_free(doc);
    doc = json_parse(out.data, out.len, &e);
    assert_non_null(doc);
    text = json_get_str(json_root(doc), "s", "");
    assert_non_null(strstr(text, "\303\251 [... 36000 bytes left out ...] \303\251"));
    assert_int_equal(json_get_u64(json_get(json_root(doc), "cut_to_fit"), "strings_cut", 0), 1);
    json_free(doc);
    buf_release(&json);
    buf_release(&out);
}

/* A thousand members of one object: nothing of an object is left out, so it does not fit. */
static void test_fit_never(void **state)
{
    struct buf json = {0}, out = {0};
    struct err e = {0};
    struct json_doc *doc;

    buf_addstr(&json, "{");
    for (int i = 0; i < 1000; i++)
        buf_addf(&json, "%s\"member %d\":1", i ? "," : "", i);
    buf_addstr(&json, "}");
    doc = json_parse(json.data, json.len, &e);
    assert_int_equal(mcp_fit(json_root(doc), 10000, &out, &e), -1);
    assert_non_null(strstr(e.msg, "does not fit into 10000 bytes"));
    assert_int_equal(out.len, 0);
    json_free(doc);
    buf_release(&json);
    buf_release(&out);
}

/* ---- calls ---- */

static void test_call(void **state)
{
    struct mcp *m = server("2025-06-18");

    assert_null(mcp_call(m));
    assert_int_equal(mcp_call_number(m), 0);
    call(m, "\"one\"");
    assert_ptr_equal(mcp_call(m)->tool, tools);
    assert_string_equal(mcp_call(m)->args, "{\"text\":\"x\"}");
    gives(m, 0, "{\"rows\": [\n1]}",
          "{\"jsonrpc\":\"2.0\",\"id\":\"one\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{"
          "\\\"rows\\\":["
          "1]}\"}],\"structuredContent\":{\"rows\":[1]},\"isError\":false}}\n");
    assert_null(mcp_call(m));
    call(m, "2");
    gives(m, 1, "no\033[1m such\nthing \377",
          "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"no?[1m "
          "such\\nthing "
          "?\"}],\"isError\":true}}\n");
    mcp_free(m);
}

/* What a worker gave is no JSON, or no object: an error, and not a broken line. */
static void test_call_gives_nonsense(void **state)
{
    struct mcp *m = server("2025-06-18");
    struct buf out = {0};

    for (int i = 0; i < 2; i++) {
        struct mcp_result r = {0, i ? "{\"a\":" : "[1]", i ? 5 : 3};

        call(m, "1");
        buf_clear(&out);
        mcp_end(m, &r, &out);
        assert_non_null(strstr(buf_str(&out), "\"isError\":true"));
        assert_null(strstr(buf_str(&out), "structuredContent"));
    }
    buf_release(&out);
    mcp_free(m);
}

static void test_cancel(void **state)
{
    struct mcp *m = server("2025-06-18");
    uint64_t first;

    call(m, "1");
    first = mcp_call_number(m);
    call(m, "2");
    call(m, "\"1\"");
    says(m, CANCEL("2"), "");
    assert_int_equal(mcp_call_number(m), first);
    says(m, CANCEL("1.0"), ""); /* another id */
    assert_int_equal(mcp_call_number(m), first);
    says(m, CANCEL("1"), "");
    assert_int_equal(mcp_call_number(m), first + 2);
    says(m, CANCEL("1"), "");
    says(m, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", "");
    assert_int_equal(mcp_call_number(m), first + 2);
    says(m, CANCEL("\"1\""), "");
    assert_null(mcp_call(m));
    mcp_free(m);
}

static void test_full(void **state)
{
    struct mcp *m = server("2025-06-18");

    for (int i = 0; i < MCP_WAITING_MAX; i++) {
        assert_false(mcp_is_full(m));
        call(m, "5");
    }
    assert_true(mcp_is_full(m));
    mcp_free(m); /* with all that wait */
}

/* Few calls with much in them, and few batches that have much of their answer already. */
static void test_full_of_bytes(void **state)
{
    struct mcp *m = server("2025-03-26");
    char *text = mem_calloc(1, MCP_TEXT_MAX + 1), *line;
    struct buf out = {0};
    int n = 0;

    memset(text, 'x', MCP_TEXT_MAX);
    line = mem_printf(
        "[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"tool\","
        "\"arguments\":{\"text\":\"%s\"}}},{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/list\"}]",
        text);
    for (; n < MCP_WAITING_BYTES / MCP_TEXT_MAX && !mcp_is_full(m); n++)
        says(m, line, "");
    assert_true(mcp_is_full(m));
    assert_in_range(n, 2, MCP_WAITING_BYTES / MCP_TEXT_MAX - 1); /* the lists count as well */
    say(m, CANCEL("5"), &out);
    assert_true(out.len > 0); /* what the batch had */
    assert_false(mcp_is_full(m));
    mcp_free(m);
    buf_release(&out);
    free(line);
    free(text);
}

static void test_batch(void **state)
{
    struct mcp *m = server("2025-03-26");

    says(m, "[" PING("1") "," PING("\"b\"") "]",
         "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"result\":{}}]\n");
    says(m, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]", "");
    says(
        m, "[]",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"the batch is empty\"}}\n");
    /* Its calls are answered with it, the last of them in one line with all; one that is taken back is not.
     */
    says(m,
         "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
         "call\",\"params\":{\"name\":\"tool\",\"arguments\":{"
         "\"text\":\"\"}}}," PING(
             "2") ",{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":"
                  "\"tool\",\"arguments\":{\"text\":\"\"}}}]",
         "");
    says(m, PING("4"), "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}\n");
    gives(m, 1, "x", "");
    says(m, CANCEL("3"),
         "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"
         "\"content\":[{"
         "\"type\":\"text\",\"text\":\"x\"}],\"isError\":true}}]\n");
    assert_null(mcp_call(m));
    mcp_free(m);
}

static void test_batch_too_long(void **state)
{
    struct mcp *m = server("2025-03-26");
    struct buf line = {0}, out = {0};

    buf_addstr(&line, "[1");
    for (int i = 0; i < MCP_BATCH_MAX; i++)
        buf_addstr(&line, ",1");
    buf_addstr(&line, "]");
    say(m, line.data, &out);
    assert_non_null(strstr(out.data, "-32600"));
    assert_int_equal(*out.data, '{');
    buf_release(&line);
    buf_release(&out);
    mcp_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),          cmocka_unit_test(test_lines_without_end),
        cmocka_unit_test(test_args),           cmocka_unit_test(test_schema),
        cmocka_unit_test(test_fit_quiet),      cmocka_unit_test(test_fit_cut),
        cmocka_unit_test(test_fit_string),     cmocka_unit_test(test_fit_never),
        cmocka_unit_test(test_call),           cmocka_unit_test(test_call_gives_nonsense),
        cmocka_unit_test(test_cancel),         cmocka_unit_test(test_full),
        cmocka_unit_test(test_full_of_bytes),  cmocka_unit_test(test_batch),
        cmocka_unit_test(test_batch_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
