/* SPDX-License-Identifier: Apache-2.0 */
#include "render/flame.h"

#include "fake_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *name_of(const struct fake *f, const struct flame_box *b)
{
    return b->pruned ? "[pruned]"
                     : strtab_get(&f->p.strings, f->p.frames.a[f->p.nodes.a[b->node].frame].func);
}

/* "name@depth:start+total" of all boxes, in order. */
static void assert_boxes(const struct fake *f, const struct flame *fl, const char *want)
{
    struct buf got = {0};

    for (size_t i = 0; i < fl->boxes.n; i++) {
        const struct flame_box *b = &fl->boxes.a[i];

        buf_addf(&got, "%s%s@%u:%llu+%llu", i ? " " : "", name_of(f, b), b->depth,
                 (unsigned long long)b->start, (unsigned long long)b->total);
    }
    assert_string_equal(buf_str(&got), want);
    buf_release(&got);
}

static void layout(struct flame *fl, const struct profile *p, const struct flame_limits *lim)
{
    struct flame_weights w = flame_metric(p, 0);

    flame_layout(fl, p, &w, lim);
}

static void children_stand_in_the_order_of_names(void **state)
{
    struct flame_limits lim = {0};
    struct flame fl = {0};
    struct fake f;

    fake_init(&f, "oncpu", "samples");
    fake_stack(&f, "t:app;p:main;n:work", 5);
    fake_stack(&f, "t:app;p:main;k:read", 2);
    fake_stack(&f, "t:app;p:main", 1);
    fake_stack(&f, "t:abc", 3);
    fake_finish(&f);
    layout(&fl, &f.p, &lim);
    assert_boxes(&f, &fl, "all@0:0+11 abc@1:0+3 app@1:3+8 main@2:3+8 read@3:3+2 work@3:5+5");
    assert_int_equal(fl.depth, 3);
    assert_int_equal(fl.pruned_nodes, 0);
    assert_int_equal(fl.min_total, 0);
    flame_release(&fl);
    fake_release(&f);
}

static void what_is_too_light_leaves_its_weight(void **state)
{
    struct flame_limits lim = {.min_total = 3};
    struct flame fl = {0};
    struct fake f;

    fake_init(&f, "oncpu", "samples");
    fake_stack(&f, "t:app;n:big", 10);
    fake_stack(&f, "t:app;n:small;n:smaller", 1);
    fake_stack(&f, "t:app;n:small", 1);
    fake_stack(&f, "t:app;n:tiny", 1);
    fake_finish(&f);
    layout(&fl, &f.p, &lim);
    assert_boxes(&f, &fl, "all@0:0+13 app@1:0+13 big@2:0+10 [pruned]@2:10+3");
    assert_int_equal(fl.pruned_nodes, 3);
    assert_int_equal(fl.pruned_weight, 3);
    assert_int_equal(fl.min_total, 3);
    flame_release(&fl);
    fake_release(&f);
}

static uint64_t selfs(const struct flame *fl)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < fl->boxes.n; i++)
        sum += fl->boxes.a[i].self;
    return sum;
}

static void a_limit_of_boxes_cuts_the_lightest_and_deepest(void **state)
{
    struct flame_limits lim = {.max_boxes = 60};
    struct flame fl = {0};
    struct fake f;
    char stack[128];

    fake_init(&f, "oncpu", "samples");
    for (int i = 0; i < 50; i++) {
        snprintf(stack, sizeof(stack), "t:app;n:f%02d;n:g%02d;n:h%02d", i, i, i);
        fake_stack(&f, stack, 1);
    }
    fake_stack(&f, "t:app;n:heavy;n:x;n:y", 100);
    fake_finish(&f);
    layout(&fl, &f.p, &lim);
    /* Root, app, heavy, x, y and the 50 f's at depth 2; each f has a pruned box. */
    assert_int_equal(fl.boxes.n, 5 + 50 + 50);
    assert_int_equal(fl.pruned_nodes, 100);
    assert_int_equal(fl.pruned_weight, 50);
    assert_int_equal(selfs(&fl), 150);
    assert_int_equal(fl.min_total, 2);
    flame_release(&fl);
    fake_release(&f);
}

static void thin_towers_are_cut(void **state)
{
    struct flame_limits lim = {.min_row = 5};
    struct flame fl = {0};
    struct fake f;

    fake_init(&f, "oncpu", "samples");
    fake_stack(&f, "t:app;n:a", 10);
    fake_stack(&f, "t:app;n:b;n:c;n:d", 5);
    fake_stack(&f, "t:app;n:b;n:c;n:d;n:e;n:f", 4);
    fake_finish(&f);
    layout(&fl, &f.p, &lim);
    assert_boxes(&f, &fl, "all@0:0+19 app@1:0+19 a@2:0+10 b@2:10+9 c@3:10+9 d@4:10+9 [pruned]@5:10+4");
    assert_int_equal(fl.last_row, 4);
    flame_release(&fl);
    fake_release(&f);
}

static void large_weights_are_cut_too(void **state)
{
    struct flame_limits lim = {.max_boxes = 100};
    struct flame fl = {0};
    struct fake f;
    char stack[64];

    fake_init(&f, "offcpu", "ns");
    for (int i = 0; i < 1000; i++) {
        snprintf(stack, sizeof(stack), "n:f%d", i);
        fake_stack(&f, stack, 1000000000ull * (unsigned)(i + 1));
    }
    fake_finish(&f);
    layout(&fl, &f.p, &lim);
    assert_true(fl.boxes.n <= 102 && fl.boxes.n > 90);
    assert_true(fl.min_total > 890000000000ull && fl.min_total < 920000000000ull);
    assert_true(selfs(&fl) == f.p.metrics.a[0].sum);
    flame_release(&fl);
    fake_release(&f);
}

static void deep_recursion_is_laid_out(void **state)
{
    struct flame_limits lim = {0};
    struct flame fl = {0};
    struct buf stack = {0};
    struct fake f;

    fake_init(&f, "oncpu", "samples");
    for (int i = 0; i < 2000; i++)
        buf_addstr(&stack, i ? ";n:recurse" : "n:recurse");
    fake_stack(&f, buf_str(&stack), 1);
    fake_finish(&f);
    layout(&fl, &f.p, &lim);
    assert_int_equal(fl.boxes.n, 2001);
    assert_int_equal(fl.depth, 2000);
    flame_release(&fl);
    buf_release(&stack);
    fake_release(&f);
}

static void an_empty_profile_is_a_root(void **state)
{
    struct flame_limits lim = {.min_total = 5, .max_boxes = 5};
    struct profile none = {0};
    struct flame fl = {0};
    struct fake f;

    layout(&fl, &none, &lim);
    assert_int_equal(fl.boxes.n, 1);
    flame_release(&fl);

    fake_init(&f, "oncpu", "samples");
    fake_finish(&f);
    layout(&fl, &f.p, &lim);
    assert_int_equal(fl.boxes.n, 1);
    assert_int_equal(fl.sum, 0);
    flame_release(&fl);
    fake_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_stand_in_the_order_of_names),
        cmocka_unit_test(what_is_too_light_leaves_its_weight),
        cmocka_unit_test(a_limit_of_boxes_cuts_the_lightest_and_deepest),
        cmocka_unit_test(thin_towers_are_cut),
        cmocka_unit_test(large_weights_are_cut_too),
        cmocka_unit_test(deep_recursion_is_laid_out),
        cmocka_unit_test(an_empty_profile_is_a_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
