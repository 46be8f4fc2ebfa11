/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mcp/calls.h"

#include "exchange/mcp/fit.h"

#include <stdlib.h>
#include <string.h>

struct mcp *mcp_new(const struct mcp_about *about)
{
    struct mcp *m = mem_calloc(1, sizeof(*m));

    *m = (struct mcp){.about = about, .version = MCP_NO_VERSION};
    return m;
}

/* ---- answers on their way ---- */

void mcp_batch_end(struct batch *b, struct buf *out)
{
    if (!b || --b->left)
        return;
    if (b->out.len) {
        buf_addch(out, '[');
        buf_add(out, b->out.data, b->out.len);
        buf_addstr(out, "]\n");
    }
    buf_release(&b->out);
    free(b);
}

void mcp_send(struct batch *b, const struct buf *answer, struct buf *out)
{
    struct buf *to = b ? &b->out : out;

    if (b && to->len)
        buf_addch(to, ',');
    mcp_quiet_json(answer, to);
    if (!b)
        buf_addch(to, '\n');
}

void mcp_send_error(const struct message *g, enum rpc_code code, const char *text, const char *data)
{
    struct buf answer = {0};

    rpc_error(&answer, g->rpc.id, code, text, data);
    mcp_send(g->batch, &answer, g->out);
    buf_release(&answer);
}

/* ---- calls that wait ---- */

static void waiting_free(struct waiting *c)
{
    json_free(c->id);
    buf_release(&c->args);
    free(c);
}

static void drop(struct mcp *m, size_t i, struct buf *out)
{
    struct waiting *c = m->queue.a[i];

    m->queue.n--;
    memmove(&m->queue.a[i], &m->queue.a[i + 1], (m->queue.n - i) * sizeof(*m->queue.a));
    mcp_batch_end(c->batch, out);
    waiting_free(c);
}

void mcp_free(struct mcp *m)
{
    struct buf out = {0};

    if (!m)
        return;
    while (m->queue.n)
        drop(m, 0, &out);
    vec_release(&m->queue);
    buf_release(&out);
    free(m);
}

const struct mcp_call *mcp_call(const struct mcp *m)
{
    return m->queue.n ? &m->queue.a[0]->call : NULL;
}

uint64_t mcp_call_number(const struct mcp *m)
{
    return m->queue.n ? m->queue.a[0]->number : 0;
}

/* Calls of a batch stand side by side. */
static size_t waiting_bytes(const struct mcp *m)
{
    const struct batch *b = NULL;
    size_t n = 0;

    for (size_t i = 0; i < m->queue.n; i++) {
        const struct waiting *c = m->queue.a[i];

        n += c->args.len;
        if (c->batch && c->batch != b)
            n += c->batch->out.len;
        b = c->batch;
    }
    return n;
}

int mcp_is_full(const struct mcp *m)
{
    return m->queue.n >= MCP_WAITING_MAX || waiting_bytes(m) >= MCP_WAITING_BYTES;
}

void mcp_cancel(struct mcp *m, const struct json_value *id, struct buf *out)
{
    for (size_t i = 0; i < m->queue.n; i++) {
        if (rpc_same_id(json_root(m->queue.a[i]->id), id)) {
            drop(m, i, out);
            return;
        }
    }
}

static struct json_doc *copy_id(const struct json_value *id)
{
    struct buf text = {0};
    struct json_writer w = {.out = &text};
    struct err e;
    struct json_doc *doc;

    json_copy(&w, NULL, id);
    doc = json_parse(text.data, text.len, &e);
    buf_release(&text);
    return doc;
}

void mcp_enqueue(struct mcp *m, const struct message *g, const struct mcp_tool *tool,
                 const struct json_value *args)
{
    struct waiting *c = mem_calloc(1, sizeof(*c));
    struct json_writer w = {.out = &c->args};

    if (args)
        json_copy(&w, NULL, args);
    else
        buf_addstr(&c->args, "{}");
    c->number = ++m->calls;
    c->id = copy_id(g->rpc.id);
    c->call = (struct mcp_call){tool, c->args.data, c->args.len};
    c->batch = g->batch;
    c->version = g->version;
    if (c->batch)
        c->batch->left++;
    *vec_push(&m->queue) = c;
}

/* ---- results of calls ---- */

void mcp_put_server(struct json_writer *w, const char *key, const struct mcp *m, enum mcp_version v)
{
    json_object(w, key);
    json_str(w, "name", "wprof");
    if (mcp_version_has(v, MCP_HAS_TITLES))
        json_str(w, "title", "wprof: profiles of programs");
    json_str(w, "version", m->about->version);
    json_end_object(w);
}

void mcp_put_head(struct json_writer *w, const struct mcp *m, enum mcp_version v)
{
    if (!mcp_version_has(v, MCP_HAS_NO_HANDSHAKE))
        return;
    json_str(w, "resultType", "complete");
    json_object(w, "_meta");
    mcp_put_server(w, "io.modelcontextprotocol/serverInfo", m, v);
    json_end_object(w);
}

/* The text says the same as the structured content, for clients that know only text. */
void mcp_send_result(const struct mcp *m, const struct mcp_answer *a, const struct buf *text, struct buf *out)
{
    struct buf answer = {0};
    struct json_writer w = {.out = &answer};

    rpc_begin(&w, a->id);
    json_object(&w, "result");
    mcp_put_head(&w, m, a->version);
    json_array(&w, "content");
    json_object(&w, NULL);
    json_str(&w, "type", "text");
    json_strn(&w, "text", buf_str(text), text->len);
    json_end_object(&w);
    json_end_array(&w);
    if (!a->failed && mcp_version_has(a->version, MCP_HAS_STRUCTURE))
        json_raw(&w, "structuredContent", buf_str(text));
    json_bool(&w, "isError", a->failed);
    json_end_object(&w);
    rpc_end(&w);
    mcp_send(a->batch, &answer, out);
    buf_release(&answer);
}

/* What a tool gave, made fit to be sent; 1: it is an error's text. */
static int make_text(const struct mcp_result *r, struct buf *text)
{
    struct err e = {0};
    struct json_doc *doc = r->failed ? NULL : json_parse(r->text, r->n, &e);
    int failed = !doc || mcp_fit(json_root(doc), MCP_RESULT_MAX, text, &e);

    json_free(doc);
    if (!failed)
        return 0;
    buf_clear(text);
    if (r->failed)
        mcp_quiet_text(r->text, r->n < MCP_RESULT_MAX ? r->n : MCP_RESULT_MAX, text);
    else
        mcp_quiet_text(e.msg, strlen(e.msg), text);
    return 1;
}

void mcp_end(struct mcp *m, const struct mcp_result *r, struct buf *out)
{
    struct buf text = {0};
    int failed = make_text(r, &text);

    if (m->queue.n) {
        const struct waiting *c = m->queue.a[0];
        const struct mcp_answer answer = {json_root(c->id), c->batch, c->version, failed};

        mcp_send_result(m, &answer, &text, out);
        drop(m, 0, out);
    }
    buf_release(&text);
}
