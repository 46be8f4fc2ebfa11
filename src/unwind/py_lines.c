/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/py_code.h"

#include <stdlib.h>

void py_lines_release(struct py_lines *l)
{
    vec_release(&l->rows);
}

/* Line numbers of valid code stay far below this; damaged tables must not overflow. */
enum { LINE_LIMIT = 1 << 30 };

static int64_t clamp(int64_t line)
{
    return line < -LINE_LIMIT ? -LINE_LIMIT : line > LINE_LIMIT ? LINE_LIMIT : line;
}

static void row(struct py_lines *l, uint32_t end, int64_t line)
{
    size_t n = l->rows.n;
    uint32_t v = line > 0 ? (uint32_t)line : 0;

    if (end <= (n ? l->rows.a[n - 1].end : 0))
        return;
    if (n && l->rows.a[n - 1].line == v)
        l->rows.a[n - 1].end = end;
    else
        *vec_push(&l->rows) = (struct py_line_row){end, v};
}

/* 3.8, 3.9: pairs {bytes forward, lines forward or (signed) back}; the line holds from where the bytes lead
 * to. */
static void decode_lnotab(struct py_lines *l, int64_t line, const uint8_t *p, size_t n)
{
    uint32_t addr = 0;

    for (size_t i = 0; i + 1 < n; i += 2) {
        addr += p[i];
        row(l, addr, line);
        line = clamp(line + (int8_t)p[i + 1]);
    }
    row(l, UINT32_MAX, line);
}

/* 3.10: pairs {bytes that the range is long, lines forward or back; -128: the range has no line}. */
static void decode_linetable(struct py_lines *l, int64_t line, const uint8_t *p, size_t n)
{
    uint32_t addr = 0;

    for (size_t i = 0; i + 1 < n; i += 2) {
        int delta = (int8_t)p[i + 1];

        addr += p[i];
        if (delta != -128)
            line = clamp(line + delta);
        row(l, addr, delta == -128 ? 0 : line);
    }
}

/* Six bits a byte, least significant first; 0x40: more follow; the lowest bit is the sign. */
static int64_t location_svarint(const uint8_t *p, size_t n, size_t *i)
{
    uint32_t v = 0;
    unsigned shift = 0;

    while (*i < n) {
        uint8_t b = p[(*i)++];

        if (shift < 30)
            v |= (uint32_t)(b & 63) << shift;
        shift += 6;
        if (!(b & 64))
            break;
    }
    return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/*
 * 3.11 on: entries that begin with 1, 4 bits of kind, 3 bits of length - 1 in code units of 2 bytes; only
 * first bytes have the top bit. Kinds 0-9: same line. 10-12: 0 to 2 lines on. 13, 14: a signed varint. 15: no
 * line.
 */
static void decode_locations(struct py_lines *l, int64_t line, const uint8_t *p, size_t n)
{
    uint32_t addr = 0;
    size_t i = 0;

    while (i < n) {
        unsigned kind = p[i] >> 3 & 15, units = (p[i] & 7) + 1;

        i++;
        if (kind >= 10 && kind <= 12)
            line = clamp(line + kind - 10);
        else if (kind == 13 || kind == 14)
            line = clamp(line + location_svarint(p, n, &i));
        addr += 2 * units;
        row(l, addr, kind == 15 ? 0 : line);
        while (i < n && !(p[i] & 128))
            i++;
    }
}

void py_lines_decode(struct py_lines *l, unsigned version, uint32_t firstline, const uint8_t *p, size_t n)
{
    int64_t first = firstline < LINE_LIMIT ? firstline : 0;

    vec_clear(&l->rows);
    if (version < 0x030a)
        decode_lnotab(l, first, p, n);
    else if (version == 0x030a)
        decode_linetable(l, first, p, n);
    else
        decode_locations(l, first, p, n);
}

uint32_t py_lines_find(const struct py_lines *l, int32_t lasti)
{
    size_t lo = 0, hi = l->rows.n;

    if (lasti < 0)
        return 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (l->rows.a[mid].end > (uint32_t)lasti)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo < l->rows.n ? l->rows.a[lo].line : 0;
}
