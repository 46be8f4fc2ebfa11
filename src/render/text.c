/* SPDX-License-Identifier: Apache-2.0 */
#include "render/text.h"

#include "base/utf8.h"

#include <string.h>

/* One character of s, or '?' for what must not reach a terminal. */
static size_t next_char(const char *s, size_t n, const char **shown, size_t *shown_n)
{
    size_t len = utf8_len(s, n);

    if (!len || utf8_acts(s, len)) {
        *shown = "?";
        *shown_n = 1;
        return len ? len : 1;
    }
    *shown = s;
    *shown_n = len;
    return len;
}

static size_t columns(const char *s, size_t n)
{
    size_t count = 0;

    for (size_t at = 0; at < n; count++) {
        const char *shown;
        size_t len;

        at += next_char(s + at, n - at, &shown, &len);
    }
    return count;
}

/* At most `width` columns of s (0: all of it). */
static void cut(const char *s, size_t n, size_t width, struct buf *out)
{
    size_t count = columns(s, n), head = count, tail = 0, i = 0;

    if (width && count > width) { /* the end of a name tells more than its middle */
        tail = (width - 1) / 3;
        head = width - 1 - tail;
    }
    for (size_t at = 0; at < n; i++) {
        const char *shown;
        size_t len;

        at += next_char(s + at, n - at, &shown, &len);
        if (i < head || i >= count - tail)
            buf_add(out, shown, len);
        else if (i == head)
            buf_addstr(out, "…");
    }
}

/* Where the arguments of a C++ function begin, "f<int>(int, long)"; n: there are none. A place in a file,
 * "f (a.py)", stands behind a blank. */
static size_t arguments_at(const char *s, size_t n)
{
    size_t depth = 0;

    for (size_t i = n; n && s[n - 1] == ')' && i-- > 0;) {
        depth += s[i] == ')';
        depth -= s[i] == '(';
        if (!depth)
            return i && s[i - 1] != ' ' ? i : n;
    }
    return n;
}

/* Template arguments tell functions apart that have pages of the same arguments. */
void text_clean(const char *s, size_t width, struct buf *out)
{
    static const char instead[] = "(…)";
    size_t n = strlen(s), args = width > sizeof(instead) && columns(s, n) > width ? arguments_at(s, n) : n;

    if (args == n) {
        cut(s, n, width, out);
        return;
    }
    cut(s, args, width - 3, out);
    buf_addstr(out, instead);
}

size_t text_width(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}
