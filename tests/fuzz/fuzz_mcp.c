/* SPDX-License-Identifier: Apache-2.0 */
/* The Model Context Protocol's server: whatever a client sends, each answer is one line of quiet JSON. */
#include "base/mem.h"
#include "exchange/mcp/lines.h"
#include "exchange/mcp/mcp.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct mcp_arg args[] = {
    {"text", MCP_TEXT, 0, "text"},
    {"choice", MCP_CHOICE, 0, "choice", .choices = "a|b", .otherwise = "a"},
    {"count", MCP_COUNT, 0, "count", .otherwise = "3", .least = 1, .most = 500},
    {"texts", MCP_TEXTS, 0, "texts", .most = 3},
};

static const struct mcp_arg needed[] = {{"text", MCP_TEXT, 1, "text"}};

static const struct mcp_member members[] = {{"rows", MCP_IS_ROWS, "rows"}};

static const struct mcp_tool tools[] = {
    {"give", "Give", "gives its arguments", args, 4, members, 1},
    {"fail", "Fail", "fails with its text", needed, 1, members, 1},
};

static void check_answers(const struct buf *out)
{
    struct err e;

    for (const char *at = buf_str(out), *end; *at; at = end + 1) {
        struct json_doc *doc;

        end = strchr(at, '\n');
        if (!end)
            abort();
        for (const char *p = at; p < end; p++)
            if ((unsigned char)*p < 0x20 || *p == 0x7f)
                abort();
        doc = json_parse(at, (size_t)(end - at), &e);
        if (!doc)
            abort();
        for (const struct json_value *v = json_root(doc), *c = v->type == JSON_ARRAY ? v->child : v; c;
             c = v->type == JSON_ARRAY ? c->next : NULL)
            if (strcmp(json_get_str(c, "jsonrpc", ""), "2.0") != 0 ||
                !json_get(c, "error") == !json_get(c, "result"))
                abort();
        json_free(doc);
    }
}

/* Arguments that were let through are of their types. */
static void check_args(const struct mcp_call *c, const struct json_value *v)
{
    uint64_t n = mcp_arg_count(c->tool->args, c->tool->nargs, v, "count");

    if (c->tool == tools && (n < 1 || n > 500 || !mcp_arg_text(args, 4, v, "choice")))
        abort();
    if (c->tool != tools && !mcp_arg_text(needed, 1, v, "text"))
        abort();
}

static void answer_calls(struct mcp *m, struct buf *out)
{
    const struct mcp_call *c;

    while ((c = mcp_call(m))) {
        struct err e;
        struct json_doc *doc = json_parse(c->args, c->args_len, &e);
        char *text = mem_strndup(c->args, c->args_len);
        struct mcp_result r = {c->tool != tools, text, c->args_len};

        if (!doc || !mcp_call_number(m))
            abort();
        check_args(c, json_root(doc));
        if (r.failed) {
            r.text = mcp_arg_text(needed, 1, json_root(doc), "text");
            r.n = strlen(r.text);
        }
        mcp_end(m, &r, out);
        json_free(doc);
        free(text);
    }
}

static void take(struct mcp *m, struct mcp_lines *lines, int eof, struct buf *out)
{
    enum mcp_line got;
    const char *line;
    size_t n;

    while ((got = mcp_lines_next(lines, eof, &line, &n)) != MCP_LINE_NONE) {
        if (got == MCP_LINE_TOO_LONG)
            mcp_refuse_line(m, out);
        else
            mcp_take(m, line, n, out);
        if (mcp_is_full(m))
            answer_calls(m, out);
    }
}

/* The first byte: how much comes at a time. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mcp_about about = {"0", "instructions", tools, 2};
    struct mcp_lines lines = {.max = 4096};
    struct mcp *m = mcp_new(&about);
    size_t step = size ? data[0] + 1u : 1;
    struct buf out = {0};

    for (size_t at = 1; at < size; at += step) {
        mcp_lines_add(&lines, (const char *)data + at, size - at < step ? size - at : step);
        take(m, &lines, 0, &out);
    }
    take(m, &lines, 1, &out);
    if (size % 2) /* else they are dropped */
        answer_calls(m, &out);
    check_answers(&out);
    mcp_free(m);
    mcp_lines_release(&lines);
    buf_release(&out);
    return 0;
}
