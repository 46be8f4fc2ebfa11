/* SPDX-License-Identifier: Apache-2.0 */
#include "model/redact_pairs.h"

#include "model/redact.h"

#include <ctype.h>
#include <string.h>

static int is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Quotes, and what keeps them from a shell. */
static int is_quote(char c)
{
    return c == '"' || c == '\'' || c == '\\';
}

/* What issuers begin their keys with, and how long one is at least. */
static const struct {
    const char *start;
    size_t least;
} keys[] = {
    {"AKIA", 20}, {"ASIA", 20}, {"ghp_", 30},        {"gho_", 30},  {"ghs_", 30},
    {"hf_", 30},  {"sk-", 32},  {"github_pat_", 40}, {"xoxb-", 30},
};

static int is_key(const char *s, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (n >= keys[i].least && !strncmp(s, keys[i].start, strlen(keys[i].start)))
            return 1;
    return 0;
}

/* Of a value behind `name:` and `blanks` blanks: how long it is. A path without a blank is a mount's
 * other end, "::" a scope's, a bracket opens a list. */
static size_t value_length(const char *s, size_t blanks)
{
    char quote = 0;
    size_t n = 0;

    if (*s == ':' || *s == '[' || *s == '{' || (*s == '/' && !blanks))
        return 0;
    while (is_quote(s[n]))
        quote = s[n++];
    for (; s[n] && (quote ? !is_quote(s[n]) : !strchr(" \t\n,;}]'\"\\", s[n])); n++)
        ;
    return n;
}

static void add_value(const char *s, size_t n, struct buf *out)
{
    size_t quotes = strspn(s, "\"'\\");

    if (quotes > n)
        quotes = n;
    buf_add(out, s, quotes);
    if (redact_is_plain_value(s + quotes, n - quotes))
        buf_add(out, s + quotes, n - quotes);
    else if (n > quotes)
        buf_addstr(out, REDACTED);
}

/* A secret's name is before p: its value follows where a colon does. Returns what of p is done with. */
static size_t add_after(const char *p, struct buf *out)
{
    size_t colon = strspn(p, "\"'\\ "), blanks, n;

    if (p[colon] != ':')
        return 0;
    blanks = strspn(p + colon + 1, " \t");
    n = value_length(p + colon + 1 + blanks, blanks);
    if (!n)
        return 0;
    buf_add(out, p, colon + 1 + blanks);
    add_value(p + colon + 1 + blanks, n, out);
    return colon + 1 + blanks + n;
}

/* http://keycloak:8080/auth: a host, whose port follows. */
static int is_path_end(const char *text, const char *name)
{
    return name > text && (name[-1] == '/' || name[-1] == '@');
}

void redact_pairs(const char *text, struct buf *out)
{
    const char *p = text;

    while (*p) {
        size_t n = 0;

        if (!is_name_char(*p)) {
            buf_addch(out, *p++);
            continue;
        }
        while (is_name_char(p[n]))
            n++;
        if (is_key(p, n))
            buf_addstr(out, REDACTED);
        else
            buf_add(out, p, n);
        p += n;
        if (redact_is_secret_name(p - n, n) && !is_path_end(text, p - n))
            p += add_after(p, out);
    }
}
