/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON (RFC 8259) read piece by piece: memory is that of the longest string, not of the text. Every value is
 * a token; an array or an object is one where it begins and one where it ends.
 */
#ifndef WPROF_BASE_JSON_STREAM_H
#define WPROF_BASE_JSON_STREAM_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { JSON_DEPTH_MAX = 512 };

struct json_token {
    enum json_type type;
    int ends;        /* the array or object ends here */
    int boolean;     /* JSON_BOOL */
    const char *key; /* of a member of an object, else NULL; no NUL behind it */
    size_t key_len;
    const char *text; /* JSON_STRING: without escapes, UTF-8; JSON_NUMBER: as it stands. No NUL behind it */
    size_t len;
};

/* Up to n bytes to p: how many, 0 at the end, -1 with `e`. */
typedef ssize_t json_read_fn(void *ctx, void *p, size_t n, struct err *e);

struct json_stream {
    json_read_fn *read; /* NULL: the text is in memory, borrowed */
    void *ctx;
    /* Set it to have pass, as other readers do: in strings, bytes that are not UTF-8, control characters and
     * backslashes before nothing that they go with; NaN and infinities, as null; a comma before ] or }. */
    int lenient;
    uint64_t odd; /* how often it did, but for UTF-8 */

    /* its own */
    char *own;
    size_t cap;
    const char *begin, *p, *end; /* the text at hand */
    uint64_t lines, column;      /* before `begin`: line ends, and bytes behind the last of them */
    int eof, cut, bad, depth, state;
    uint64_t objects[JSON_DEPTH_MAX / 64]; /* a bit a level: it is an object */
    struct buf key, text;                  /* of those with escapes */
};

void json_stream_init(struct json_stream *s, json_read_fn *read, void *ctx);
void json_stream_init_text(struct json_stream *s, const char *text, size_t n);
void json_stream_release(struct json_stream *s);

/* 1: a token, valid until the next call. 0: the value is over and only white space followed. -1 with `e`
 * (line and column): it is not JSON, or could not be read; call it no more. */
int json_stream_next(struct json_stream *s, struct json_token *t, struct err *e);

/* Reads to the end of the array or object that has just begun; nothing else to do for other values. */
int json_stream_skip(struct json_stream *s, const struct json_token *t, struct err *e);

/* Says that what was read last is not what it should be, and where. -1. */
int json_stream_fail(struct json_stream *s, struct err *e, const char *what);

/* After a failure: goes on at the next object in the array of that depth, told by the member it begins with:
 * "\"ph\"". 1; 0: there is none; -1 with `e`: it could not be read. */
int json_stream_resync(struct json_stream *s, int depth, const char *member, struct err *e);

/* Whether the failure was that the text is not JSON, not that it could not be read; and that it ended too
 * early. */
int json_stream_is_bad(const struct json_stream *s);
int json_stream_is_cut(const struct json_stream *s);

/* "key" of a member, "text" of a string. */
static inline int json_is(const char *p, size_t n, const char *word, size_t len)
{
    return n == len && !memcmp(p, word, len);
}

#define json_key_is(t, word)  ((t)->key && json_is((t)->key, (t)->key_len, word, sizeof(word) - 1))
#define json_text_is(t, word) json_is((t)->text, (t)->len, word, sizeof(word) - 1)

#endif
