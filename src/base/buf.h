/* SPDX-License-Identifier: Apache-2.0 */
/* A growable byte buffer. `data` is NUL-terminated whenever it is not NULL; `len` does not count that byte.
 */
#ifndef WPROF_BASE_BUF_H
#define WPROF_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
    char *data;
    size_t len, cap;
};

void buf_release(struct buf *b); /* frees and zeroes; b may be used again */
void buf_reserve(struct buf *b, size_t extra);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *fmt, va_list ap);
char *buf_detach(struct buf *b); /* the contents, owned by the caller; b is empty after */

static inline void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

static inline void buf_addstr(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

static inline void buf_addch(struct buf *b, char c)
{
    if (b->len + 1 >= b->cap)
        buf_reserve(b, 1);
    b->data[b->len++] = c;
    b->data[b->len] = '\0';
}

static inline const char *buf_str(const struct buf *b)
{
    return b->data ? b->data : "";
}

/* LEB128, least significant group first, as in DWARF 5 section 7.6. Signed values are zigzag-coded first. */
void buf_add_varint(struct buf *b, uint64_t v);

static inline void buf_add_svarint(struct buf *b, int64_t v)
{
    buf_add_varint(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

/* A bounded reader over foreign bytes. Reading past the end gives 0 and sets `bad`, which stays set: check it
 * once. */
struct cursor {
    const uint8_t *p, *end;
    int bad;
};

static inline struct cursor cursor_init(const void *p, size_t n)
{
    return (struct cursor){p, (const uint8_t *)p + n, 0};
}

uint64_t cursor_varint(struct cursor *c);
int64_t cursor_svarint(struct cursor *c);
uint64_t cursor_uint(struct cursor *c, unsigned size); /* little-endian, 1..8 bytes */
const void *cursor_bytes(struct cursor *c, size_t n);  /* borrowed; NULL past the end */

#endif
