/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

/* What the second byte may be; that is where overlong forms, surrogates and too large values show. */
static int second_fits(const unsigned char *p)
{
    switch (p[0]) {
    case 0xe0:
        return p[1] >= 0xa0 && p[1] <= 0xbf;
    case 0xed:
        return p[1] >= 0x80 && p[1] <= 0x9f;
    case 0xf0:
        return p[1] >= 0x90 && p[1] <= 0xbf;
    case 0xf4:
        return p[1] >= 0x80 && p[1] <= 0x8f;
    default:
        return (p[1] & 0xc0) == 0x80;
    }
}

size_t utf8_len(const void *text, size_t n)
{
    const unsigned char *p = text;
    size_t len;

    if (!n)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n < len || !second_fits(p))
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

static const char *first_bad(const char *s)
{
    for (size_t len; *s; s += len)
        if (!(len = (unsigned char)*s < 0x80 ? 1 : utf8_len(s, strnlen(s, 4))))
            break;
    return s;
}

int utf8_is(const char *s)
{
    return !*first_bad(s);
}

void utf8_add(struct buf *out, const char *s)
{
    for (const char *bad; *s; s = bad + 1) {
        bad = first_bad(s);
        buf_add(out, s, (size_t)(bad - s));
        if (!*bad)
            break;
        buf_addstr(out, "\xef\xbf\xbd");
    }
}

size_t utf8_put(char out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

int utf8_acts(const char *p, size_t len)
{
    const unsigned char *s = (const unsigned char *)p;
    uint32_t c;

    if (len == 1)
        return s[0] < 0x20 || s[0] == 0x7f;
    if (len == 2) {
        c = (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f);
        return c < 0xa0 || c == 0xad || c == 0x61c; /* C1, soft hyphen, Arabic letter mark */
    }
    if (len == 4) /* U+E0000 to U+E0FFF: tags and more that nobody sees, and programs read */
        return s[0] == 0xf3 && s[1] == 0xa0;
    c = (uint32_t)(s[0] & 0xf) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);
    return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
           c == 0xfeff;
}
