/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mcp/methods.h"

#include "exchange/mcp/fit.h"

#include <stdio.h>
#include <string.h>

static void begin_result(struct json_writer *w, struct buf *answer, const struct mcp *m,
                         const struct message *g)
{
    *w = (struct json_writer){.out = answer};
    rpc_begin(w, g->rpc.id);
    json_object(w, "result");
    mcp_put_head(w, m, g->version);
}

static void end_result(struct json_writer *w, const struct message *g)
{
    json_end_object(w);
    rpc_end(w);
    mcp_send(g->batch, w->out, g->out);
    buf_release(w->out);
}

/* What the server has: tools, and no resources. */
static void put_capabilities(struct json_writer *w, const struct mcp *m)
{
    json_object(w, "capabilities");
    json_object(w, "tools");
    json_end_object(w);
    json_object(w, "resources");
    json_end_object(w);
    json_end_object(w);
    json_str(w, "instructions", m->about->instructions);
}

static void initialize(struct mcp *m, struct message *g)
{
    const char *asked = json_get_str(g->rpc.params, "protocolVersion", NULL);
    struct buf answer = {0};
    struct json_writer w;

    if (g->batch) {
        mcp_send_error(g, RPC_INVALID_REQUEST, "initialize stands in no batch", NULL);
        return;
    }
    if (m->version != MCP_NO_VERSION) {
        mcp_send_error(g, RPC_INVALID_REQUEST, "the server is initialized already", NULL);
        return;
    }
    if (!asked) {
        mcp_send_error(g, RPC_INVALID_PARAMS, "protocolVersion is missing: a string such as \"2025-11-25\"",
                       NULL);
        return;
    }
    g->version = m->version = mcp_version_agree(asked);
    begin_result(&w, &answer, m, g);
    json_str(&w, "protocolVersion", mcp_version_name(m->version));
    put_capabilities(&w, m);
    mcp_put_server(&w, "serverInfo", m, m->version);
    end_result(&w, g);
}

static void discover(struct mcp *m, struct message *g)
{
    struct buf answer = {0};
    struct json_writer w;

    begin_result(&w, &answer, m, g);
    mcp_version_cache(&w, g->version);
    mcp_version_list(&w, "supportedVersions");
    put_capabilities(&w, m);
    end_result(&w, g);
}

static void ping(struct mcp *m, struct message *g)
{
    struct buf answer = {0};
    struct json_writer w;

    begin_result(&w, &answer, m, g);
    end_result(&w, g);
}

static void put_tool(struct json_writer *w, const struct mcp_tool *t, enum mcp_version v)
{
    json_object(w, NULL);
    json_str(w, "name", t->name);
    if (mcp_version_has(v, MCP_HAS_TITLES))
        json_str(w, "title", t->title);
    json_str(w, "description", t->what);
    mcp_args_schema(t->args, t->nargs, w, "inputSchema");
    if (mcp_version_has(v, MCP_HAS_STRUCTURE))
        mcp_members_schema(t->members, t->nmembers, w, "outputSchema");
    if (mcp_version_has(v, MCP_HAS_ANNOTATIONS)) {
        json_object(w, "annotations");
        json_str(w, "title", t->title);
        json_bool(w, "readOnlyHint", 1);
        json_bool(w, "openWorldHint", 0);
        json_end_object(w);
    }
    json_end_object(w);
}

/* There is one page of everything. */
static int has_cursor(const struct message *g)
{
    if (!json_get(g->rpc.params, "cursor"))
        return 0;
    mcp_send_error(g, RPC_INVALID_PARAMS, "cursor: no answer had one, everything is on the first page", NULL);
    return 1;
}

/* The answer's only page, all members of which `put` writes. */
static void list_page(struct mcp *m, struct message *g, const char *of,
                      void (*put)(struct json_writer *w, const struct mcp *m, const struct message *g))
{
    struct buf answer = {0};
    struct json_writer w;

    if (has_cursor(g))
        return;
    begin_result(&w, &answer, m, g);
    mcp_version_cache(&w, g->version);
    json_array(&w, of);
    if (put)
        put(&w, m, g);
    json_end_array(&w);
    end_result(&w, g);
}

static void put_tools(struct json_writer *w, const struct mcp *m, const struct message *g)
{
    for (size_t i = 0; i < m->about->ntools; i++)
        put_tool(w, &m->about->tools[i], g->version);
}

static void list_tools(struct mcp *m, struct message *g)
{
    list_page(m, g, "tools", put_tools);
}

static void list_resources(struct mcp *m, struct message *g)
{
    list_page(m, g, "resources", NULL);
}

static void list_templates(struct mcp *m, struct message *g)
{
    list_page(m, g, "resourceTemplates", NULL);
}

