/* SPDX-License-Identifier: Apache-2.0 */
/* LEB128 and fixed words from a cursor, with the frequent case (one byte) inline. Past the end: 0, and
 * c->bad. */
#ifndef WPROF_UNWIND_EHFRAME_LEB_H
#define WPROF_UNWIND_EHFRAME_LEB_H

#include "base/buf.h"

static inline uint8_t leb_u8(struct cursor *c)
{
    if (c->p < c->end)
        return *c->p++;
    c->bad = 1;
    return 0;
}

static inline uint64_t leb_unsigned(struct cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0;; shift += 7) {
        uint8_t b = leb_u8(c);

        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
}

static inline int64_t leb_signed(struct cursor *c)
{
    uint64_t v = 0;

    for (unsigned shift = 0;; shift += 7) {
        uint8_t b = leb_u8(c);

        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (b & 0x80)
            continue;
        if ((b & 0x40) && shift + 7 < 64)
            v |= ~0ull << (shift + 7);
        return (int64_t)v;
    }
}

static inline uint64_t leb_fixed(struct cursor *c, unsigned size)
{
    uint64_t v = 0;

    if ((size_t)(c->end - c->p) < size) {
        c->bad = 1;
        c->p = c->end;
        return 0;
    }
    memcpy(&v, c->p, size);
    c->p += size;
    return v;
}

/* A block of n bytes, skipped; NULL past the end. */
static inline const uint8_t *leb_block(struct cursor *c, uint64_t n)
{
    const uint8_t *p = c->p;

    if ((uint64_t)(c->end - p) < n) {
        c->bad = 1;
        c->p = c->end;
        return NULL;
    }
    c->p += n;
    return p;
}

#endif
