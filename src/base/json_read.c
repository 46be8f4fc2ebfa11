/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_stream.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { CHUNK = 64 * 1024 };

/* Values and strings live in chunks that never move. */
struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(16) char data[];
};

struct json_doc {
    struct chunk *chunks;
    struct json_value root;
};

static void *doc_alloc(struct json_doc *doc, size_t n)
{
    struct chunk *c = doc->chunks;
    size_t need = (n + 15) & ~(size_t)15;

    if (!c || c->size - c->used < need) {
        size_t size = need > CHUNK ? need : CHUNK;

        c = mem_alloc(sizeof(*c) + size);
        *c = (struct chunk){.next = doc->chunks, .size = size};
        doc->chunks = c;
    }
    c->used += need;
    return c->data + c->used - need;
}

static const char *doc_text(struct json_doc *doc, const char *p, size_t n)
{
    char *copy = doc_alloc(doc, n + 1);

    memcpy(copy, p, n);
    copy[n] = '\0';
    return copy;
}

static int set_number(struct json_stream *s, struct json_value *v, const struct json_token *t, struct err *e)
{
    char room[64], *text = t->len < sizeof(room) ? room : mem_alloc(t->len + 1);
    int rc = 0;

    memcpy(text, t->text, t->len);
    text[t->len] = '\0';
    if (!memchr(text, '.', t->len) && !memchr(text, 'e', t->len) && !memchr(text, 'E', t->len)) {
        errno = 0;
        v->integer = strtoll(text, NULL, 10);
        v->is_integer = !errno && (v->integer || *text != '-'); /* -0 is a double's */
    }
    v->number = v->is_integer ? (double)v->integer : strtod(text, NULL);
    if (!isfinite(v->number))
        rc = json_stream_fail(s, e, "a number beyond the range of a double");
    if (text != room)
        free(text);
    return rc;
}

static int set_value(struct json_doc *doc, struct json_stream *s, struct json_value *v,
                     const struct json_token *t, struct err *e)
{
    v->type = t->type;
    v->boolean = t->boolean;
    if (t->key)
        v->key = doc_text(doc, t->key, t->key_len);
    if (t->type == JSON_NUMBER)
        return set_number(s, v, t, e);
    if (t->type == JSON_STRING) {
        v->str = doc_text(doc, t->text, t->len);
        v->len = t->len;
    }
    return 0;
}

/* An open array or object, and where its next child goes. */
struct level {
    struct json_value *value, **tail;
};

static int build(struct json_doc *doc, struct json_stream *s, struct err *e)
{
    struct level levels[JSON_DEPTH_MAX + 1];
    struct level *at = levels;
    struct json_token t;
    int rc;

    *at = (struct level){NULL, NULL};
    while ((rc = json_stream_next(s, &t, e)) > 0) {
        struct json_value *v = &doc->root;

        if (t.ends) {
            at--;
            continue;
        }
        if (at->value) {
            v = doc_alloc(doc, sizeof(*v));
            *v = (struct json_value){0};
            *at->tail = v;
            at->tail = &v->next;
            at->value->len++;
        }
        if (set_value(doc, s, v, &t, e))
            return -1;
        if (t.type == JSON_ARRAY || t.type == JSON_OBJECT)
            *++at = (struct level){v, &v->child};
    }
    return rc;
}

struct json_doc *json_parse(const char *text, size_t n, struct err *e)
{
    struct json_doc *doc = mem_calloc(1, sizeof(*doc));
    struct json_stream s;
    int rc;

    json_stream_init_text(&s, text, n);
    rc = build(doc, &s, e);
    json_stream_release(&s);
    if (!rc)
        return doc;
    json_free(doc);
    return NULL;
}

const struct json_value *json_root(const struct json_doc *doc)
{
    return &doc->root;
}

void json_free(struct json_doc *doc)
{
    struct chunk *c, *next;

    if (!doc)
        return;
    for (c = doc->chunks; c; c = next) {
        next = c->next;
        free(c);
    }
    free(doc);
}

const struct json_value *json_get(const struct json_value *v, const char *key)
{
    if (!v || v->type != JSON_OBJECT)
        return NULL;
    for (const struct json_value *c = v->child; c; c = c->next)
        if (!strcmp(c->key, key))
            return c;
    return NULL;
}

const char *json_get_str(const struct json_value *v, const char *key, const char *otherwise)
{
    const struct json_value *m = json_get(v, key);

    return m && m->type == JSON_STRING ? m->str : otherwise;
}

double json_get_f64(const struct json_value *v, const char *key, double otherwise)
{
    const struct json_value *m = json_get(v, key);

    return m && m->type == JSON_NUMBER ? m->number : otherwise;
}

uint64_t json_get_u64(const struct json_value *v, const char *key, uint64_t otherwise)
{
    const struct json_value *m = json_get(v, key);

    if (!m || m->type != JSON_NUMBER)
        return otherwise;
    if (m->is_integer)
        return m->integer >= 0 ? (uint64_t)m->integer : otherwise;
    return m->number >= 0 && m->number < 0x1p64 ? (uint64_t)m->number : otherwise;
}

int json_get_bool(const struct json_value *v, const char *key, int otherwise)
{
    const struct json_value *m = json_get(v, key);

    return m && m->type == JSON_BOOL ? m->boolean : otherwise;
}
