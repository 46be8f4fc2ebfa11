/* SPDX-License-Identifier: Apache-2.0 */
#include "render/text.h"

#include <string.h>

/* Bytes of the word at s; "12.3 %" is one. */
static size_t word(const char *s)
{
    size_t n = strcspn(s, " ");

    return s[n] == ' ' && s[n + 1] == '%' ? n + 1 + strcspn(s + n + 1, " ") : n;
}

/* Columns of the n bytes at s. */
static size_t shown(const char *s, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

static void end_line(struct buf *out)
{
    while (out->len && out->data[out->len - 1] == ' ')
        out->len--;
    buf_addch(out, '\n');
}

void text_wrap(struct buf *out, const char *s, size_t width, size_t indent, size_t at)
{
    struct buf clean = {0};

    text_clean(s, 0, &clean);
    for (const char *p = buf_str(&clean); *p;) {
        size_t n = word(p), columns = shown(p, n);

        if (width && at + columns > width && at > indent) {
            end_line(out);
            buf_addf(out, "%*s", (int)indent, "");
            at = indent;
        }
        buf_add(out, p, n);
        at += columns;
        p += n;
        p += strspn(p, " ");
        if (*p && (!width || at < width)) {
            buf_addch(out, ' ');
            at++;
        }
    }
    end_line(out);
    buf_release(&clean);
}
