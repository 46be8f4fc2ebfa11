/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"

#include "base/utf8.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void tag(struct buf *b, unsigned field, enum wire wire)
{
    buf_add_varint(b, (uint64_t)field << 3 | wire);
}

void proto_u64(struct buf *b, unsigned field, uint64_t v)
{
    tag(b, field, WIRE_VARINT);
    buf_add_varint(b, v);
}

void proto_fixed64(struct buf *b, unsigned field, uint64_t v)
{
    uint8_t le[8];

    for (unsigned i = 0; i < 8; i++)
        le[i] = (uint8_t)(v >> 8 * i);
    tag(b, field, WIRE_FIXED64);
    buf_add(b, le, sizeof(le));
}

void proto_str(struct buf *b, unsigned field, const char *s)
{
    size_t n = strlen(s), at = proto_begin(b, field);

    for (size_t i = 0; i < n;) {
        size_t k = utf8_len(s + i, n - i);

        if (k)
            buf_add(b, s + i, k);
        else
            buf_addstr(b, "\357\277\275");
        i += k ? k : 1;
    }
    proto_end(b, at);
}

size_t proto_begin(struct buf *b, unsigned field)
{
    tag(b, field, WIRE_BYTES);
    return b->len;
}

void proto_end(struct buf *b, size_t at)
{
    size_t n = b->len - at, width = 1;
    uint64_t v = n;

    for (size_t rest = n >> 7; rest; rest >>= 7)
        width++;
    buf_reserve(b, width);
    memmove(b->data + at + width, b->data + at, n);
    for (size_t i = 0; i < width; i++, v >>= 7)
        b->data[at + i] = (char)((v & 0x7f) | (i + 1 < width ? 0x80 : 0));
    b->len += width;
    b->data[b->len] = '\0';
}
