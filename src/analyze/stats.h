/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions and sums that the tests of a comparison are made of. Nothing here knows what is measured. */
#ifndef WPROF_ANALYZE_STATS_H
#define WPROF_ANALYZE_STATS_H

#include <stddef.h>
#include <stdint.h>

/* The regularized incomplete beta function I_x(a, b), a and b > 0, x in 0..1 (DLMF 8.17; its continued
 * fraction is 8.17.22). */
double stats_beta(double a, double b, double x);

/* Student's t with df degrees of freedom; df INFINITY is the normal distribution. Both tails: P(|T| >= |t|).
 */
double stats_t_tails(double t, double df);

/* The t that leaves `tails` in both tails together: stats_t_tails(t, df) == tails; 0 < tails <= 1. */
double stats_t_quantile(double tails, double df);

double stats_mean(const double *x, size_t n);                 /* 0 of none */
double stats_squares(const double *x, size_t n, double mean); /* sum of squared distances */
double stats_choose(unsigned n, unsigned k);                  /* n over k */

/* A small generator with a state of its own: the same seed gives the same numbers everywhere. */
struct stats_random {
    uint64_t state;
};

uint64_t stats_random(struct stats_random *r);
size_t stats_random_below(struct stats_random *r, size_t n);

#endif
