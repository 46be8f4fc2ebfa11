/* SPDX-License-Identifier: Apache-2.0 */
#include "model/column.h"

#include "model/zblock.h"

#include <string.h>

/* Below this many bytes an entropy code of its own costs a column more than it saves. */
enum { CUT_FROM = 1024, TRY_FROM = 64 };

static void cut(struct wlog_payload *p, size_t from)
{
    size_t last = p->cuts.n ? p->cuts.a[p->cuts.n - 1] : 0;

    if (from > last)
        *vec_push(&p->cuts) = from;
}

static void put_planes(struct wlog_payload *p, const uint64_t *v, size_t n, int delta)
{
    struct buf *b = &p->raw;
    uint64_t all = 0, before = 0;
    unsigned width = 1;

    for (size_t i = 0; i < n; before = v[i], i++)
        all |= delta ? column_zigzag(v[i], before) : v[i];
    while (width < 8 && all >> (8 * width))
        width++;
    buf_addch(b, (char)width);
    buf_reserve(b, width * n);
    for (unsigned k = 0; k < width; k++) {
        if (n >= CUT_FROM)
            cut(p, b->len);
        before = 0;
        for (size_t i = 0; i < n; before = v[i], i++)
            b->data[b->len++] = (char)((delta ? column_zigzag(v[i], before) : v[i]) >> (8 * k));
    }
}

static void put_varints(struct buf *b, const uint64_t *v, size_t n, int delta)
{
    uint64_t before = 0;
    char *o;

    buf_reserve(b, 10 * n);
    o = b->data + b->len;
    for (size_t i = 0; i < n; before = v[i], i++) {
        uint64_t x = delta ? column_zigzag(v[i], before) : v[i];

        for (; x >= 0x80; x >>= 7)
            *o++ = (char)(x | 0x80);
        *o++ = (char)x;
    }
    b->len = (size_t)(o - b->data);
}

static int constant(const uint64_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[0])
            return 0;
    return 1;
}

void column_put(struct wlog_payload *p, const uint64_t *v, size_t n, enum column_coding coding)
{
    size_t from = p->raw.len;

    if (constant(v, n))
        coding = COLUMN_CONST;
    if (n >= CUT_FROM && coding != COLUMN_CONST)
        cut(p, from);
    buf_addch(&p->raw, (char)coding);
    switch (coding) {
    case COLUMN_CONST:
        buf_add_varint(&p->raw, n ? v[0] : 0);
        return;
    case COLUMN_VARINT:
    case COLUMN_DELTA:
        put_varints(&p->raw, v, n, coding == COLUMN_DELTA);
        break;
    default:
        put_planes(p, v, n, coding == COLUMN_DELTA_PLANES);
        break;
    }
    if (p->raw.len - from >= CUT_FROM)
        cut(p, p->raw.len);
}

void column_put_best(struct wlog_payload *p, const uint64_t *v, size_t n, struct zpacker *trial)
{
    enum column_coding best = COLUMN_VARINT;
    struct wlog_payload one = {0};
    struct buf packed = {0};
    size_t least = SIZE_MAX;

    for (unsigned c = COLUMN_VARINT; c < COLUMN_CODINGS && n >= TRY_FROM && !constant(v, n); c++) {
        struct err e;

        wlog_payload_clear(&one);
        buf_clear(&packed);
        column_put(&one, v, n, c);
        if (!zpacker_pack(trial, one.raw.data, one.raw.len, one.cuts.a, one.cuts.n, &packed, &e) &&
            packed.len < least) {
            least = packed.len;
            best = c;
        }
    }
    column_put(p, v, n, best);
    wlog_payload_release(&one);
    buf_release(&packed);
}

/* cursor_varint, but inlined: this is the inner loop of opening a session. */
static uint64_t varint(struct cursor *c)
{
    uint64_t v = 0;

    if (c->p < c->end && *c->p < 0x80)
        return *c->p++;
    for (unsigned shift = 0; shift < 64 && c->p < c->end; shift += 7) {
        uint8_t byte = *c->p++;

        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return v;
    }
    c->bad = 1;
    return 0;
}

static void get_varints(struct cursor *c, uint64_t *v, size_t n, int delta)
{
    uint64_t before = 0;

    for (size_t i = 0; i < n && !c->bad; i++)
        v[i] = before = delta ? column_unzigzag(varint(c), before) : varint(c);
}

/* The lowest bytes first. Most columns have three at most: these take one pass. */
static void join_planes(uint64_t *v, const uint8_t *p, size_t n, size_t width)
{
    const uint8_t *b = width > 1 ? p + n : NULL, *c = width > 2 ? p + 2 * n : NULL;

    if (!b) {
        for (size_t i = 0; i < n; i++)
            v[i] = p[i];
    } else if (!c) {
        for (size_t i = 0; i < n; i++)
            v[i] = (uint64_t)(p[i] | b[i] << 8);
    } else {
        for (size_t i = 0; i < n; i++)
            v[i] = (uint64_t)(p[i] | b[i] << 8 | c[i] << 16);
    }
    for (size_t k = 3; k < width; k++)
        for (size_t i = 0; i < n; i++)
            v[i] |= (uint64_t)p[k * n + i] << (8 * k);
}

static void get_planes(struct cursor *c, uint64_t *v, size_t n, int delta)
{
    size_t width = cursor_uint(c, 1);
    const uint8_t *p = width >= 1 && width <= 8 ? cursor_bytes(c, width * n) : NULL;
    uint64_t before = 0;

    if (!p) {
        c->bad = 1;
        return;
    }
    join_planes(v, p, n, width);
    for (size_t i = 0; delta && i < n; i++)
        v[i] = before = column_unzigzag(v[i], before);
}

void column_get(struct cursor *c, uint64_t *v, size_t n)
{
    unsigned coding = (unsigned)cursor_uint(c, 1);
    uint64_t x;

    switch (coding) {
    case COLUMN_CONST:
        x = cursor_varint(c);
        for (size_t i = 0; i < n; i++)
            v[i] = x;
        break;
    case COLUMN_VARINT:
    case COLUMN_DELTA:
        get_varints(c, v, n, coding == COLUMN_DELTA);
        break;
    case COLUMN_PLANES:
    case COLUMN_DELTA_PLANES:
        get_planes(c, v, n, coding == COLUMN_DELTA_PLANES);
        break;
    default:
        c->bad = 1;
    }
    if (c->bad && n)
        memset(v, 0, n * sizeof(*v));
}
