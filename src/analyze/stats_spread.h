/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much rows vary from run to run, where each has but a few runs: told from all rows together.
 *
 * A row's variance in a run is k * samples + c * square: what as many independent samples vary by, times a
 * factor k that all rows have in common (a clock that ticks evenly gives less than 1, bursts give more), and
 * the square c of a coefficient of variation of its own. These coefficients are spread over the rows as a
 * log-normal distribution. Its middle and its width, and k, are not estimated and then taken as known: every
 * combination of a grid weighs as much as it makes the rows' scatter likely (hierarchical Bayes; Gelman and
 * others, Bayesian Data Analysis, chapter 5). What is left of them for a row, with its own runs, is a mixture
 * of normal distributions, and by that it is tested: where few runs tell little its tails are wide.
 */
#ifndef WPROF_ANALYZE_STATS_SPREAD_H
#define WPROF_ANALYZE_STATS_SPREAD_H

#include "analyze/stats_tests.h"

#include <stddef.h>

enum {
    STATS_SPREAD_FACTORS = 17, /* values of k */
    STATS_SPREAD_OWN = 25,     /* of a coefficient of variation */
    STATS_SPREAD_WIDTHS = 4,   /* of the width of their distribution */
    STATS_SPREAD_CELLS = STATS_SPREAD_FACTORS * STATS_SPREAD_OWN,
};

/* One row: `runs` values each. */
struct stats_spread_row {
    const double *distance; /* of each run's value from the mean of its side */
    const double *samples;  /* variance of independent samples; 0 where samples are not what is counted */
    double square;          /* of the value: what c is multiplied with */
};

struct stats_spread {
    size_t runs, sides[2]; /* runs in all; of these the base side has the first sides[0] */
    double likely[STATS_SPREAD_CELLS][STATS_SPREAD_WIDTHS]; /* of k, and the middle; add up to 1 */
};

/* From n rows; sides: how many runs each has, three or more in all. */
void stats_spread_fit(struct stats_spread *s, const struct stats_spread_row *rows, size_t n,
                      const size_t sides[2]);

/* A row's change between the means of the sides. */
struct stats_difference stats_spread_test(const struct stats_spread *s, const struct stats_spread_row *row,
                                          double change, double alpha);

double stats_spread_factor(const struct stats_spread *s); /* the median k */
double stats_spread_own(const struct stats_spread *s);    /* of the middle of the coefficients of variation */

#endif
