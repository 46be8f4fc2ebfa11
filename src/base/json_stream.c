/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_stream.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

/*
 * A token is read from the text at hand as if there were no more; where it doesn't end in it, more is read
 * and the token begun again. So nothing but json_stream_next() knows of pieces.
 */
enum {
    CHUNK = 256 << 10, /* bytes; fits a CPU's second cache */
    LOW = 4 << 10,     /* with less at hand, more is read before a token is begun */
    TOKEN_MAX = 64 << 20,
    MORE = 2, /* the text at hand ends inside the token */
};

enum state { AT_TOP, AT_FIRST, AT_NEXT };

#define EACH_BYTE(b) (0x0101010101010101u * (b))

void json_stream_init(struct json_stream *s, json_read_fn *read, void *ctx)
{
    *s = (struct json_stream){.read = read, .ctx = ctx};
    s->cap = CHUNK;
    s->own = mem_alloc(s->cap);
    s->begin = s->p = s->end = s->own;
}

void json_stream_init_text(struct json_stream *s, const char *text, size_t n)
{
    *s = (struct json_stream){.begin = text, .p = text, .end = text + n, .eof = 1};
}

void json_stream_release(struct json_stream *s)
{
    free(s->own);
    buf_release(&s->key);
    buf_release(&s->text);
    *s = (struct json_stream){0};
}

int json_stream_is_cut(const struct json_stream *s)
{
    return s->cut;
}

/* ---- where we are ---- */

static void count_lines(struct json_stream *s, const char *to, uint64_t *lines, uint64_t *column)
{
    const char *bol = s->begin;

    *lines = s->lines;
    *column = s->column;
    for (const char *nl; (nl = memchr(bol, '\n', (size_t)(to - bol))); bol = nl + 1) {
        ++*lines;
        *column = 0;
    }
    *column += (uint64_t)(to - bol);
}

static int fail(struct json_stream *s, struct err *e, const char *what)
{
    uint64_t lines, column;

    if (s->p == s->end && !s->eof)
        return MORE;
    s->cut = s->p == s->end;
    s->bad = 1;
    count_lines(s, s->p, &lines, &column);
    return err_set(e, "not JSON: line %llu, column %llu: %s", (unsigned long long)lines + 1,
                   (unsigned long long)column + 1, what);
}

int json_stream_fail(struct json_stream *s, struct err *e, const char *what)
{
    int eof = s->eof;

    s->eof = 1;
    fail(s, e, what);
    s->eof = eof;
    s->cut = 0;
    return -1;
}

int json_stream_is_bad(const struct json_stream *s)
{
    return s->bad;
}

/* ---- more text ---- */

static int refill(struct json_stream *s, size_t want, struct err *e)
{
    size_t left = (size_t)(s->end - s->p), have = left;

    count_lines(s, s->p, &s->lines, &s->column);
    if (want > TOKEN_MAX)
        return err_set(e, "not JSON that can be read: line %llu has a string longer than 64 MiB",
                       (unsigned long long)s->lines + 1);
    if (left)
        memmove(s->own, s->p, left);
    if (want > s->cap) {
        s->own = mem_realloc(s->own, want, 1);
        s->cap = want;
    }
    while (!s->eof && have < s->cap) {
        ssize_t n = s->read(s->ctx, s->own + have, s->cap - have, e);

        if (n < 0)
            return -1;
        s->eof = !n;
        have += (size_t)n;
    }
    s->begin = s->p = s->own;
    s->end = s->own + have;
    return 0;
}

/* ---- tokens ---- */

static void skip_space(struct json_stream *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
        s->p++;
}

