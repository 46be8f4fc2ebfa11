/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { DEPTH_MAX = 512, CHUNK = 64 * 1024 };

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

struct parser {
    const char *p, *start, *end;
    struct json_doc *doc;
    struct err *e;
    int depth;
    struct buf scratch;
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

static int fail(struct parser *ps, const char *what)
{
    size_t line = 1;
    const char *bol = ps->start;

    for (const char *p = ps->start; p < ps->p; p++) {
        if (*p == '\n') {
            line++;
            bol = p + 1;
        }
    }
    return err_set(ps->e, "not JSON: line %zu, column %zu: %s", line, (size_t)(ps->p - bol) + 1, what);
}

static void skip_space(struct parser *ps)
{
    while (ps->p < ps->end && (*ps->p == ' ' || *ps->p == '\t' || *ps->p == '\n' || *ps->p == '\r'))
        ps->p++;
}

static int hex4(struct parser *ps, uint32_t *out)
{
    *out = 0;
    if (ps->end - ps->p < 4)
        return fail(ps, "a \\u escape has four hexadecimal digits");
    for (int i = 0; i < 4; i++) {
        char c = *ps->p;

        if (c >= '0' && c <= '9')
            *out = *out * 16 + (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            *out = *out * 16 + (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return fail(ps, "a \\u escape has four hexadecimal digits");
        ps->p++;
    }
    return 0;
}

/* \uXXXX, p behind the u. A surrogate without its other half (Python writes those) becomes U+FFFD. */
static int parse_unicode(struct parser *ps)
{
    uint32_t c, low;
    char out[4];

    if (hex4(ps, &c))
        return -1;
    if (c >= 0xd800 && c < 0xdc00 && ps->end - ps->p >= 2 && ps->p[0] == '\\' && ps->p[1] == 'u') {
        const char *back = ps->p;

        ps->p += 2;
        if (hex4(ps, &low))
            return -1;
        if (low >= 0xdc00 && low < 0xe000)
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        else
            ps->p = back;
    }
    buf_add(&ps->scratch, out, utf8_put(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c));
    return 0;
}

static int parse_escape(struct parser *ps)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at;
    char c;

    if (ps->p == ps->end)
        return fail(ps, "the text ends inside a string");
    c = *ps->p;
    if (c == 'u') {
        ps->p++;
        return parse_unicode(ps);
    }
    at = c ? strchr(from, c) : NULL;
    if (!at)
        return fail(ps, "unknown escape");
    ps->p++;
    buf_addch(&ps->scratch, to[at - from]);
    return 0;
}

/* p behind the opening quote. */
static int parse_string(struct parser *ps, const char **str, size_t *len)
{
    char *copy;

    buf_clear(&ps->scratch);
    for (;;) {
        const char *run = ps->p;

        while (ps->p < ps->end && *ps->p != '"' && *ps->p != '\\' && (unsigned char)*ps->p >= 0x20) {
            size_t n = utf8_len(ps->p, (size_t)(ps->end - ps->p));

            if (!n)
                return fail(ps, "a byte that is not UTF-8");
            ps->p += n;
        }
        buf_add(&ps->scratch, run, (size_t)(ps->p - run));
        if (ps->p == ps->end)
            return fail(ps, "the text ends inside a string");
        if ((unsigned char)*ps->p < 0x20)
            return fail(ps, "a control character inside a string");
        if (*ps->p++ == '"')
            break;
        if (parse_escape(ps))
            return -1;
    }
    copy = doc_alloc(ps->doc, ps->scratch.len + 1);
    memcpy(copy, buf_str(&ps->scratch), ps->scratch.len + 1);
    *str = copy;
    *len = ps->scratch.len;
    return 0;
}

static size_t digits(struct parser *ps)
{
    const char *from = ps->p;

    while (ps->p < ps->end && *ps->p >= '0' && *ps->p <= '9')
        ps->p++;
    return (size_t)(ps->p - from);
}

static int scan_number(struct parser *ps, int *whole)
{
    const char *first;

    *whole = 1;
    if (*ps->p == '-')
        ps->p++;
    first = ps->p;
    if (!digits(ps))
        return fail(ps, "a digit was expected");
    if (*first == '0' && ps->p - first > 1)
        return fail(ps, "a number has no leading zeros");
    if (ps->p < ps->end && *ps->p == '.') {
        *whole = 0;
        ps->p++;
        if (!digits(ps))
            return fail(ps, "a digit was expected behind the point");
    }
    if (ps->p < ps->end && (*ps->p | 0x20) == 'e') {
        *whole = 0;
        ps->p++;
        if (ps->p < ps->end && (*ps->p == '+' || *ps->p == '-'))
            ps->p++;
        if (!digits(ps))
            return fail(ps, "a digit was expected in the exponent");
    }
    return 0;
}

static int parse_number(struct parser *ps, struct json_value *v)
{
    const char *from = ps->p;
    int whole;

    v->type = JSON_NUMBER;
    if (scan_number(ps, &whole))
        return -1;
    buf_clear(&ps->scratch); /* the text has no NUL behind the number, strtod wants one */
    buf_add(&ps->scratch, from, (size_t)(ps->p - from));
    if (whole) {
        errno = 0;
        v->integer = strtoll(ps->scratch.data, NULL, 10);
        v->is_integer = !errno && (v->integer || *from != '-'); /* -0 is a double's */
    }
    v->number = v->is_integer ? (double)v->integer : strtod(ps->scratch.data, NULL);
    if (!isfinite(v->number))
        return fail(ps, "a number beyond the range of a double");
    return 0;
}

static int parse_word(struct parser *ps, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(ps->end - ps->p) < n || memcmp(ps->p, word, n))
        return fail(ps, "a value was expected");
    ps->p += n;
    return 0;
}

static int parse_value(struct parser *ps, struct json_value *v);

static int parse_key(struct parser *ps, struct json_value *v)
{
    size_t len;

    if (ps->p == ps->end || *ps->p != '"')
        return fail(ps, "a member's name in quotes was expected");
    ps->p++;
    if (parse_string(ps, &v->key, &len))
        return -1;
    skip_space(ps);
    if (ps->p == ps->end || *ps->p != ':')
        return fail(ps, "':' was expected");
    ps->p++;
    skip_space(ps);
    return 0;
}

/* p behind the opening bracket. */
static int parse_children(struct parser *ps, struct json_value *v, char close)
{
    struct json_value **tail = &v->child;

    skip_space(ps);
    if (ps->p < ps->end && *ps->p == close) {
        ps->p++;
        return 0;
    }
    for (;;) {
        struct json_value *child = doc_alloc(ps->doc, sizeof(*child));

        *child = (struct json_value){0};
        *tail = child;
        tail = &child->next;
        v->len++;
        skip_space(ps);
        if ((close == '}' && parse_key(ps, child)) || parse_value(ps, child))
            return -1;
        skip_space(ps);
        if (ps->p == ps->end)
            return fail(ps,
                        close == '}' ? "the text ends inside an object" : "the text ends inside an array");
        if (*ps->p == close) {
            ps->p++;
            return 0;
        }
        if (*ps->p != ',')
            return fail(ps, close == '}' ? "',' or '}' was expected" : "',' or ']' was expected");
        ps->p++;
    }
}

static int parse_scope(struct parser *ps, struct json_value *v, enum json_type type, char close)
{
    int rc;

    if (ps->depth == DEPTH_MAX)
        return fail(ps, "nested more than 512 deep");
    ps->p++;
    ps->depth++;
    v->type = type;
    rc = parse_children(ps, v, close);
    ps->depth--;
    return rc;
}

static int parse_value(struct parser *ps, struct json_value *v)
{
    if (ps->p == ps->end)
        return fail(ps, "the text ends where a value was expected");
    switch (*ps->p) {
    case '{':
        return parse_scope(ps, v, JSON_OBJECT, '}');
    case '[':
        return parse_scope(ps, v, JSON_ARRAY, ']');
    case '"':
        v->type = JSON_STRING;
        ps->p++;
        return parse_string(ps, &v->str, &v->len);
    case 't':
    case 'f':
        v->type = JSON_BOOL;
        v->boolean = *ps->p == 't';
        return parse_word(ps, v->boolean ? "true" : "false");
    case 'n':
        return parse_word(ps, "null");
    default:
        if (*ps->p == '-' || (*ps->p >= '0' && *ps->p <= '9'))
            return parse_number(ps, v);
        return fail(ps, "a value was expected");
    }
}

struct json_doc *json_parse(const char *text, size_t n, struct err *e)
{
    struct json_doc *doc = mem_calloc(1, sizeof(*doc));
    struct parser ps = {.p = text, .start = text, .end = text + n, .doc = doc, .e = e};
    int rc;

    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) /* RFC 8259 section 8.1: a parser may ignore the mark */
        ps.p += 3;
    skip_space(&ps);
    rc = parse_value(&ps, &doc->root);
    if (!rc) {
        skip_space(&ps);
        if (ps.p != ps.end)
            rc = fail(&ps, "text behind the end of the value");
    }
    buf_release(&ps.scratch);
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
