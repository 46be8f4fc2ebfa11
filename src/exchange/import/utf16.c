/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/import/utf16.h"

#include "base/utf8.h"

enum { REPLACEMENT = 0xfffd };

int utf16_begins(struct utf16 *u, const void *p, size_t n)
{
    *u = (struct utf16){.odd = -1};
    if (n < 2 || (memcmp(p, "\xff\xfe", 2) != 0 && memcmp(p, "\xfe\xff", 2) != 0))
        return 0;
    u->big = *(const unsigned char *)p == 0xfe;
    return 1;
}

static void put(struct buf *out, uint32_t c)
{
    char text[4];

    buf_add(out, text, utf8_put(text, c));
}

static void take_unit(struct utf16 *u, uint32_t c, struct buf *out)
{
    int is_low = c >= 0xdc00 && c <= 0xdfff;

    if (u->high) {
        put(out, is_low ? 0x10000 + ((u->high - 0xd800) << 10) + (c - 0xdc00) : REPLACEMENT);
        u->high = 0;
        if (is_low)
            return;
    }
    if (c >= 0xd800 && c <= 0xdbff)
        u->high = c;
    else
        put(out, is_low ? REPLACEMENT : c);
}

void utf16_add(struct utf16 *u, const void *p, size_t n, struct buf *out)
{
    const unsigned char *s = p;

    buf_reserve(out, n / 2 * 3);
    for (size_t i = 0; i < n; i++) {
        if (u->odd < 0) {
            u->odd = s[i];
            continue;
        }
        take_unit(u, u->big ? (uint32_t)u->odd << 8 | s[i] : (uint32_t)s[i] << 8 | (uint32_t)u->odd, out);
        u->odd = -1;
    }
}

void utf16_end(struct utf16 *u, struct buf *out)
{
    if (u->high || u->odd >= 0)
        put(out, REPLACEMENT);
    u->high = 0;
    u->odd = -1;
}
