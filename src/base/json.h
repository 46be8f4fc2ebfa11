/* SPDX-License-Identifier: Apache-2.0 */
/* JSON (RFC 8259): a writer onto a buf, and a strict reader that gives a tree. */
#ifndef WPROF_BASE_JSON_H
#define WPROF_BASE_JSON_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Writer. `key` is the member's name inside an object and NULL inside an array or at the top. Strings are
 * escaped; bytes that are not UTF-8 become U+FFFD. `<`, `>` and `&` are written as \u003c ..., so that JSON
 * may stand inside a <script>. NaN and infinities are written as null. indent 0: everything on one line.
 */
struct json_value;

struct json_writer {
    struct buf *out;
    int indent;
    int depth;
    int need_comma;
};

void json_object(struct json_writer *w, const char *key); /* opens; close with json_end_object */
void json_end_object(struct json_writer *w);
void json_array(struct json_writer *w, const char *key);
void json_end_array(struct json_writer *w);
void json_str(struct json_writer *w, const char *key, const char *s); /* s NULL: null */
void json_strn(struct json_writer *w, const char *key, const char *s, size_t n);
void json_u64(struct json_writer *w, const char *key, uint64_t v);
void json_i64(struct json_writer *w, const char *key, int64_t v);
void json_f64(struct json_writer *w, const char *key, double v); /* shortest text that reads back the same */
void json_bool(struct json_writer *w, const char *key, int v);
void json_null(struct json_writer *w, const char *key);
void json_raw(struct json_writer *w, const char *key, const char *json); /* text that is JSON already */
/* A value that was read, with all that is in it; 1.0 does not become 1. */
void json_copy(struct json_writer *w, const char *key, const struct json_value *v);

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_type type;
    int boolean;
    double number; /* also parsed for integers; `integer` is exact where is_integer */
    int64_t integer;
    int is_integer;
    const char *key; /* inside an object; NUL-terminated UTF-8 */
    const char *str; /* strings: NUL-terminated UTF-8; may hold an embedded NUL, hence len */
    size_t len;      /* strings: bytes; arrays and objects: children */
    struct json_value *child, *next;
};

struct json_doc;

/* Parses the whole text: nothing but white space may follow. Depth is bounded at 512. NULL with `e` set (line
 * and column) when it is not JSON. Free with json_free(); values live as long as the document. */
struct json_doc *json_parse(const char *text, size_t n, struct err *e);
const struct json_value *json_root(const struct json_doc *doc);
void json_free(struct json_doc *doc);

/* Members of an object: NULL / the given default where v is NULL, no object, the member absent or of another
 * type. */
const struct json_value *json_get(const struct json_value *v, const char *key);
const char *json_get_str(const struct json_value *v, const char *key, const char *otherwise);
double json_get_f64(const struct json_value *v, const char *key, double otherwise);
uint64_t json_get_u64(const struct json_value *v, const char *key, uint64_t otherwise);
int json_get_bool(const struct json_value *v, const char *key, int otherwise);

#endif
