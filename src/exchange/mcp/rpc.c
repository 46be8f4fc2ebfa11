/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mcp/rpc.h"

#include "exchange/mcp/fit.h"

#include <string.h>

enum { ID_MAX = 1024 /* bytes of an id that is a string */ };

static int is_id(const struct json_value *v)
{
    return v->type == JSON_NUMBER || (v->type == JSON_STRING && v->len <= ID_MAX);
}

static int check(struct rpc *r, const struct json_value *v, struct err *e)
{
    const struct json_value *id = json_get(v, "id"), *method = json_get(v, "method");
    const char *version = json_get_str(v, "jsonrpc", NULL);

    if (v->type != JSON_OBJECT)
        return err_set(e, "a message is an object");
    if (id && !is_id(id))
        return err_set(e, "an id is a number or a string of at most %d bytes", ID_MAX);
    r->id = id;
    if (!version || strcmp(version, "2.0") != 0)
        return err_set(e, "jsonrpc is not \"2.0\"");
    if (!method && (json_get(v, "result") || json_get(v, "error"))) {
        r->kind = RPC_RESPONSE;
        return 0;
    }
    if (!method || method->type != JSON_STRING || strlen(method->str) != method->len)
        return err_set(e, "it has no method that is a string");
    r->method = method->str;
    r->params = json_get(v, "params");
    if (r->params && r->params->type != JSON_OBJECT && r->params->type != JSON_ARRAY)
        return err_set(e, "params is no object");
    r->kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
    return 0;
}

void rpc_read(struct rpc *r, const struct json_value *v, struct err *e)
{
    *r = (struct rpc){.kind = RPC_BAD};
    check(r, v, e);
}

int rpc_same_id(const struct json_value *a, const struct json_value *b)
{
    if (!a || !b || a->type != b->type)
        return 0;
    if (a->type == JSON_STRING)
        return a->len == b->len && !memcmp(a->str, b->str, a->len);
    return a->type == JSON_NUMBER && a->is_integer == b->is_integer &&
           (a->is_integer ? a->integer == b->integer : a->number == b->number);
}

void rpc_begin(struct json_writer *w, const struct json_value *id)
{
    json_object(w, NULL);
    json_str(w, "jsonrpc", "2.0");
    if (id)
        json_copy(w, "id", id);
    else
        json_null(w, "id");
}

void rpc_end(struct json_writer *w)
{
    json_end_object(w);
}

void rpc_error(struct buf *out, const struct json_value *id, enum rpc_code code, const char *message,
               const char *data)
{
    struct json_writer w = {.out = out};
    struct buf text = {0};

    mcp_quiet_text(message, strlen(message), &text);
    rpc_begin(&w, id);
    json_object(&w, "error");
    json_i64(&w, "code", code);
    json_strn(&w, "message", buf_str(&text), text.len);
    if (data)
        json_raw(&w, "data", data);
    json_end_object(&w);
    rpc_end(&w);
    buf_release(&text);
}