static int hex4(struct json_stream *s, uint32_t *out, struct err *e)
{
    *out = 0;
    for (int i = 0; i < 4; i++, s->p++) {
        char c = s->p < s->end ? *s->p : '\0';

        if (c >= '0' && c <= '9')
            *out = *out * 16 + (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            *out = *out * 16 + (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return fail(s, e, "a \\u escape has four hexadecimal digits");
    }
    return 0;
}

/* \uXXXX, p behind the u. A surrogate without its other half (Python writes those) becomes U+FFFD. */
static int take_unicode(struct json_stream *s, struct buf *to, struct err *e)
{
    uint32_t c, low;
    char out[4];
    int rc = hex4(s, &c, e);

    if (rc)
        return rc;
    if (c >= 0xd800 && c < 0xdc00) {
        const char *back = s->p;

        if (s->end - s->p < 2 && !s->eof) {
            s->p = s->end;
            return MORE;
        }
        if (s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == 'u') {
            s->p += 2;
            rc = hex4(s, &low, e);
            if (rc)
                return rc;
            if (low >= 0xdc00 && low < 0xe000)
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            else
                s->p = back;
        }
    }
    buf_add(to, out, utf8_put(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c));
    return 0;
}

/* Lenient: the backslash stands for itself, and so does what is behind it. */
static int take_backslash(struct json_stream *s, const char *behind, struct buf *to)
{
    s->p = behind;
    s->odd++;
    buf_addch(to, '\\');
    return 0;
}

static int take_escape(struct json_stream *s, struct buf *to, struct err *e)
{
    static const char from[] = "\"\\/bfnrt", out[] = "\"\\/\b\f\n\r\t";
    const char *behind = s->p, *at;
    int rc;

    if (s->p == s->end)
        return fail(s, e, "the text ends inside a string");
    if (*s->p == 'u') {
        s->p++;
        rc = take_unicode(s, to, e);
        return rc < 0 && s->lenient ? take_backslash(s, behind, to) : rc;
    }
    at = *s->p ? strchr(from, *s->p) : NULL;
    if (!at && s->lenient)
        return take_backslash(s, behind, to);
    if (!at)
        return fail(s, e, "unknown escape");
    s->p++;
    buf_addch(to, out[at - from]);
    return 0;
}

/* p over bytes that stand for themselves, to a quote, a backslash, a control or non-ASCII byte, or the end:
 * eight at a time. Of each test the lowest set bit is right, that above it may be wrong (Mycroft). */
static void skip_plain(struct json_stream *s)
{
    const char *p = s->p;

    for (; s->end - p >= 8; p += 8) {
        uint64_t w, quote, back, stop;

        memcpy(&w, p, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        w = __builtin_bswap64(w);
#endif
        quote = w ^ EACH_BYTE('"');
        back = w ^ EACH_BYTE('\\');
        stop = ((quote - EACH_BYTE(1)) & ~quote) | ((back - EACH_BYTE(1)) & ~back) |
               ((w - EACH_BYTE(0x20)) & ~w) | w;
        stop &= EACH_BYTE(0x80);
        if (stop) {
            s->p = p + __builtin_ctzll(stop) / 8;
            return;
        }
    }
    while (p < s->end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80)
        p++;
    s->p = p;
}

/* The non-ASCII character at p. */
static int take_wide(struct json_stream *s, struct err *e)
{
    size_t left = (size_t)(s->end - s->p), n = s->lenient ? 1 : utf8_len(s->p, left);

    if (!n && left < 4 && !s->eof) {
        s->p = s->end;
        return MORE;
    }
    if (!n)
        return fail(s, e, "a byte that is not UTF-8");
    s->p += n;
    return 0;
}

/* p behind the opening quote. Without escapes the string is the text's own, else it is in `copy`. */
static int take_string(struct json_stream *s, struct buf *copy, const char **str, size_t *len, struct err *e)
{
    const char *run = s->p;
    int copied = 0, rc;

    for (;;) {
        skip_plain(s);
        if (s->p == s->end)
            return fail(s, e, "the text ends inside a string");
        if (*s->p == '"')
            break;
        if ((unsigned char)*s->p < 0x20 && s->lenient) {
            s->p++;
            s->odd++;
            continue;
        }
        if ((unsigned char)*s->p < 0x20)
            return fail(s, e, "a control character inside a string");
        if (*s->p != '\\') {
            rc = take_wide(s, e);
            if (rc)
                return rc;
            continue;
        }
        if (!copied)
            buf_clear(copy);
        copied = 1;
        buf_add(copy, run, (size_t)(s->p++ - run));
        rc = take_escape(s, copy, e);
        if (rc)
            return rc;
        run = s->p;
    }
    if (copied)
        buf_add(copy, run, (size_t)(s->p - run));
    *str = copied ? buf_str(copy) : run;
    *len = copied ? copy->len : (size_t)(s->p - run);
    s->p++;
    return 0;
}

static size_t digits(struct json_stream *s)
{
    const char *from = s->p;

    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return (size_t)(s->p - from);
}

static int take_number(struct json_stream *s, struct json_token *t, struct err *e)
{
    const char *from = s->p, *first;

    t->type = JSON_NUMBER;
    if (*s->p == '-')
        s->p++;
    first = s->p;
    if (!digits(s))
        return fail(s, e, "a digit was expected");
    if (*first == '0' && s->p - first > 1)
        return fail(s, e, "a number has no leading zeros");
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (!digits(s))
            return fail(s, e, "a digit was expected behind the point");
    }
    if (s->p < s->end && (*s->p | 0x20) == 'e') {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        if (!digits(s))
            return fail(s, e, "a digit was expected in the exponent");
    }
    if (s->p == s->end && !s->eof)
        return MORE;
    t->text = from;
    t->len = (size_t)(s->p - from);
    return 0;
}

static int take_word(struct json_stream *s, struct json_token *t, enum json_type type, const char *word,
                     struct err *e)
{
    size_t n = strlen(word), left = (size_t)(s->end - s->p);

    t->type = type;
    t->boolean = *word == 't';
    if (left < n && !s->eof) {
        s->p = s->end;
        return MORE;
    }
    if (left < n || memcmp(s->p, word, n) != 0)
        return fail(s, e, "a value was expected");
    s->p += n;
    return 0;
}

/* Lenient: what C and Python print of a double that is no number. Such a value is not there. */
static int take_no_number(struct json_stream *s, struct json_token *t, struct err *e)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    const char *word = s->p + (*s->p == '-' || *s->p == '+'), *end = word;

    while (end < s->end && isalpha((unsigned char)*end))
        end++;
    if (end == s->end && !s->eof) {
        s->p = s->end;
        return MORE;
    }
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if ((size_t)(end - word) == strlen(words[i]) && !strncasecmp(word, words[i], (size_t)(end - word))) {
            t->type = JSON_NULL;
            s->p = end;
            s->odd++;
            return 0;
        }
    }
    return fail(s, e, "a value was expected");
}

