/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mcp/args.h"

#include "base/mem.h"
#include "base/opt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- schemas: JSON Schema 2020-12, of which nothing is used that draft 7 lacks ---- */

static void choices_array(const char *choices, const char *key, struct json_writer *w)
{
    json_array(w, key);
    for (const char *p = choices; *p;) {
        size_t n = strcspn(p, "|");

        json_strn(w, NULL, p, n);
        p += n + (p[n] == '|');
    }
    json_end_array(w);
}

static void type_members(const struct mcp_arg *a, struct json_writer *w)
{
    switch (a->type) {
    case MCP_TEXT:
    case MCP_CHOICE:
        json_str(w, "type", "string");
        if (a->type == MCP_CHOICE)
            choices_array(a->choices, "enum", w);
        if (a->otherwise)
            json_str(w, "default", a->otherwise);
        break;
    case MCP_COUNT:
        json_str(w, "type", "integer");
        json_u64(w, "minimum", a->least);
        json_u64(w, "maximum", a->most);
        if (a->otherwise)
            json_raw(w, "default", a->otherwise);
        break;
    case MCP_TEXTS:
        json_str(w, "type", "array");
        json_object(w, "items");
        json_str(w, "type", "string");
        json_end_object(w);
        json_u64(w, "minItems", 1);
        json_u64(w, "maxItems", a->most);
        break;
    }
}

void mcp_args_schema(const struct mcp_arg *a, size_t n, struct json_writer *w, const char *key)
{
    json_object(w, key);
    json_str(w, "type", "object");
    json_object(w, "properties");
    for (size_t i = 0; i < n; i++) {
        json_object(w, a[i].name);
        type_members(&a[i], w);
        json_str(w, "description", a[i].what);
        json_end_object(w);
    }
    json_end_object(w);
    json_array(w, "required");
    for (size_t i = 0; i < n; i++)
        if (a[i].required)
            json_str(w, NULL, a[i].name);
    json_end_array(w);
    json_bool(w, "additionalProperties", 0);
    json_end_object(w);
}

void mcp_members_schema(const struct mcp_member *m, size_t n, struct json_writer *w, const char *key)
{
    static const char *const kinds[] = {
        [MCP_IS_TEXT] = "[\"string\",\"null\"]",
        [MCP_IS_COUNT] = "\"integer\"",
        [MCP_IS_BOOL] = "\"boolean\"",
        [MCP_IS_TEXTS] = "\"array\"",
        [MCP_IS_ROWS] = "\"array\"",
        [MCP_IS_OBJECT] = "\"object\"",
    };

    json_object(w, key);
    json_str(w, "type", "object");
    json_object(w, "properties");
    for (size_t i = 0; i < n; i++) {
        json_object(w, m[i].name);
        json_raw(w, "type", kinds[m[i].kind]);
        if (m[i].kind == MCP_IS_TEXTS || m[i].kind == MCP_IS_ROWS) {
            json_object(w, "items");
            json_str(w, "type", m[i].kind == MCP_IS_ROWS ? "object" : "string");
            json_end_object(w);
        }
        if (m[i].what)
            json_str(w, "description", m[i].what);
        json_end_object(w);
    }
    json_end_object(w);
    json_end_object(w);
}

/* ---- checks ---- */

static int is_text(const struct json_value *v)
{
    return v->type == JSON_STRING && v->len <= MCP_TEXT_MAX && !memchr(v->str, '\0', v->len);
}

static int check_text(const struct mcp_arg *a, const struct json_value *v, struct err *e)
{
    if (is_text(v))
        return 0;
    if (v->type != JSON_STRING)
        return err_set(e, "%s is no string: %s", a->name, a->what);
    return err_set(e, "%s has %zu bytes or a NUL: at most %d without one are taken", a->name, v->len,
                   MCP_TEXT_MAX);
}

static int is_choice(const char *choices, const char *word, size_t n)
{
    for (const char *p = choices; *p;) {
        size_t k = strcspn(p, "|");

        if (k == n && !memcmp(p, word, n))
            return 1;
        p += k + (p[k] == '|');
    }
    return 0;
}

static int check_texts(const struct mcp_arg *a, const struct json_value *v, struct err *e)
{
    if (v->type == JSON_STRING)
        return check_text(a, v, e);
    if (v->type != JSON_ARRAY || !v->len || v->len > a->most)
        return err_set(e, "%s: an array of 1 to %" PRIu64 " strings is wanted", a->name, a->most);
    for (const struct json_value *c = v->child; c; c = c->next)
        if (check_text(a, c, e))
            return -1;
    return 0;
}

static int check_value(const struct mcp_arg *a, const struct json_value *v, struct err *e)
{
    switch (a->type) {
    case MCP_TEXT:
        return check_text(a, v, e);
    case MCP_CHOICE:
        if (v->type == JSON_STRING && is_choice(a->choices, v->str, v->len))
            return 0;
        return err_set(e, "%s: one of %s is wanted", a->name, a->choices);
    case MCP_COUNT:
        if (v->type == JSON_NUMBER && v->number >= (double)a->least && v->number <= (double)a->most &&
            v->number == (double)(uint64_t)v->number)
            return 0;
        return err_set(e, "%s: a whole number from %" PRIu64 " to %" PRIu64 " is wanted", a->name, a->least,
                       a->most);
    case MCP_TEXTS:
        return check_texts(a, v, e);
    }
    return -1;
}

static const struct mcp_arg *find(const struct mcp_arg *a, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(a[i].name, name))
            return &a[i];
    return NULL;
}

static int refuse_unknown(const struct mcp_arg *a, size_t n, const char *name, struct err *e)
{
    const char **names = mem_calloc(n, sizeof(*names)), *near;
    struct buf list = {0};

    for (size_t i = 0; i < n; i++) {
        names[i] = a[i].name;
        buf_addf(&list, "%s%s", i ? ", " : "", a[i].name);
    }
    near = opt_nearest(name, names, n);
    err_set(e, "there is no argument '%.60s'%s%s%s; it takes %s", name, near ? ", did you mean '" : "",
            near ? near : "", near ? "'?" : "", n ? buf_str(&list) : "none");
    buf_release(&list);
    free(names);
    return -1;
}

int mcp_args_check(const struct mcp_arg *a, size_t n, const struct json_value *v, struct err *e)
{
    if (v && v->type != JSON_OBJECT)
        return err_set(e, "arguments: an object is wanted");
    for (const struct json_value *c = v ? v->child : NULL; c; c = c->next) {
        const struct mcp_arg *x = find(a, n, c->key);

        if (!x)
            return refuse_unknown(a, n, c->key, e);
        if (check_value(x, c, e))
            return -1;
        if (json_get(v, c->key) != c)
            return err_set(e, "%s is given twice", x->name);
    }
    for (size_t i = 0; i < n; i++)
        if (a[i].required && !json_get(v, a[i].name))
            return err_set(e, "%s is missing: %s", a[i].name, a[i].what);
    return 0;
}

/* ---- values ---- */

const char *mcp_arg_text(const struct mcp_arg *a, size_t n, const struct json_value *v, const char *name)
{
    const struct mcp_arg *x = find(a, n, name);

    return json_get_str(v, name, x ? x->otherwise : NULL);
}

uint64_t mcp_arg_count(const struct mcp_arg *a, size_t n, const struct json_value *v, const char *name)
{
    const struct mcp_arg *x = find(a, n, name);

    return json_get_u64(v, name, x && x->otherwise ? strtoull(x->otherwise, NULL, 10) : 0);
}
