/* SPDX-License-Identifier: Apache-2.0 */
/* Against values of printed tables and closed forms, and against chance with a fixed seed. */
#include "random.h"

#include "analyze/stats_spread.h"
#include "analyze/stats_step.h"
#include "analyze/stats_tests.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
// clang-format off
#include <cmocka.h>
// clang-format on

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static void distributions(void **state)
{
    assert_near(stats_beta(2, 3, 0.5), 0.6875, 1e-12); /* 11/16 */
    assert_near(stats_beta(1, 1, 0.3), 0.3, 1e-12);
    assert_near(stats_beta(50, 0.5, 0.9), 1 - stats_beta(0.5, 50, 0.1), 1e-12);
    /* The t table: two-sided 5 % and 1 %. */
    assert_near(stats_t_tails(12.706205, 1), 0.05, 1e-7);
    assert_near(stats_t_tails(2.776445, 4), 0.05, 1e-7);
    assert_near(stats_t_tails(-4.604095, 4), 0.01, 1e-7);
    assert_near(stats_t_tails(2.878440, 18), 0.01, 1e-7);
    assert_near(stats_t_tails(1.959964, INFINITY), 0.05, 1e-7);
    assert_near(stats_t_tails(1, 1), 0.5, 1e-12); /* Cauchy's quartile */
    assert_true(stats_t_tails(INFINITY, 4) == 0 && stats_t_tails(NAN, 4) == 1 && stats_t_tails(0, 4) == 1);
    assert_near(stats_t_quantile(0.01, 4), 4.604095, 1e-5);
    assert_near(stats_t_quantile(0.05, INFINITY), 1.959964, 1e-5);
    assert_true(stats_choose(20, 10) == 184756 && stats_choose(6, 3) == 20 && stats_choose(5, 0) == 1);
}

static void two_groups(void **state)
{
    static const double a[] = {1, 2, 3}, b[] = {4, 5, 6}, same[] = {2, 2, 2}, other[] = {5, 5, 5};
    struct stats_difference d = stats_two_sided(a, 3, b, 3, 0.05);

    assert_near(d.change, 3, 1e-12);
    assert_near(d.p, 0.0213, 1e-4); /* t = 3.674 with 4 degrees of freedom */
    assert_near(d.low, 3 - 2.776445 * sqrt(2.0 / 3), 1e-5);
    assert_near(d.high, 3 + 2.776445 * sqrt(2.0 / 3), 1e-5);
    assert_true(stats_two_sided(same, 3, same, 3, 0.05).p == 1);
    assert_near(stats_two_sided(same, 3, other, 3, 0.05).p, 0.1, 1e-12); /* 2 of 20 ways */
    assert_true(stats_two_sided(a, 1, b, 1, 0.05).p == 1);               /* nothing to compare with */
    assert_near(stats_permutation(a, 3, b, 3), 0.1, 1e-12);
    assert_near(stats_permutation(a, 3, a, 3), 1, 1e-12);
    assert_false(stats_can_permute(4, 4, 1, 0.01)); /* 70 ways */
    assert_true(stats_can_permute(5, 5, 1, 0.01));  /* 252 */
    assert_false(stats_can_permute(5, 5, 2, 0.01));
}

/* By chance where there are too many ways: near what the t test says of normal values. */
static void permutation_by_chance(void **state)
{
    struct stats_random r = {7};
    double a[10], b[10];

    for (int i = 0; i < 10; i++) {
        a[i] = random_normal(&r);
        b[i] = 1 + random_normal(&r);
    }
    assert_near(stats_permutation(a, 10, b, 10), stats_two_sided(a, 10, b, 10, 0.05).p, 0.01);
}

static void discoveries(void **state)
{
    static const double p[] = {0.04, 0.001, 0.03, 0.5}, weight[] = {4, 1, 1, 2};
    double q[4];

    stats_discoveries(p, NULL, q, 4);
    assert_near(q[1], 0.004, 1e-12);
    assert_near(q[2], 0.04 * 4 / 3, 1e-12); /* no more than that of the next one */
    assert_near(q[0], 0.04 * 4 / 3, 1e-12);
    assert_near(q[3], 0.5, 1e-12);
    stats_discoveries(p, weight, q, 4); /* p by weight: 0.02, 0.002, 0.06, 1 */
    assert_near(q[1], 0.008, 1e-12);
    assert_near(q[0], 0.04, 1e-12);
    assert_near(q[2], 0.08, 1e-12);
}

enum { RUNS = 6, ROWS = 40 };

/* Rows of equal programs: values around 1, three runs a side, that vary by `factor` times the variance
 * `samples` and by a coefficient of variation of their own. */
struct scatter {
    double distance[ROWS][RUNS], samples[ROWS][RUNS];
    struct stats_spread_row rows[ROWS];
};

static void scatter(struct scatter *s, double samples, double factor, double own, uint64_t seed)
{
    struct stats_random random = {seed};

    for (int i = 0; i < ROWS; i++) {
        double v[RUNS], mean[2] = {0, 0};

        for (int r = 0; r < RUNS; r++) {
            v[r] = sqrt(factor * samples + own * own) * random_normal(&random);
            mean[r / 3] += v[r] / 3;
        }
        for (int r = 0; r < RUNS; r++) {
            s->distance[i][r] = v[r] - mean[r / 3];
            s->samples[i][r] = samples;
        }
        s->rows[i] =
            (struct stats_spread_row){.distance = s->distance[i], .samples = s->samples[i], .square = 1};
    }
}

