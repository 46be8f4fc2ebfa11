/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of simulated runs, whose differences are known; `make bench` does many more of them. Seeds are
 * fixed: what is found is the same each time. */
#include "kernels_simulation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define MODEL .functions = 20, .first = 3000, .speed = 0.02, .alpha = 0.01

/* At alpha 0.01 one pair in a hundred may show something that is not there; the gate wants 5 points besides.
 */
static void equal_programs(void **state)
{
    static const struct simulation several[] = {
        {.runs = 3, .variation = 0.01, MODEL},
        {.runs = 3, .variation = 0.03, .per = "second", MODEL},
        {.runs = 6, .variation = 0.01, MODEL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(several); i++) {
        struct simulation_rates r = simulate(&several[i], 100, i + 1);

        assert_in_range(r.any, 0, 3);
        assert_in_range(r.gates, 0, 1);
        assert_in_range(r.covered, 96, 100);
    }
}

/* Of one run a side the samples of a burst are not independent: blocks of time know it, counts don't. */
static void one_run_in_bursts(void **state)
{
    static const unsigned slices[] = {60, 12}; /* shorter and longer than the shortest blocks */

    for (size_t i = 0; i < ARRAY_SIZE(slices); i++) {
        struct simulation m = {
            .runs = 1, .slices = slices[i], .functions = 20, .first = 300, .speed = 0.02, .alpha = 0.01};
        struct simulation_rates r = simulate(&m, 60, 5);

        assert_in_range(r.any, 0, 2);
        assert_int_equal(r.gates, 0);
    }
}

static void planted_growth(void **state)
{
    static const struct simulation ten = {.runs = 3, .growth = 0.1, .variation = 0.005, MODEL};
    static const struct simulation three = {.runs = 10,
                                            .growth = 0.03,
                                            .functions = 20,
                                            .first = 6000,
                                            .speed = 0.02,
                                            .variation = 0.005,
                                            .alpha = 0.01};
    struct simulation_rates r = simulate(&ten, 100, 1);

    assert_in_range(r.found, 95, 100);
    assert_in_range(r.covered, 95, 100);
    r = simulate(&three, 50, 1);
    assert_in_range(r.found, 40, 50);
}

/* Kernels of one run a side, by steps that are marked and by those that are not. */
static void kernels_of_one_run(void **state)
{
#define TRACE(STEPS) .steps = STEPS, .kernels = 12, .calls = 6, .variation = 0.05, .alpha = 0.01
    static const struct kernels_simulation equal[] = {{TRACE(6)}, {TRACE(20)}, {TRACE(20), .unmarked = 1}},
                                           slower = {TRACE(60), .growth = 0.1};
    struct simulation_rates r;

    for (size_t i = 0; i < ARRAY_SIZE(equal); i++) {
        r = kernels_simulate(&equal[i], NULL, 40, i + 1);
        assert_in_range(r.any, 0, 1);
        assert_int_equal(r.gates, 0);
    }
    r = kernels_simulate(&slower, NULL, 20, 1);
    assert_in_range(r.found, 19, 20);
}

/* Four steps and few events: nothing tells how they vary, whatever the change is. */
static void too_few_kernels(void **state)
{
    static const struct kernels_simulation few = {
        .steps = 4, .kernels = 5, .calls = 1, .growth = 5, .variation = 0.01, .alpha = 0.01};
    struct compare_opts o = {.alpha = 0.01, .min_share = 0.01, .single = 1};
    struct compare *c = compare_new(&o);
    struct comparison result = {0};
    struct stats_random r = {1};

    for (int side = 0; side < COMPARISON_SIDES; side++) {
        struct session s;

        kernels_run(&s, &few, &r, side ? few.growth : 0);
        assert_int_equal(compare_add(c, side, &s, "few", NULL), 0);
        session_release(&s);
    }
    compare_finish(c, &result, NULL);
    assert_true(result.level[COMPARISON_KERNELS].rows.n > 1);
    for (size_t i = 0; i < result.level[COMPARISON_KERNELS].rows.n; i++)
        assert_true(isnan(result.level[COMPARISON_KERNELS].rows.a[i].value.q));
    assert_non_null(strstr(result.level[COMPARISON_KERNELS].method, "too few"));
    comparison_release(&result);
    compare_free(c);
}

/* A session of so many samples in f() and in something else. */
static void session_of(struct session *s, uint64_t f, uint64_t others, const char *other, uint8_t kind)
{
    const uint8_t kinds[] = {FRAME_NATIVE, kind};
    const char *const names[] = {"f", other};
    uint64_t n[] = {f, others};

    *s = (struct session){0};
    for (int i = 0; i < 2; i++) {
        struct frame frame = {.kind = kinds[i], .func = strtab_add(&s->store.strings, names[i])};

        simulation_sample(s, stacks_push(&s->store.stacks, 0, frames_add(&s->store.frames, &frame)), 0, n[i]);
    }
}

/* What one side does not see is no gain: f() fell by half. */
static void half_unseen(void **state)
{
    static const uint64_t unseen[][2] = {{0, 500}, {500, 500}};
    static const enum comparison_verdict verdicts[] = {COMPARISON_NO_JUDGEMENT, COMPARISON_PASSES};

    for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
        struct compare_opts o = {.alpha = 0.01, .min_share = 0.01, .fail_above = 0.05, .single = 1};
        struct compare *c = compare_new(&o);
        struct comparison result = {0};

        for (int side = 0; side < COMPARISON_SIDES; side++) {
            struct session s;

            session_of(&s, 1000 - unseen[i][side], unseen[i][side], "[native, not seen]", FRAME_MARKER);
            assert_int_equal(compare_add(c, side, &s, "seen", NULL), 0);
            session_release(&s);
        }
        compare_finish(c, &result, NULL);
        assert_int_equal(result.verdict, verdicts[i]);
        comparison_release(&result);
        compare_free(c);
    }
}

