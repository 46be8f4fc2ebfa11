/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mcp/methods.h"

#include <string.h>

static void take(struct mcp *m, const struct json_value *v, struct batch *b, struct buf *out)
{
    struct message g = {.version = m->version, .batch = b, .out = out};
    struct err e = {0};

    rpc_read(&g.rpc, v, &e);
    switch (g.rpc.kind) {
    case RPC_BAD:
        mcp_send_error(&g, RPC_INVALID_REQUEST, e.msg, NULL);
        break;
    case RPC_REQUEST:
        mcp_request(m, &g);
        break;
    case RPC_NOTIFICATION:
        if (!strcmp(g.rpc.method, "notifications/cancelled"))
            mcp_cancel(m, json_get(g.rpc.params, "requestId"), out);
        break;
    case RPC_RESPONSE: /* nothing was asked */
        break;
    }
}

static void refuse(struct buf *out, enum rpc_code code, const char *text)
{
    const struct message g = {.out = out};

    mcp_send_error(&g, code, text, NULL);
}

static void take_batch(struct mcp *m, const struct json_value *v, struct buf *out)
{
    struct batch *b;

    if (!mcp_version_has(m->version, MCP_HAS_BATCHES)) {
        refuse(out, RPC_INVALID_REQUEST, "batches are of protocol version 2025-03-26 alone");
        return;
    }
    if (!v->len || v->len > MCP_BATCH_MAX) {
        refuse(out, RPC_INVALID_REQUEST, v->len ? "a batch has at most 64 messages" : "the batch is empty");
        return;
    }
    b = mem_calloc(1, sizeof(*b));
    b->left = 1;
    for (const struct json_value *c = v->child; c; c = c->next)
        take(m, c, b, out);
    mcp_batch_end(b, out);
}

static int is_blank(const char *line, size_t n)
{
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
        n--;
    return !n;
}

void mcp_take(struct mcp *m, const char *line, size_t n, struct buf *out)
{
    struct err e = {0};
    struct json_doc *doc;

    if (is_blank(line, n))
        return;
    doc = json_parse(line, n, &e);
    if (!doc) {
        err_wrap(&e, "no JSON");
        refuse(out, RPC_PARSE_ERROR, e.msg);
        return;
    }
    if (json_root(doc)->type == JSON_ARRAY)
        take_batch(m, json_root(doc), out);
    else
        take(m, json_root(doc), NULL, out);
    json_free(doc);
}

void mcp_refuse_line(struct mcp *m, struct buf *out)
{
    refuse(out, RPC_INVALID_REQUEST, "a message has at most 1048576 bytes; this one was left out");
}
