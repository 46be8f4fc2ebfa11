/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers by chance, of known distributions, for runs of made-up programs. */
#ifndef WPROF_TESTS_RANDOM_H
#define WPROF_TESTS_RANDOM_H

#include "analyze/stats.h"

#include <math.h>

/* [0, 1) */
static inline double random_unit(struct stats_random *r)
{
    return (double)(stats_random(r) >> 11) * 0x1p-53;
}

/* Box and Muller. */
static inline double random_normal(struct stats_random *r)
{
    double u = random_unit(r), v = random_unit(r);

    return sqrt(-2 * log1p(-u)) * cos(2 * M_PI * v);
}

/* By products of uniform numbers, in parts whose mean exp() can bear. */
static inline uint64_t random_poisson(struct stats_random *r, double mean)
{
    uint64_t n = 0;

    if (mean > 1e4) { /* the normal distribution is within a percent of a standard deviation there */
        double x = round(mean + sqrt(mean) * random_normal(r));

        return x > 0 ? (uint64_t)x : 0;
    }
    while (mean > 0) {
        double part = mean > 500 ? 500 : mean, limit = exp(-part), product = random_unit(r);

        for (; product > limit; n++)
            product *= random_unit(r);
        mean -= part;
    }
    return n;
}

#endif