/* Of 12 steps the 95th percentile is the longest, as `show --units` has it: rank 12 of ceil(0.95 * 12). */
static void steps_by_nearest_rank(void **state)
{
    struct compare_opts o = {.alpha = 0.01, .min_share = 0.01, .single = 1};
    struct compare *c = compare_new(&o);
    struct comparison result = {0};
    int found = 0;

    for (int side = 0; side < COMPARISON_SIDES; side++) {
        struct session s = {0};

        for (unsigned i = 0; i < 12; i++)
            kernels_mark(&s, i, 1000000 * i, 1000000 * i + 1000 * (i + 1));
        assert_int_equal(compare_add(c, side, &s, "steps", NULL), 0);
        session_release(&s);
    }
    compare_finish(c, &result, NULL);
    for (size_t i = 0; i < result.figures.n; i++)
        if (!strcmp(result.figures.a[i].name, "step, p95")) {
            assert_int_equal((int)result.figures.a[i].value.base, 12000);
            found = 1;
        }
    assert_true(found);
    comparison_release(&result);
    compare_free(c);
}

/* Three runs a side of f() and g(), n samples each in all, whose CPU time grew by a fifth. */
static char *cpu_grew(const uint64_t f[COMPARISON_SIDES], uint64_t n)
{
    struct compare_opts o = {.alpha = 0.01, .min_share = 0.01, .fail_above = 0.05};
    struct compare *c = compare_new(&o);
    struct comparison result = {0};
    char *because;

    for (unsigned i = 0; i < 6; i++) {
        struct task task = {.pid = 1, .tid = 1, .cpu_ns = (i % 2 ? 120000000 : 100000000) + i / 2 * 1000000};
        struct session s;

        session_of(&s, f[i % 2] + i / 2, n - f[i % 2] - i / 2, "g", FRAME_NATIVE);
        tasks_add(&s.store.tasks, &task);
        assert_int_equal(compare_add(c, i % 2 ? COMPARISON_NEW : COMPARISON_BASE, &s, "run", NULL), 0);
        session_release(&s);
    }
    compare_finish(c, &result, NULL);
    assert_int_equal(result.verdict, COMPARISON_FAILS);
    because = mem_strdup(result.because);
    comparison_release(&result);
    compare_free(c);
    return because;
}

static void which_function_it_was(void **state)
{
    char *few = cpu_grew((const uint64_t[]){14, 15}, 30),
         *enough = cpu_grew((const uint64_t[]){13999, 14899}, 30000);

    assert_non_null(strstr(few, "CPU: +19."));
    assert_non_null(strstr(few, "; which function: not enough samples, 90 and 90: more runs"));
    assert_non_null(strstr(enough, "; which function: most did f: +3.00 percentage points"));
    free(few);
    free(enough);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_programs),        cmocka_unit_test(one_run_in_bursts),
        cmocka_unit_test(planted_growth),        cmocka_unit_test(kernels_of_one_run),
        cmocka_unit_test(too_few_kernels),       cmocka_unit_test(half_unseen),
        cmocka_unit_test(steps_by_nearest_rank), cmocka_unit_test(which_function_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
