/* SPDX-License-Identifier: Apache-2.0 */
/* Trees that are built child by child, pairs of values as folded text, and text that is written behind. */
#include "fake_profile.h"

#include "base/write_behind.h"
#include "model/profile_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CHILDREN = 60 };

/* Few children and many, asked for again and again in another order: each has one node. */
static void children_are_found(void **state)
{
    struct profile p = {0};
    struct index x = {0};
    uint32_t node[CHILDREN + 1][CHILDREN + 1] = {{0}}, linked = 0;

    *vec_push(&p.nodes) = (struct profile_node){0};
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t k = 1; k <= CHILDREN; k++) {
            uint32_t frame = round & 1 ? CHILDREN + 1 - k : k;
            uint32_t id = profile_index_child(&x, &p, 0, frame);

            for (uint32_t below = 1; below <= frame / 8; below++) {
                uint32_t child = profile_index_child(&x, &p, id, below);

                assert_true(!round || node[frame][below] == child);
                node[frame][below] = child;
            }
            assert_true(!round || node[frame][0] == id);
            node[frame][0] = id;
            assert_int_equal(p.nodes.a[id].frame, frame);
            assert_int_equal(p.nodes.a[id].parent, 0);
            if (round == 1 && k == CHILDREN / 2) { /* as one that was built otherwise */
                index_release(&x);
                profile_index_adopt(&x, &p);
            }
        }
    for (uint32_t i = 0; i < p.nodes.n; i++)
        for (uint32_t c = p.nodes.a[i].child; c; c = p.nodes.a[c].next, linked++)
            assert_int_equal(p.nodes.a[c].parent, i);
    assert_int_equal(linked, p.nodes.n - 1);
    index_release(&x);
    profile_release(&p);
}

static void pair(int difference, const char *expected)
{
    static const uint64_t before[] = {0, 0, 5, 18446744073709551615u, 0, 0, 2};
    static const uint64_t after[] = {0, 3, 5, 0, 0, 10, 1};
    struct buf out = {0};
    struct fake f;

    fake_init(&f, "oncpu", "samples");
    fake_stack(&f, "n:a", 1);
    fake_stack(&f, "n:a;n:b", 1);
    fake_stack(&f, "n:a b", 1);
    fake_stack(&f, "n:a;n:c;n:d", 1);
    fake_stack(&f, "n:a;n:b b", 1);
    fake_finish(&f);
    assert_int_equal(f.p.nodes.n, ARRAY_SIZE(before));
    assert_int_equal(profile_folded_pair(&f.p, before, 1, after, difference, NULL, &out, NULL), 0);
    assert_string_equal(buf_str(&out), expected);
    buf_release(&out);
    fake_release(&f);
}

static void pairs_as_text(void **state)
{
    pair(0, "a 0 3\na b 18446744073709551615 0\na;b 5 5\na;b b 2 1\na;c;d 0 10\n");
    pair(1, "a 3\na b -18446744073709551615\na;b b -1\na;c;d 10\n");
}

/* ---- what is written behind ---- */

struct sunk {
    struct buf all;
    int calls, fail_at; /* 0: never */
};

static int sink(void *arg, const struct buf *text, struct err *e)
{
    struct sunk *s = arg;

    if (++s->calls == s->fail_at)
        return err_set(e, "the disk is full");
    buf_add(&s->all, text->data, text->len);
    return 0;
}

static void written_in_order(void **state)
{
    struct sunk s = {0};
    struct write_behind w;
    struct buf text = {0}, expected = {0};

    write_behind_init(&w, sink, &s);
    for (int i = 0; i < 1000; i++) {
        buf_addf(&text, "%d\n", i);
        buf_addf(&expected, "%d\n", i);
        assert_int_equal(write_behind_put(&w, &text, NULL), 0);
        assert_int_equal(text.len, 0);
    }
    assert_int_equal(write_behind_finish(&w, 0, NULL), 0);
    assert_int_equal(s.calls, 1000);
    assert_string_equal(s.all.data, expected.data);
    buf_release(&text);
    buf_release(&expected);
    buf_release(&s.all);
}

/* Nothing is written behind a gap, whoever hears of it first. */
static void failure_ends_it(void **state)
{
    struct sunk s = {.fail_at = 3};
    struct write_behind w;
    struct buf text = {0};
    struct err e = {0};
    int rc = 0;

    write_behind_init(&w, sink, &s);
    for (int i = 0; i < 10; i++) {
        buf_addf(&text, "%d", i);
        rc |= write_behind_put(&w, &text, &e);
    }
    assert_int_equal(rc, -1);
    assert_string_equal(e.msg, "the disk is full");
    assert_int_equal(write_behind_finish(&w, rc, &e), -1);
    assert_int_equal(s.calls, 3);
    assert_string_equal(s.all.data, "01");
    buf_release(&text);
    buf_release(&s.all);
}

static void last_failure_is_told(void **state)
{
    struct sunk s = {.fail_at = 1};
    struct write_behind w;
    struct buf text = {0};
    struct err e = {0};

    write_behind_init(&w, sink, &s);
    buf_addstr(&text, "all");
    write_behind_put(&w, &text, NULL);
    assert_int_equal(write_behind_finish(&w, 0, &e), -1);
    assert_string_equal(e.msg, "the disk is full");
    write_behind_init(&w, sink, &s); /* nothing to write */
    assert_int_equal(write_behind_finish(&w, 0, NULL), 0);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_found),   cmocka_unit_test(pairs_as_text),
        cmocka_unit_test(written_in_order),     cmocka_unit_test(failure_ends_it),
        cmocka_unit_test(last_failure_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
