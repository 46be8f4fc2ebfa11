/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect(struct buf *b, const char *bytes, size_t n)
{
    assert_int_equal(b->len, n);
    assert_memory_equal(b->data, bytes, n);
    buf_release(b);
}

/* The examples of protobuf.dev/programming-guides/encoding. */
static void the_guides_examples(void **state)
{
    struct buf b = {0};
    size_t at;

    proto_u64(&b, 1, 150);
    expect(&b, "\x08\x96\x01", 3);
    proto_str(&b, 2, "testing");
    expect(&b, "\x12\x07testing", 9);
    at = proto_begin(&b, 3);
    proto_u64(&b, 1, 150);
    proto_end(&b, at);
    expect(&b, "\x1a\x03\x08\x96\x01", 5);
}

static void wide_tags_and_fixed_numbers(void **state)
{
    struct buf b = {0};

    proto_fixed64(&b, 47, 0x0102030405060708);
    expect(&b, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01", 10);
}

static void lengths_of_several_bytes(void **state)
{
    struct buf b = {0};
    size_t outer = proto_begin(&b, 1), inner = proto_begin(&b, 2);

    for (unsigned i = 0; i < 300; i++)
        buf_addch(&b, 'x');
    proto_end(&b, inner);
    proto_end(&b, outer);
    assert_int_equal(b.len, 306);
    assert_memory_equal(b.data, "\x0a\xaf\x02\x12\xac\x02xxx", 9);
    assert_int_equal(b.data[305], 'x');
    buf_release(&b);
}

static void text_is_utf8(void **state)
{
    struct buf b = {0};

    proto_str(&b, 1, "\xc3\xa9\xff");
    expect(&b, "\x0a\x05\xc3\xa9\xef\xbf\xbd", 7);
    proto_end(&b, proto_begin(&b, 1));
    expect(&b, "\x0a\x00", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guides_examples),
        cmocka_unit_test(wide_tags_and_fixed_numbers),
        cmocka_unit_test(lengths_of_several_bytes),
        cmocka_unit_test(text_is_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
