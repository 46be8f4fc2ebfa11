/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"

#include <ctype.h>
#include <string.h>

/* What means nothing to a shell, wherever it stands. */
static int is_plain(unsigned char c)
{
    return isalnum(c) || strchr("_-./:,+@%=", c) || c >= 0x80;
}

void shell_word(struct buf *out, const char *s)
{
    size_t n = 0;

    while (s[n] && is_plain((unsigned char)s[n]))
        n++;
    if (n && !s[n]) {
        buf_addstr(out, s);
        return;
    }
    buf_addch(out, '\'');
    for (; *s; s++)
        if (*s == '\'')
            buf_addstr(out, "'\\''");
        else
            buf_addch(out, *s);
    buf_addch(out, '\'');
}