static void read_resource(struct mcp *m, struct message *g)
{
    if (!json_get_str(g->rpc.params, "uri", NULL))
        mcp_send_error(g, RPC_INVALID_PARAMS, "uri is missing", NULL);
    else
        mcp_send_error(
            g, mcp_version_has(g->version, MCP_HAS_NO_HANDSHAKE) ? RPC_INVALID_PARAMS : RPC_NO_RESOURCE,
            "there are no resources, but tools: list_sessions is the first to call", NULL);
}

static void refuse_tool(const struct mcp *m, const struct message *g, const char *name)
{
    struct buf text = {0};

    buf_addf(&text, "there is no tool '%.60s', but", name);
    for (size_t i = 0; i < m->about->ntools; i++)
        buf_addf(&text, "%s %s", i ? "," : "", m->about->tools[i].name);
    mcp_send_error(g, RPC_INVALID_PARAMS, buf_str(&text), NULL);
    buf_release(&text);
}

/* What is wrong with arguments, the model shall see: from 2025-11-25 on that is a result. */
static void refuse_args(const struct mcp *m, const struct message *g, const struct err *e)
{
    const struct mcp_answer answer = {g->rpc.id, g->batch, g->version, 1};
    struct buf text = {0};

    if (!mcp_version_has(g->version, MCP_HAS_ARGS_RESULT)) {
        mcp_send_error(g, RPC_INVALID_PARAMS, e->msg, NULL);
        return;
    }
    mcp_quiet_text(e->msg, strlen(e->msg), &text);
    mcp_send_result(m, &answer, &text, g->out);
    buf_release(&text);
}

static void call_tool(struct mcp *m, struct message *g)
{
    const char *name = json_get_str(g->rpc.params, "name", NULL);
    const struct json_value *args = json_get(g->rpc.params, "arguments");
    const struct mcp_tool *tool = NULL;
    struct err e = {0};

    for (size_t i = 0; name && i < m->about->ntools; i++)
        if (!strcmp(name, m->about->tools[i].name))
            tool = &m->about->tools[i];
    if (!name)
        mcp_send_error(g, RPC_INVALID_PARAMS, "name is missing: which tool is called", NULL);
    else if (!tool)
        refuse_tool(m, g, name);
    else if (mcp_args_check(tool->args, tool->nargs, args, &e))
        refuse_args(m, g, &e);
    else
        mcp_enqueue(m, g, tool, args);
}

static const struct method {
    const char *name;
    unsigned when;
    void (*run)(struct mcp *m, struct message *g);
} methods[] = {
    {"initialize", MCP_BEFORE | MCP_HANDSHAKE, initialize},
    {"server/discover", MCP_STATELESS, discover},
    {"ping", MCP_BEFORE | MCP_HANDSHAKE, ping},
    {"tools/list", MCP_HANDSHAKE | MCP_STATELESS, list_tools},
    {"tools/call", MCP_HANDSHAKE | MCP_STATELESS, call_tool},
    {"resources/list", MCP_HANDSHAKE | MCP_STATELESS, list_resources},
    {"resources/templates/list", MCP_HANDSHAKE | MCP_STATELESS, list_templates},
    {"resources/read", MCP_HANDSHAKE | MCP_STATELESS, read_resource},
};

/* ---- requests ---- */

/* -1: answered, the version is none of ours. */
static int find_version(const struct mcp *m, struct message *g)
{
    const char *asked = mcp_version_of_request(g->rpc.params);
    struct buf data = {0};
    struct json_writer w = {.out = &data};

    if (asked ? mcp_version_is_stateless(asked) : !strcmp(g->rpc.method, "server/discover"))
        g->version = MCP_VERSION_LAST;
    else
        g->version = m->version;
    if (!asked || g->version == MCP_VERSION_LAST)
        return 0;
    json_object(&w, NULL);
    mcp_version_list(&w, "supported");
    json_str(&w, "requested", asked);
    json_end_object(&w);
    mcp_send_error(g, RPC_NO_VERSION, "Unsupported protocol version", buf_str(&data));
    buf_release(&data);
    return -1;
}

void mcp_request(struct mcp *m, struct message *g)
{
    unsigned now;
    char text[160];

    if (g->rpc.params && g->rpc.params->type != JSON_OBJECT) {
        mcp_send_error(g, RPC_INVALID_PARAMS, "params is no object", NULL);
        return;
    }
    if (find_version(m, g))
        return;
    now = g->version == MCP_NO_VERSION                        ? MCP_BEFORE
          : mcp_version_has(g->version, MCP_HAS_NO_HANDSHAKE) ? MCP_STATELESS
                                                              : MCP_HANDSHAKE;
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        if (strcmp(methods[i].name, g->rpc.method) != 0)
            continue;
        if (methods[i].when & now) {
            methods[i].run(m, g);
            return;
        }
        if (now == MCP_BEFORE) {
            mcp_send_error(g, RPC_INVALID_REQUEST, "initialize comes first", NULL);
            return;
        }
    }
    snprintf(text, sizeof(text), "there is no method '%.60s'", g->rpc.method);
    mcp_send_error(g, RPC_NO_METHOD, text, NULL);
}
