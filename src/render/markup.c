/* SPDX-License-Identifier: Apache-2.0 */
#include "render/markup.h"

#include "base/utf8.h"

#define REPLACEMENT 0xfffd
#define ELLIPSIS    0x2026

/* The character at s and its length; U+FFFD and 1 where there is none. */
static size_t decode(const char *s, uint32_t *c)
{
    size_t n = utf8_len(s, strnlen(s, 4));

    *c = n == 1 ? (uint8_t)*s : n ? (uint8_t)*s & (0x7fu >> n) : REPLACEMENT;
    for (size_t i = 1; i < n; i++)
        *c = *c << 6 | ((uint8_t)s[i] & 0x3f);
    return n ? n : 1;
}

static void encode(struct buf *out, uint32_t c)
{
    char bytes[4];

    buf_add(out, bytes, utf8_put(bytes, c));
}

/* The marks, embeddings, overrides and isolates of UAX #9, section 2. */
static int turns_direction(uint32_t c)
{
    return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static uint32_t visible(uint32_t c)
{
    if (c < 0x20)
        return 0x2400 + c;
    if (c == 0x7f)
        return 0x2421;
    if ((c > 0x7f && c < 0xa0) || c == 0xfffe || c == 0xffff || turns_direction(c))
        return REPLACEMENT;
    return c;
}

static void add(struct buf *out, uint32_t c)
{
    switch (c) {
    case '&':
        buf_addstr(out, "&amp;");
        break;
    case '<':
        buf_addstr(out, "&lt;");
        break;
    case '>':
        buf_addstr(out, "&gt;");
        break;
    case '"':
        buf_addstr(out, "&quot;");
        break;
    case '\'':
        buf_addstr(out, "&#39;");
        break;
    default:
        encode(out, visible(c));
    }
}

void markup_text(struct buf *out, const char *s)
{
    while (s && *s) {
        uint32_t c;

        s += decode(s, &c);
        add(out, c);
    }
}

size_t markup_cut(struct buf *out, const char *s, size_t max)
{
    size_t n = 0;

    while (*s && n < max) {
        uint32_t c;

        s += decode(s, &c);
        n++;
        add(out, n == max && *s ? ELLIPSIS : c);
    }
    return n;
}
