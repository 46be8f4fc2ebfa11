/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

void buf_release(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

void buf_reserve(struct buf *b, size_t extra)
{
    size_t need = b->len + extra + 1, cap = b->cap ? b->cap : 64;

    if (need <= b->cap)
        return;
    while (cap < need)
        cap *= 2;
    b->data = mem_realloc(b->data, cap, 1);
    b->data[b->len] = '\0';
    b->cap = cap;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    buf_reserve(b, n);
    if (n)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    buf_reserve(b, 128);
    n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
    if (n > 0 && (size_t)n >= b->cap - b->len) {
        buf_reserve(b, (size_t)n);
        vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
    }
    va_end(again);
    if (n > 0)
        b->len += (size_t)n;
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vaddf(b, fmt, ap);
    va_end(ap);
}

char *buf_detach(struct buf *b)
{
    char *s;

    buf_reserve(b, 0);
    s = b->data;
    *b = (struct buf){0};
    return s;
}

void buf_add_varint(struct buf *b, uint64_t v)
{
    buf_reserve(b, 10);
    while (v >= 0x80) {
        b->data[b->len++] = (char)(v | 0x80);
        v >>= 7;
    }
    b->data[b->len++] = (char)v;
    b->data[b->len] = '\0';
}

uint64_t cursor_varint(struct cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
        uint8_t byte = *c->p++;

        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    c->bad = 1;
    c->p = c->end;
    return 0;
}

int64_t cursor_svarint(struct cursor *c)
{
    uint64_t v = cursor_varint(c);

    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

const void *cursor_bytes(struct cursor *c, size_t n)
{
    const void *p = c->p;

    if (n > (size_t)(c->end - c->p)) {
        c->bad = 1;
        c->p = c->end;
        return NULL;
    }
    c->p += n;
    return p;
}

uint64_t cursor_uint(struct cursor *c, unsigned size)
{
    const uint8_t *p = cursor_bytes(c, size);
    uint64_t v = 0;

    for (unsigned i = 0; p && i < size; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}
