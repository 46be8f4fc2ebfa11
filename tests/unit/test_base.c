/* SPDX-License-Identifier: Apache-2.0 */
/* buf, vec, map, index, hash, utf8, err. */
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/templates.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/vec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void buf_grows_and_stays_terminated(void **state)
{
    struct buf b = {0};
    char *s;

    assert_string_equal(buf_str(&b), "");
    for (int i = 0; i < 1000; i++) {
        buf_addch(&b, 'x');
        assert_int_equal(b.data[b.len], '\0');
    }
    buf_addf(&b, "%0500d|%s", 7, "end");
    assert_int_equal(b.len, 1000 + 500 + 4);
    assert_string_equal(b.data + 1000 + 499, "7|end");
    buf_clear(&b);
    assert_string_equal(b.data, "");
    buf_add(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    s = buf_detach(&b);
    assert_memory_equal(s, "a\0b", 4);
    assert_null(b.data);
    free(s);
}

static void varints_come_back(void **state)
{
    static const uint64_t us[] = {0, 1, 127, 128, 300, UINT32_MAX, UINT64_MAX};
    static const int64_t ss[] = {0, -1, 1, -64, 64, INT64_MIN, INT64_MAX};
    struct buf b = {0};
    struct cursor c;

    for (size_t i = 0; i < ARRAY_SIZE(us); i++)
        buf_add_varint(&b, us[i]);
    for (size_t i = 0; i < ARRAY_SIZE(ss); i++)
        buf_add_svarint(&b, ss[i]);
    c = cursor_init(b.data, b.len);
    for (size_t i = 0; i < ARRAY_SIZE(us); i++)
        assert_true(cursor_varint(&c) == us[i]);
    for (size_t i = 0; i < ARRAY_SIZE(ss); i++)
        assert_true(cursor_svarint(&c) == ss[i]);
    assert_int_equal(c.bad, 0);
    assert_ptr_equal(c.p, c.end);
    buf_release(&b);
}

static void a_cursor_never_passes_the_end(void **state)
{
    static const uint8_t endless[12] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                        0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct cursor c = cursor_init("\x80", 1);

    assert_true(cursor_varint(&c) == 0);
    assert_int_equal(c.bad, 1);
    assert_true(cursor_varint(&c) == 0); /* stays bad */
    c = cursor_init(endless, sizeof(endless));
    cursor_varint(&c);
    assert_int_equal(c.bad, 1);
    c = cursor_init("abc", 3);
    assert_null(cursor_bytes(&c, 4));
    assert_int_equal(c.bad, 1);
    c = cursor_init("\x01\x02\x03", 3);
    assert_int_equal(cursor_uint(&c, 2), 0x0201);
    assert_int_equal(cursor_uint(&c, 2), 0);
    assert_int_equal(c.bad, 1);
}

static void vec_pushes(void **state)
{
    VEC(int) v = {0};

    for (int i = 0; i < 1000; i++)
        *vec_push(&v) = i;
    assert_int_equal(v.n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v.a[i], i);
    vec_clear(&v);
    assert_int_equal(v.n, 0);
    vec_release(&v);
    assert_null(v.a);
}

static void map_keeps_what_was_put(void **state)
{
    struct map m = {0};
    size_t n = 0;

    assert_null(map_get(&m, 1));
    for (uint64_t k = 0; k < 5000; k++)
        *map_put(&m, k * 64) = k;
    for (uint64_t k = 0; k < 5000; k += 2)
        assert_int_equal(map_del(&m, k * 64), 1);
    assert_int_equal(map_del(&m, 0), 0);
    for (uint64_t k = 0; k < 5000; k++) {
        uint64_t *v = map_get(&m, k * 64);

        assert_true(k % 2 ? v && *v == k : !v);
    }
    assert_int_equal(m.n, 2500);
    for (size_t i = 0; map_next(&m, &i);)
        n++;
    assert_int_equal(n, 2500);
    map_release(&m);
}

/* Keys that come and go for ever must not make the table grow for ever. */
static void map_reuses_deleted_slots(void **state)
{
    struct map m = {0};

    for (uint64_t k = 0; k < 200000; k++) {
        *map_put(&m, k) = k;
        if (k >= 10)
            map_del(&m, k - 10);
    }
    assert_int_equal(m.n, 10);
    assert_true(m.cap <= 64);
    map_release(&m);
}

static int same_number(const void *ctx, uint32_t id)
{
    return *(const uint32_t *)ctx == id * 3;
}

static void index_finds_by_content(void **state)
{
    struct index x = {0};

    for (uint32_t id = 1; id <= 3000; id++) {
        uint32_t number = id * 3;

        assert_int_equal(index_find(&x, number % 7, same_number, &number),
                         0); /* few hashes: many collisions */
        index_add(&x, number % 7, id);
        assert_int_equal(index_find(&x, number % 7, same_number, &number), id);
    }
    assert_int_equal(x.n, 3000);
    index_release(&x);
}

static void hashes_differ(void **state)
{
    struct map seen = {0};
    char text[40];

    memset(text, 'a', sizeof(text));
    for (size_t n = 0; n <= sizeof(text); n++)
        ++*map_put(&seen, hash_bytes(text, n));
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = 'b';
        ++*map_put(&seen, hash_bytes(text, sizeof(text)));
        text[i] = 'a';
    }
    assert_int_equal(seen.n, 2 * sizeof(text) + 1);
    map_release(&seen);
    assert_true(hash_u64(1) != hash_u64(2));
}

