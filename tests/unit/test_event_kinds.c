/* SPDX-License-Identifier: Apache-2.0 */
/* Looking for events of some kinds gives what reading all of them would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/store.h"

enum { N = 5 * EVENT_KINDS_BLOCK + 7 };

/* Mostly of the GPU, a few others, some at the edges of blocks, one of a kind that nobody knows. */
static void fill(struct store *s)
{
    for (size_t i = 0; i < N; i++)
        *vec_push(&s->events) = (struct event){.ts = i, .kind = EVENT_GPU};
    s->events.a[0].kind = EVENT_SAMPLE;
    s->events.a[EVENT_KINDS_BLOCK - 1].kind = EVENT_SAMPLE;
    s->events.a[EVENT_KINDS_BLOCK].kind = EVENT_MARKER;
    s->events.a[3 * EVENT_KINDS_BLOCK + 5].kind = EVENT_METRIC;
    s->events.a[4 * EVENT_KINDS_BLOCK].kind = 77;
    s->events.a[N - 1].kind = EVENT_SAMPLE;
}

static void finds_what_there_is(const struct store *s, unsigned kinds)
{
    size_t next = store_next(s, 0, kinds);

    for (size_t i = 0; i < s->events.n; i++) {
        if (!(event_kind_bit(s->events.a[i].kind) & kinds))
            continue;
        assert_int_equal(next, i);
        next = store_next(s, i + 1, kinds);
    }
    assert_int_equal(next, s->events.n);
}

static void finds_all(const struct store *s)
{
    for (unsigned kinds = 0; kinds < 1u << (EVENT_METRIC + 1); kinds++)
        finds_what_there_is(s, kinds);
}

static void test_each_kind(void **state)
{
    struct store s = {0};

    (void)state;
    fill(&s);
    finds_all(&s); /* looked at one by one */
    event_kinds_init(&s.kinds, s.events.a, s.events.n);
    finds_all(&s);
    assert_int_equal(store_next(&s, 0, 1 << EVENT_NONE), 4 * EVENT_KINDS_BLOCK); /* the unknown one */
    store_release(&s);
}

/* It does not read what it need not: what is said of a block is believed. */
static void test_skips(void **state)
{
    struct store s = {0};

    (void)state;
    fill(&s);
    event_kinds_init(&s.kinds, s.events.a, s.events.n);
    s.events.a[2 * EVENT_KINDS_BLOCK].kind = EVENT_RUNQ;
    assert_int_equal(store_next(&s, 0, 1 << EVENT_RUNQ), N);
    event_kinds_release(&s.kinds);
    assert_int_equal(store_next(&s, 0, 1 << EVENT_RUNQ), 2 * EVENT_KINDS_BLOCK);
    store_release(&s);
}

static void test_others(void **state)
{
    struct store s = {0}, other = {0};

    (void)state;
    fill(&s);
    event_kinds_init(&s.kinds, s.events.a, s.events.n);
    *vec_push(&s.events) = (struct event){.kind = EVENT_GIL};
    assert_int_equal(store_next(&s, 0, 1 << EVENT_GIL), N); /* more of them */
    *vec_push(&other.events) = (struct event){.kind = EVENT_GIL};
    store_replace_events(&s, &other);
    assert_int_equal(s.events.n, 1);
    assert_int_equal(store_next(&s, 0, 1 << EVENT_GIL), 0);
    assert_null(s.kinds.a);
    assert_int_equal(other.events.n, 0);
    store_release(&s);
}

static void test_none(void **state)
{
    struct store s = {0};

    (void)state;
    assert_int_equal(store_next(&s, 0, ~0u), 0);
    event_kinds_init(&s.kinds, s.events.a, s.events.n);
    assert_int_equal(store_next(&s, 0, ~0u), 0);
    store_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind),
        cmocka_unit_test(test_skips),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
