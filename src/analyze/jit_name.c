/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/jit_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TRAMPOLINE "py::"

void jit_name_release(struct jit_name *n)
{
    buf_release(&n->func);
    buf_release(&n->file);
}

/* ---- V8 ---- */

/* The length of the tag of a function written in JavaScript, with its colon; 0: none. */
static size_t js_tag(const char *s)
{
    static const char *const tags[] = {"JS:", "LazyCompile:", "Function:", "Eval:", "Script:", "Callback:"};

    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
        if (!strncmp(s, tags[i], strlen(tags[i])))
            return strlen(tags[i]);
    return 0;
}

/* ":NUMBER" at the end of s[0..n): the length without it, and the number; n where there is none. */
static size_t cut_number(const char *s, size_t n, uint32_t *number)
{
    size_t at = n;

    while (at && isdigit((unsigned char)s[at - 1]))
        at--;
    if (at == n || n - at > 9 || !at || s[at - 1] != ':')
        return n;
    *number = (uint32_t)strtoul(s + at, NULL, 10);
    return at - 1;
}

/* Where the file begins in "NAME FILE": names may hold spaces ("get size"), paths too. */
static size_t find_file(const char *s, size_t n)
{
    static const char *const starts[] = {"/", "file:", "node:", "internal/", "evalmachine", "wasm:"};

    for (size_t i = 0; i < n; i++) {
        if (i && s[i - 1] != ' ')
            continue;
        for (size_t k = 0; k < sizeof(starts) / sizeof(starts[0]); k++)
            if (n - i >= strlen(starts[k]) && !strncmp(s + i, starts[k], strlen(starts[k])))
                return i;
    }
    while (n && s[n - 1] != ' ')
        n--;
    return n;
}

static void parse_js(const char *s, struct jit_name *out)
{
    uint32_t line = 0, column = 0;
    size_t n, file;

    s += strspn(s, "~^+*-");
    s += *s == '\''; /* specialised for one context */
    n = cut_number(s, strlen(s), &column);
    if (n < strlen(s))
        n = cut_number(s, n, &line);
    if (!line) { /* one number is a line */
        line = column;
        column = 0;
    }
    file = line ? find_file(s, n) : n;
    if (n - file > 7 && !strncmp(s + file, "file://", 7))
        buf_add(&out->file, s + file + 7, n - file - 7);
    else
        buf_add(&out->file, s + file, n - file);
    out->line = line;
    while (file && s[file - 1] == ' ')
        file--;
    if (file)
        buf_add(&out->func, s, file);
    else if (line <= 1 && column <= 1)
        buf_addstr(&out->func, "(top level)");
    else /* its place is all that tells it from others of the file */
        buf_addf(&out->func, "(anonymous:%u:%u)", line, column);
    out->language = LANGUAGE_JAVASCRIPT;
}

/* ---- HotSpot ---- */

/* The numbers of hidden classes ("Main$$Lambda$14/0x00000008000c4000") differ from run to run. */
static void add_method(struct buf *out, const char *s, size_t n)
{
    size_t i = 0;

    while (i < n) {
        size_t digits = 0;

        if (n - i > 3 && !strncmp(s + i, "/0x", 3))
            digits = strspn(s + i + 3, "0123456789abcdef");
        if (digits)
            i += 3 + digits;
        else
            buf_add(out, s + i++, 1);
    }
}

/* "TYPE CLASS.METHOD(TYPES)" */
static int parse_java(const char *s, struct jit_name *out)
{
    size_t type = strcspn(s, " ("), n, all = strlen(s);
    const char *method = s + type + 1;

    if (!all || s[all - 1] != ')' || s[type] != ' ' || !isalpha((unsigned char)s[0]))
        return 0;
    n = strcspn(method, " (");
    if (method[n] != '(' || !memchr(method, '.', n))
        return 0;
    add_method(&out->func, method, n);
    out->language = LANGUAGE_JAVA;
    return 1;
}

/* ---- CPython ---- */

static void parse_python(const char *s, struct jit_name *out)
{
    const char *colon = strchr(s, ':');

    buf_add(&out->func, s, colon ? (size_t)(colon - s) : strlen(s));
    if (colon)
        buf_addstr(&out->file, colon + 1);
    out->language = LANGUAGE_PYTHON;
}

void jit_name_parse(const char *raw, struct jit_name *out)
{
    size_t tag = js_tag(raw);

    buf_clear(&out->func);
    buf_clear(&out->file);
    out->line = 0;
    out->language = LANGUAGE_NONE;
    if (tag)
        parse_js(raw + tag, out);
    else if (!strncmp(raw, TRAMPOLINE, strlen(TRAMPOLINE)))
        parse_python(raw + strlen(TRAMPOLINE), out);
    else if (!parse_java(raw, out))
        buf_addstr(&out->func, raw);
}