static const size_t three[2] = {3, 3};

/* The factor and the coefficient that rows were made with are found again. */
static void spread_is_found(void **state)
{
    static struct scatter s;
    struct stats_spread found;

    scatter(&s, 1e-4, 1, 0, 1); /* as samples do */
    stats_spread_fit(&found, s.rows, ROWS, three);
    assert_near(stats_spread_factor(&found), 1, 0.16);
    assert_true(stats_spread_own(&found) < 0.006);
    scatter(&s, 1e-4, 0.1, 0, 2); /* a clock that ticks evenly */
    stats_spread_fit(&found, s.rows, ROWS, three);
    assert_near(stats_spread_factor(&found), 0.1, 0.06);
    scatter(&s, 1e-6, 1, 0.03, 3); /* many samples: what is left is the rows' own */
    stats_spread_fit(&found, s.rows, ROWS, three);
    assert_near(stats_spread_own(&found), 0.03, 0.007);
}

/* Many rows that vary alike tell nearly as much as if it were known; one row alone no more than its t test.
 */
static void spread_of_a_row(void **state)
{
    static struct scatter s;
    double error = 0.01 * sqrt(2.0 / 3), squares = 0;
    struct stats_spread found;
    struct stats_difference d;

    scatter(&s, 1e-4, 1, 0, 4);
    stats_spread_fit(&found, s.rows, ROWS, three);
    d = stats_spread_test(&found, &s.rows[0], 5 * error, 0.01);
    assert_true(d.p < 1e-3 && d.low > 0);
    assert_near(d.high - d.low, 2 * 2.576 * error, error);
    d = stats_spread_test(&found, &s.rows[0], 0, 0.01);
    assert_true(d.p == 1 && d.low < 0 && d.high > 0);
    scatter(&s, 0, 1, 0.02, 5); /* time: nothing is known but what the runs tell */
    stats_spread_fit(&found, s.rows, 1, three);
    for (int r = 0; r < RUNS; r++)
        squares += s.distance[0][r] * s.distance[0][r];
    error = sqrt(squares / 4 * 2 / 3);
    d = stats_spread_test(&found, &s.rows[0], 4.604095 * error, 0.01);
    assert_in_range(d.p * 1e5, 200, 3000); /* Student's would be 0.01 */
}

/* What does not vary at all and was not sampled says nothing but that. */
static void spread_of_nothing(void **state)
{
    static const double zero[RUNS];
    struct stats_spread_row row = {.distance = zero, .samples = zero, .square = 0};
    struct stats_spread found;

    stats_spread_fit(&found, &row, 1, three);
    assert_true(stats_spread_test(&found, &row, 0, 0.01).p == 1);
    stats_spread_fit(&found, &row, 0, three);
    assert_true(stats_spread_factor(&found) == 1);
}

/* Independent blocks: the error of their mean. Each twice, side by side, in blocks of two: the same. */
static void blocks(void **state)
{
    enum { N = 400 };
    struct stats_random r = {5};
    double x[2][N], error[2];

    for (int i = 0; i < N; i++) {
        x[0][i] = random_normal(&r);
        x[1][i] = 3;
    }
    stats_block_errors(x[0], NULL, 2, N, error);
    assert_near(error[0], 1 / sqrt(N), 0.1 / sqrt(N));
    assert_true(error[1] < 1e-6);
}

static void step(void **state)
{
    static const double x[] = {10, 10.1, 9.9, 10, 12, 12.1, 11.9, 12.05}, flat[] = {1, 2, 1, 2, 1, 2, 1, 2};
    static const size_t group[] = {0, 0, 1, 1, 2, 2, 3, 3};
    struct stats_step s;

    assert_true(stats_step_find(&s, x, group, 8));
    assert_int_equal(s.at, 2);
    assert_near(s.before, 10, 1e-9);
    assert_near(s.after, 12.0125, 1e-9);
    assert_true(s.p < 1e-4);
    assert_true(stats_step_find(&s, flat, group, 8) && s.p > 0.5);
    assert_false(stats_step_find(&s, x, (const size_t[]){0, 0, 0, 0}, 4));
    assert_false(stats_step_find(&s, x, group, 3));
}

static void chance(void **state)
{
    static const double means[] = {0.5, 30, 700, 20000};

    for (size_t k = 0; k < ARRAY_SIZE(means); k++) {
        struct stats_random r = {11};
        double x[4000], mean, var;

        for (size_t i = 0; i < ARRAY_SIZE(x); i++)
            x[i] = (double)random_poisson(&r, means[k]);
        mean = stats_mean(x, ARRAY_SIZE(x));
        var = stats_squares(x, ARRAY_SIZE(x), mean) / (double)(ARRAY_SIZE(x) - 1);
        assert_near(mean / means[k], 1, 0.05);
        assert_near(var / means[k], 1, 0.1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distributions),
        cmocka_unit_test(two_groups),
        cmocka_unit_test(permutation_by_chance),
        cmocka_unit_test(discoveries),
        cmocka_unit_test(spread_is_found),
        cmocka_unit_test(spread_of_a_row),
        cmocka_unit_test(spread_of_nothing),
        cmocka_unit_test(blocks),
        cmocka_unit_test(chance),
        cmocka_unit_test(step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
