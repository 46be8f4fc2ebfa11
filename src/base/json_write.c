/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void newline(struct json_writer *w)
{
    if (!w->indent)
        return;
    buf_addch(w->out, '\n');
    for (int i = 0; i < w->depth * w->indent; i++)
        buf_addch(w->out, ' ');
}

static int plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

static void escape_ascii(struct buf *out, unsigned char c)
{
    switch (c) {
    case '"':
        buf_addstr(out, "\\\"");
        break;
    case '\\':
        buf_addstr(out, "\\\\");
        break;
    case '\n':
        buf_addstr(out, "\\n");
        break;
    case '\t':
        buf_addstr(out, "\\t");
        break;
    case '\r':
        buf_addstr(out, "\\r");
        break;
    default:
        buf_addf(out, "\\u%04x", c);
    }
}

static void quote(struct buf *out, const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + n;

    buf_addch(out, '"');
    while (p < end) {
        const unsigned char *run = p;
        size_t len;

        while (p < end && plain(*p))
            p++;
        buf_add(out, run, (size_t)(p - run));
        if (p == end)
            break;
        len = utf8_len(p, (size_t)(end - p));
        if (!len)
            buf_addstr(out, "\\ufffd");
        else if (len == 1)
            escape_ascii(out, *p);
        else
            buf_add(out, p, len);
        p += len ? len : 1;
    }
    buf_addch(out, '"');
}

/* Comma, line break and the member's name: what stands in front of any value. */
static void begin(struct json_writer *w, const char *key)
{
    if (w->need_comma)
        buf_addch(w->out, ',');
    if (w->depth)
        newline(w);
    w->need_comma = 1;
    if (!key)
        return;
    quote(w->out, key, strlen(key));
    buf_addstr(w->out, w->indent ? ": " : ":");
}

static void open_scope(struct json_writer *w, const char *key, char c)
{
    begin(w, key);
    buf_addch(w->out, c);
    w->depth++;
    w->need_comma = 0;
}

static void close_scope(struct json_writer *w, char c)
{
    w->depth--;
    if (w->need_comma)
        newline(w);
    buf_addch(w->out, c);
    w->need_comma = 1;
}

void json_object(struct json_writer *w, const char *key)
{
    open_scope(w, key, '{');
}

void json_end_object(struct json_writer *w)
{
    close_scope(w, '}');
}

void json_array(struct json_writer *w, const char *key)
{
    open_scope(w, key, '[');
}

void json_end_array(struct json_writer *w)
{
    close_scope(w, ']');
}

void json_strn(struct json_writer *w, const char *key, const char *s, size_t n)
{
    begin(w, key);
    quote(w->out, s, n);
}

void json_str(struct json_writer *w, const char *key, const char *s)
{
    if (s)
        json_strn(w, key, s, strlen(s));
    else
        json_null(w, key);
}

void json_u64(struct json_writer *w, const char *key, uint64_t v)
{
    begin(w, key);
    buf_addf(w->out, "%llu", (unsigned long long)v);
}

void json_i64(struct json_writer *w, const char *key, int64_t v)
{
    begin(w, key);
    buf_addf(w->out, "%lld", (long long)v);
}

void json_f64(struct json_writer *w, const char *key, double v)
{
    char text[32];

    if (!isfinite(v)) {
        json_null(w, key);
        return;
    }
    begin(w, key);
    for (int digits = 15; digits <= 17; digits++) { /* 17 always read back; %g drops trailing zeros */
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    buf_addstr(w->out, v == 0 && signbit(v) ? "-0.0" : text); /* "-0" would read as the integer */
}

void json_bool(struct json_writer *w, const char *key, int v)
{
    begin(w, key);
    buf_addstr(w->out, v ? "true" : "false");
}

void json_null(struct json_writer *w, const char *key)
{
    begin(w, key);
    buf_addstr(w->out, "null");
}

void json_raw(struct json_writer *w, const char *key, const char *json)
{
    begin(w, key);
    buf_addstr(w->out, json);
}

static void copy_number(struct json_writer *w, const char *key, const struct json_value *v)
{
    size_t at;

    if (v->is_integer) {
        json_i64(w, key, v->integer);
        return;
    }
    json_f64(w, key, v->number);
    for (at = w->out->len; at && !strchr(" :,[\n", w->out->data[at - 1]);)
        at--;
    if (isfinite(v->number) && !strpbrk(w->out->data + at, ".eE"))
        buf_addstr(w->out, ".0");
}

static void copy_children(struct json_writer *w, const struct json_value *v)
{
    for (const struct json_value *c = v->child; c; c = c->next)
        json_copy(w, v->type == JSON_OBJECT ? c->key : NULL, c);
}

void json_copy(struct json_writer *w, const char *key, const struct json_value *v)
{
    switch (v->type) {
    case JSON_NULL:
        json_null(w, key);
        break;
    case JSON_BOOL:
        json_bool(w, key, v->boolean);
        break;
    case JSON_NUMBER:
        copy_number(w, key, v);
        break;
    case JSON_STRING:
        json_strn(w, key, v->str, v->len);
        break;
    case JSON_ARRAY:
        json_array(w, key);
        copy_children(w, v);
        json_end_array(w);
        break;
    case JSON_OBJECT:
        json_object(w, key);
        copy_children(w, v);
        json_end_object(w);
        break;
    }
}
