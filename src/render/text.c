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

void text_clean(const char *s, size_t width, struct buf *out)
{
    size_t n = strlen(s), count = columns(s, n), head = count, tail = 0, i = 0;

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
