/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/stats.h"

#include "base/hash.h"

#include <math.h>

/* ---- distributions ---- */

/* The continued fraction by Lentz's method: quick where x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1), f;

    d = 1 / (fabs(d) < tiny ? tiny : d);
    f = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step;

        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        f *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        step = d * c;
        f *= step;
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return f;
}

double stats_beta(double a, double b, double x)
{
    double front;
    int sign;

    if (x <= 0 || x >= 1)
        return x > 0;
    front =
        exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_t_tails(double t, double df)
{
    if (isnan(t))
        return 1;
    if (isinf(t))
        return 0;
    if (df > 1e6) /* differs from the normal distribution by less than a millionth */
        return erfc(fabs(t) / sqrt(2));
    return stats_beta(df / 2, 0.5, df / (df + t * t));
}

double stats_t_quantile(double tails, double df)
{
    double low = 0, high = 1;

    if (tails >= 1)
        return 0;
    while (stats_t_tails(high, df) > tails && high < 1e12)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double mid = (low + high) / 2;

        if (stats_t_tails(mid, df) > tails)
            low = mid;
        else
            high = mid;
    }
    return (low + high) / 2;
}

/* ---- sums ---- */

double stats_mean(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return n ? sum / (double)n : 0;
}

double stats_squares(const double *x, size_t n, double mean)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

double stats_choose(unsigned n, unsigned k)
{
    double c = 1;

    for (unsigned i = 1; i <= k; i++)
        c = c * (n - k + i) / i;
    return round(c);
}

/* ---- chance ---- */

uint64_t stats_random(struct stats_random *r)
{
    uint64_t x = hash_u64(r->state); /* SplitMix64 */

    r->state += 0x9e3779b97f4a7c15u;
    return x;
}

size_t stats_random_below(struct stats_random *r, size_t n)
{
    return (size_t)(((unsigned __int128)stats_random(r) * n) >> 64);
}
