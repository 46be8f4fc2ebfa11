/* SPDX-License-Identifier: Apache-2.0 */
/* Against values of printed tables and closed forms, and against chance with a fixed seed. */
#include "analyze/stats.h"
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
    assert_near(stats_digamma(1), -0.5772156649015329, 1e-12);
    assert_near(stats_digamma(0.5), -1.9635100260214235, 1e-12);
    assert_near(stats_trigamma(1), M_PI * M_PI / 6, 1e-12);
    assert_near(stats_trigamma(0.5), M_PI * M_PI / 2, 1e-10);
    assert_near(stats_trigamma_inverse(stats_trigamma(3.7)), 3.7, 1e-9);
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
        a[i] = stats_random_normal(&r);
        b[i] = 1 + stats_random_normal(&r);
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

/* Variances that are drawn around 4 with 12 degrees of freedom: both are found again; equal ones have no end
 * of them but for what there are. */
static void prior(void **state)
{
    enum { N = 4000, DF = 4, PRIOR = 12 };
    struct stats_random r = {3};
    struct stats_prior p;
    double *s = mem_calloc(N, sizeof(*s)), df = DF;

    for (int i = 0; i < N; i++) {
        double chi = 0, own = 0;

        for (int k = 0; k < PRIOR; k++)
            chi += pow(stats_random_normal(&r), 2);
        for (int k = 0; k < DF; k++)
            own += pow(stats_random_normal(&r), 2);
        s[i] = 4 * PRIOR / chi * own / DF;
    }
    p = stats_prior_fit(s, N, DF);
    assert_near(p.df, PRIOR, 2);
    assert_near(p.variance, 4, 0.2);
    assert_near(stats_prior_draw(&(struct stats_prior){12, 4}, 8, &df), 5, 1e-12); /* (12 * 4 + 4 * 8) / 16 */
    assert_near(df, 16, 1e-12);
    for (int i = 0; i < 10; i++)
        s[i] = 2;
    p = stats_prior_fit(s, 10, DF);
    assert_near(p.df, 9 * DF, 1e-9);
    assert_true(stats_prior_fit(s, 3, DF).df == 0); /* too few */
    free(s);
}

/* Independent blocks: the error of their mean. Each twice, side by side, in blocks of two: the same. */
static void blocks(void **state)
{
    enum { N = 400 };
    struct stats_random r = {5};
    double x[2][N], error[2];

    for (int i = 0; i < N; i++) {
        x[0][i] = stats_random_normal(&r);
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
            x[i] = (double)stats_random_poisson(&r, means[k]);
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
        cmocka_unit_test(prior),
        cmocka_unit_test(blocks),
        cmocka_unit_test(chance),
        cmocka_unit_test(step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
