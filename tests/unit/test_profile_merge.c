/* SPDX-License-Identifier: Apache-2.0 */
/* One profile out of two: equal stacks become one, every metric keeps its sums. */
#include "fake_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void folded(const struct profile *p, size_t metric, const char *expected)
{
    struct buf out = {0};

    profile_folded(p, metric, &out);
    assert_string_equal(buf_str(&out), expected);
    buf_release(&out);
}

/* Totals are the sums of selfs below, in every metric; children are linked to their parents. */
static void is_sound(const struct profile *p)
{
    uint64_t *sum = mem_calloc(p->nodes.n, sizeof(*sum));
    size_t linked = 0;

    for (size_t m = 0; m < p->metrics.n; m++) {
        memset(sum, 0, p->nodes.n * sizeof(*sum));
        for (size_t i = p->nodes.n; i-- > 0;) {
            sum[i] += p->metrics.a[m].self[i];
            assert_int_equal(p->metrics.a[m].total[i], sum[i]);
            if (i)
                sum[p->nodes.a[i].parent] += sum[i];
        }
        assert_int_equal(p->metrics.a[m].sum, sum[0]);
    }
    for (size_t i = 0; i < p->nodes.n; i++)
        for (uint32_t c = p->nodes.a[i].child; c; c = p->nodes.a[c].next, linked++)
            assert_int_equal(p->nodes.a[c].parent, i);
    assert_int_equal(linked, p->nodes.n - 1);
    free(sum);
}

static void equal_stacks_are_one(void **state)
{
    struct fake cpu, off;

    fake_init(&cpu, "oncpu", "samples");
    fake_stack(&cpu, "t:python;p:main;n:work", 5);
    fake_stack(&cpu, "t:python;p:main", 2);
    fake_finish(&cpu);
    fake_init(&off, "offcpu", "ns");
    fake_stack(&off, "t:idle;n:poll", 700); /* other names first: indexes differ */
    fake_stack(&off, "t:python;p:main;n:work", 30);
    fake_stack(&off, "t:python;p:main;k:work", 4); /* another kind is another frame */
    fake_finish(&off);

    profile_merge(&cpu.p, &off.p);
    assert_int_equal(cpu.p.metrics.n, 2);
    assert_string_equal(cpu.p.metrics.a[1].name, "offcpu");
    assert_string_equal(cpu.p.metrics.a[1].unit, "ns");
    folded(&cpu.p, 0, "python;main (train.py:12) 2\npython;main (train.py:12);work 5\n");
    folded(&cpu.p, 1, "idle;poll 700\npython;main (train.py:12);work 34\n");
    assert_int_equal(cpu.p.nodes.n, 7); /* the root; python main work work; idle poll */
    is_sound(&cpu.p);
    folded(&off.p, 0, "idle;poll 700\npython;main (train.py:12);work 34\n");
    fake_release(&cpu);
    fake_release(&off);
}

static void samples_are_in_order(void **state)
{
    struct fake cpu, off;

    fake_init(&cpu, "oncpu", "samples");
    fake_sample(&cpu, 10, "t:a;n:x", 1);
    fake_sample(&cpu, 30, "t:a;n:x", 1);
    fake_finish(&cpu);
    fake_init(&off, "offcpu", "ns");
    fake_sample(&off, 20, "t:a;n:y", 9);
    fake_sample(&off, 30, "t:a;n:x", 8);
    fake_finish(&off);

    profile_merge(&cpu.p, &off.p);
    assert_int_equal(cpu.p.samples.n, 4);
    for (size_t i = 0; i < 4; i++) {
        static const struct {
            uint64_t ts, value;
            uint32_t metric;
        } expected[] = {{10, 1, 0}, {20, 9, 1}, {30, 1, 0}, {30, 8, 1}};
        const struct profile_sample *s = &cpu.p.samples.a[i];

        assert_int_equal(s->ts, expected[i].ts);
        assert_int_equal(s->value, expected[i].value);
        assert_int_equal(s->metric, expected[i].metric);
    }
    assert_int_equal(cpu.p.samples.a[3].node, cpu.p.samples.a[0].node);
    is_sound(&cpu.p);
    fake_release(&cpu);
    fake_release(&off);
}

static void into_an_empty_one(void **state)
{
    struct fake cpu, off;

    fake_init(&cpu, "oncpu", "samples");
    fake_finish(&cpu);
    fake_init(&off, "offcpu", "ns");
    fake_stack(&off, "t:a;n:y", 9);
    fake_finish(&off);
    profile_merge(&cpu.p, &off.p);
    folded(&cpu.p, 0, "");
    folded(&cpu.p, 1, "a;y 9\n");
    is_sound(&cpu.p);
    fake_release(&cpu);
    fake_release(&off);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stacks_are_one),
        cmocka_unit_test(samples_are_in_order),
        cmocka_unit_test(into_an_empty_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
