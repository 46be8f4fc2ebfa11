/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a graph of calls: each function has its own cost again, whatever the graph. */
#include "base/hash.h"
#include "exchange/import/call_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const struct event like = {.kind = EVENT_SAMPLE};

static uint32_t function(struct call_graph *g, struct store *s, const char *name)
{
    struct frame f = {.kind = FRAME_NATIVE, .func = strtab_add(&s->strings, name)};

    return call_graph_function(g, frames_add(&s->frames, &f));
}

static uint64_t sum(const struct store *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->events.n; i++)
        n += s->events.a[i].value;
    return n;
}

/* What was counted with this function innermost. */
static uint64_t self_of(const struct call_graph *g, const struct store *s, uint32_t f)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->events.n; i++)
        if (stacks_get(&s->stacks, s->events.a[i].stack)->frame == g->functions.a[f].frame)
            n += s->events.a[i].value;
    return n;
}

/* main calls a and b, both call c: c's costs are shared as its callers paid. */
static void shared_callee(void **state)
{
    struct call_graph g = {0};
    struct store s = {0};
    struct call_stats stats;
    uint32_t m = function(&g, &s, "main"), a = function(&g, &s, "a"), b = function(&g, &s, "b"),
             c = function(&g, &s, "c");

    assert_int_equal(function(&g, &s, "a"), a);
    call_graph_self(&g, m, 10);
    call_graph_self(&g, a, 20);
    call_graph_self(&g, b, 30);
    call_graph_self(&g, c, 40);
    call_graph_call(&g, m, a, 20 + 10);
    call_graph_call(&g, m, b, 30 + 30);
    call_graph_call(&g, a, c, 10);
    call_graph_call(&g, b, c, 29);
    call_graph_call(&g, b, c, 1);
    assert_int_equal(call_graph_samples(&g, &s, &like, &stats), 0);
    assert_int_equal(sum(&s), 100);
    assert_int_equal(s.events.n, 5);
    assert_int_equal(self_of(&g, &s, m), 10);
    assert_int_equal(self_of(&g, &s, a), 20);
    assert_int_equal(self_of(&g, &s, c), 40);
    assert_int_equal(stats.recursed + stats.cut, 0);
    call_graph_release(&g);
    store_release(&s);
}

/* a and b call each other, a itself too: each is once in a stack, below main, and has what it cost. */
static void recursion(void **state)
{
    struct call_graph g = {0};
    struct store s = {0};
    struct call_stats stats;
    uint32_t m = function(&g, &s, "main"), a = function(&g, &s, "a"), b = function(&g, &s, "b");

    call_graph_self(&g, a, 20000);
    call_graph_self(&g, b, 80000);
    call_graph_call(&g, m, a, 100000);
    call_graph_call(&g, a, b, 130000);
    call_graph_call(&g, b, a, 50000);
    call_graph_call(&g, a, a, 12345);
    assert_int_equal(call_graph_samples(&g, &s, &like, &stats), 0);
    assert_int_equal(sum(&s), 100000);
    assert_true(stats.recursed > 0);
    assert_int_equal(self_of(&g, &s, a), 20000);
    assert_int_equal(s.events.n, 2);
    for (uint32_t id = 1; id <= s.stacks.nodes.n; id++) {
        unsigned depth = 0;

        for (uint32_t at = id; at; at = stacks_get(&s.stacks, at)->parent)
            depth++;
        assert_true(depth <= 3);
    }
    call_graph_release(&g);
    store_release(&s);
}

/* "even" and "odd" call each other, what they call is counted for each level; nothing begins but main. */
static void circle_below_main(void **state)
{
    struct call_graph g = {0};
    struct store s = {0};
    struct call_stats stats;
    uint32_t m = function(&g, &s, "main"), even = function(&g, &s, "even"), odd = function(&g, &s, "odd"),
             leaf = function(&g, &s, "leaf"), main_stack, even_stack;

    call_graph_self(&g, m, 10);
    call_graph_self(&g, even, 50);
    call_graph_self(&g, odd, 70);
    call_graph_self(&g, leaf, 80);
    call_graph_call(&g, m, even, 200);
    call_graph_call(&g, even, odd, 190);
    call_graph_call(&g, odd, even, 180);
    call_graph_call(&g, odd, leaf, 80);
    assert_int_equal(call_graph_samples(&g, &s, &like, &stats), 0);
    assert_int_equal(s.events.n, 4);
    assert_int_equal(s.events.a[0].value, 10);
    assert_int_equal(s.events.a[1].value, 50);
    assert_int_equal(s.events.a[2].value, 70);
    assert_int_equal(s.events.a[3].value, 80);
    main_stack = s.events.a[0].stack;
    even_stack = s.events.a[1].stack;
    assert_int_equal(stacks_get(&s.stacks, main_stack)->parent, 0);
    assert_int_equal(stacks_get(&s.stacks, even_stack)->parent, main_stack);
    assert_int_equal(stacks_get(&s.stacks, s.events.a[2].stack)->parent, even_stack);
    assert_int_equal(stacks_get(&s.stacks, s.events.a[3].stack)->parent, s.events.a[2].stack);
    call_graph_release(&g);
    store_release(&s);
}

/* Deeper than stacks are made: nothing is lost. */
static void a_long_chain(void **state)
{
    struct call_graph g = {0};
    struct store s = {0};
    struct call_stats stats;
    char name[16];

    for (uint32_t i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "f%u", i);
        call_graph_self(&g, function(&g, &s, name), 3);
        if (i)
            call_graph_call(&g, i - 1, i, (2000 - i) * 3);
    }
    assert_int_equal(call_graph_samples(&g, &s, &like, &stats), 0);
    assert_int_equal(sum(&s), 6000);
    assert_int_equal(self_of(&g, &s, 1999), 3);
    call_graph_release(&g);
    store_release(&s);
}

/* Graphs that make no sense, too: nothing is lost or made up, and it ends. */
static void any_graph(void **state)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct call_graph g = {0};
        struct store s = {0};
        struct call_stats stats;
        uint64_t own = 0, n = 2 + seed % 12;
        char name[2] = "a";

        for (uint64_t i = 0; i < n; i++, name[0]++) {
            uint64_t cost = hash_u64(seed * 1000 + i) % (i % 3 ? 1000 : 10);

            call_graph_self(&g, function(&g, &s, name), cost);
            own += cost;
        }
        for (uint64_t i = 0; i < 3 * n; i++) {
            uint64_t r = hash_u64(seed * 77777 + i);

            call_graph_call(&g, (uint32_t)(r % n), (uint32_t)((r >> 20) % n), (r >> 40) % 5000);
        }
        assert_int_equal(call_graph_samples(&g, &s, &like, &stats), 0);
        assert_int_equal(sum(&s), own);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(self_of(&g, &s, i), g.functions.a[i].self);
        call_graph_release(&g);
        store_release(&s);
    }
}

static void beyond_64_bits(void **state)
{
    struct call_graph g = {0};
    struct store s = {0};
    struct call_stats stats;
    uint32_t a = function(&g, &s, "a"), b = function(&g, &s, "b");

    assert_int_equal(call_graph_self(&g, a, UINT64_MAX), 0);
    assert_int_equal(call_graph_self(&g, a, 1), -1);
    call_graph_self(&g, b, 5);
    assert_int_equal(call_graph_samples(&g, &s, &like, &stats), -1);
    call_graph_release(&g);
    store_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_callee), cmocka_unit_test(recursion), cmocka_unit_test(circle_below_main),
        cmocka_unit_test(a_long_chain),  cmocka_unit_test(any_graph), cmocka_unit_test(beyond_64_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