/* The check values of RFC 3720 B.4 and of the CRC catalogue. */
static void crc32c_is_castagnoli(void **state)
{
    uint8_t zeros[32] = {0};

    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

static void utf8_by_the_standard(void **state)
{
    char out[4];

    assert_int_equal(utf8_len("a", 1), 1);
    assert_int_equal(utf8_len("\xc3\xa9", 2), 2);
    assert_int_equal(utf8_len("\xc3\xa9", 1), 0);
    assert_int_equal(utf8_len("\xc0\xaf", 2), 0);         /* overlong */
    assert_int_equal(utf8_len("\xe0\x80\xaf", 3), 0);     /* overlong */
    assert_int_equal(utf8_len("\xed\xa0\x80", 3), 0);     /* surrogate */
    assert_int_equal(utf8_len("\xf4\x8f\xbf\xbf", 4), 4); /* U+10FFFF */
    assert_int_equal(utf8_len("\xf4\x90\x80\x80", 4), 0);
    assert_int_equal(utf8_len("", 0), 0);
    for (uint32_t c = 0; c < 0x110000; c += c == 0xd7ff ? 0x801 : 1)
        assert_int_equal(utf8_len(out, utf8_put(out, c)), c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
}

static void errors_gain_context(void **state)
{
    struct err e = {0};
    char big[2000];

    assert_int_equal(err_sys(&e, ENOENT, "open %s", "x"), -1);
    assert_string_equal(e.msg, "open x: No such file or directory");
    err_wrap(&e, "collector %s", "cpu");
    assert_string_equal(e.msg, "collector cpu: open x: No such file or directory");
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    err_set(&e, "%s", big);
    err_wrap(&e, "%s", big);
    err_sys(&e, ENOENT, "%s", big);
    assert_true(strlen(e.msg) < sizeof(e.msg));
    assert_int_equal(err_set(NULL, "nobody asks"), -1);
}

static void durations_have_three_digits(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } ways[] = {{0, "0 ns"},           {999, "999 ns"},       {999499, "999 us"},   {999500, "1 ms"},
                {999499999, "999 ms"}, {999900000, "1.00 s"}, {1250000, "1.25 ms"}, {123456000000, "123 s"}};
    char text[32];

    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        assert_string_equal(units_duration(text, sizeof(text), ways[i].ns), ways[i].text);
}

static void unknown_templates_are_null(void **state)
{
    assert_null(template_get("no such file", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buf_grows_and_stays_terminated),
        cmocka_unit_test(varints_come_back),
        cmocka_unit_test(a_cursor_never_passes_the_end),
        cmocka_unit_test(vec_pushes),
        cmocka_unit_test(map_keeps_what_was_put),
        cmocka_unit_test(map_reuses_deleted_slots),
        cmocka_unit_test(index_finds_by_content),
        cmocka_unit_test(hashes_differ),
        cmocka_unit_test(crc32c_is_castagnoli),
        cmocka_unit_test(utf8_by_the_standard),
        cmocka_unit_test(errors_gain_context),
        cmocka_unit_test(durations_have_three_digits),
        cmocka_unit_test(unknown_templates_are_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
