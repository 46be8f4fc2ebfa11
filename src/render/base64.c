/* SPDX-License-Identifier: Apache-2.0 */
#include "render/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_add(struct buf *out, const void *p, size_t n)
{
    const uint8_t *in = p;
    char *w;

    buf_reserve(out, (n + 2) / 3 * 4);
    w = out->data + out->len;
    for (; n >= 3; n -= 3, in += 3) {
        uint32_t v = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];

        *w++ = digits[v >> 18];
        *w++ = digits[v >> 12 & 63];
        *w++ = digits[v >> 6 & 63];
        *w++ = digits[v & 63];
    }
    if (n) {
        uint32_t v = (uint32_t)in[0] << 16 | (n == 2 ? (uint32_t)in[1] << 8 : 0);

        *w++ = digits[v >> 18];
        *w++ = digits[v >> 12 & 63];
        *w++ = n == 2 ? digits[v >> 6 & 63] : '=';
        *w++ = '=';
    }
    *w = '\0';
    out->len = (size_t)(w - out->data);
}