static int begins_no_number(const struct json_stream *s)
{
    const char *p = s->p + (*s->p == '-' || *s->p == '+');

    return s->lenient && p < s->end && (*p == 'N' || *p == 'I' || *p == 'n' || *p == 'i') &&
           !(s->end - p > 1 && p[0] == 'n' && p[1] == 'u');
}

/* ---- what stands where ---- */

static int in_object(const struct json_stream *s)
{
    return s->depth && s->objects[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1;
}

static int begin_scope(struct json_stream *s, struct json_token *t, enum json_type type, struct err *e)
{
    uint64_t bit = 1ull << (s->depth % 64), *word = &s->objects[s->depth / 64];

    t->type = type;
    if (s->depth == JSON_DEPTH_MAX)
        return fail(s, e, "nested more than 512 deep");
    *word = type == JSON_OBJECT ? *word | bit : *word & ~bit;
    s->depth++;
    s->p++;
    s->state = AT_FIRST;
    return 1;
}

static int take_value(struct json_stream *s, struct json_token *t, struct err *e)
{
    int rc;

    if (s->p == s->end)
        return fail(s, e, "the text ends where a value was expected");
    if (begins_no_number(s)) {
        rc = take_no_number(s, t, e);
        s->state = rc ? s->state : AT_NEXT;
        return rc ? rc : 1;
    }
    switch (*s->p) {
    case '{':
        return begin_scope(s, t, JSON_OBJECT, e);
    case '[':
        return begin_scope(s, t, JSON_ARRAY, e);
    case '"':
        t->type = JSON_STRING;
        s->p++;
        rc = take_string(s, &s->text, &t->text, &t->len, e);
        break;
    case 't':
        rc = take_word(s, t, JSON_BOOL, "true", e);
        break;
    case 'f':
        rc = take_word(s, t, JSON_BOOL, "false", e);
        break;
    case 'n':
        rc = take_word(s, t, JSON_NULL, "null", e);
        break;
    default:
        if (*s->p != '-' && (*s->p < '0' || *s->p > '9'))
            return fail(s, e, "a value was expected");
        rc = take_number(s, t, e);
    }
    if (rc)
        return rc;
    s->state = AT_NEXT;
    return 1;
}

static int take_key(struct json_stream *s, struct json_token *t, struct err *e)
{
    int rc;

    if (s->p == s->end || *s->p != '"')
        return fail(s, e, "a member's name in quotes was expected");
    s->p++;
    rc = take_string(s, &s->key, &t->key, &t->key_len, e);
    if (rc)
        return rc;
    skip_space(s);
    if (s->p == s->end || *s->p != ':')
        return fail(s, e, "':' was expected");
    s->p++;
    skip_space(s);
    return 0;
}

static int end_scope(struct json_stream *s, struct json_token *t)
{
    t->type = in_object(s) ? JSON_OBJECT : JSON_ARRAY;
    t->ends = 1;
    s->depth--;
    s->p++;
    s->state = AT_NEXT;
    return 1;
}

static int take(struct json_stream *s, struct json_token *t, struct err *e)
{
    int object = in_object(s), rc;
    char close = object ? '}' : ']';

    *t = (struct json_token){.type = JSON_NULL};
    if (s->state == AT_TOP && s->end - s->p >= 3 && !memcmp(s->p, "\xef\xbb\xbf", 3))
        s->p += 3; /* RFC 8259 section 8.1: a parser may ignore the mark */
    skip_space(s);
    if (!s->depth && s->state == AT_NEXT) {
        if (s->p < s->end)
            return fail(s, e, "text behind the end");
        return s->eof ? 0 : MORE;
    }
    if (s->state != AT_TOP && s->p < s->end && *s->p == close)
        return end_scope(s, t);
    if (s->state == AT_NEXT) {
        if (s->p == s->end)
            return fail(s, e, object ? "the text ends inside an object" : "the text ends inside an array");
        if (*s->p != ',')
            return fail(s, e, object ? "',' or '}' was expected" : "',' or ']' was expected");
        s->p++;
        skip_space(s);
        if (s->lenient && s->p < s->end && *s->p == close) {
            s->odd++;
            return end_scope(s, t);
        }
    }
    rc = object ? take_key(s, t, e) : 0;
    return rc ? rc : take_value(s, t, e);
}

int json_stream_next(struct json_stream *s, struct json_token *t, struct err *e)
{
    size_t want = s->cap;

    if (!s->eof && s->end - s->p < LOW && refill(s, want, e))
        return -1;
    for (;;) {
        const char *from = s->p;
        uint64_t odd = s->odd;
        int rc = take(s, t, e);

        if (rc != MORE)
            return rc;
        s->odd = odd;
        s->p = from;
        if ((size_t)(s->end - s->p) * 2 > want)
            want *= 2;
        if (refill(s, want, e))
            return -1;
    }
}

int json_stream_skip(struct json_stream *s, const struct json_token *t, struct err *e)
{
    struct json_token inner;
    int depth = s->depth;

    if (t->ends || (t->type != JSON_ARRAY && t->type != JSON_OBJECT))
        return 0;
    while (s->depth >= depth)
        if (json_stream_next(s, &inner, e) < 0)
            return -1;
    return 0;
}

/* Whether an object that begins at p has this member first; *known 0: the text at hand ends before. */
static int begins_with(const struct json_stream *s, const char *p, const char *member, int *known)
{
    const char *from = p;
    size_t n = strlen(member);

    for (p++; p < s->end && isspace((unsigned char)*p);)
        p++;
    *known = (size_t)(s->end - p) >= n || s->eof || p - from > LOW;
    return (size_t)(s->end - p) >= n && !memcmp(p, member, n);
}

int json_stream_resync(struct json_stream *s, int depth, const char *member, struct err *e)
{
    s->bad = s->cut = 0;
    for (;;) {
        const char *at = memchr(s->p, '{', (size_t)(s->end - s->p));
        int known = 1;

        if (at && begins_with(s, at, member, &known)) {
            s->p = at;
            s->depth = depth;
            s->state = AT_FIRST;
            return 1;
        }
        s->p = !at ? s->end : known ? at + 1 : at;
        if (!at && s->eof) {
            s->bad = 1;
            return 0;
        }
        if ((!at || !known) && refill(s, s->cap, e))
            return -1;
    }
}
