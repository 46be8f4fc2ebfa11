/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two groups of runs differ, by more than runs of one program do. */
#ifndef WPROF_ANALYZE_STATS_TESTS_H
#define WPROF_ANALYZE_STATS_TESTS_H

#include <stddef.h>
#include <stdint.h>

/* A difference and how sure it is. */
struct stats_difference {
    double change;    /* second - first */
    double low, high; /* confidence interval at 1 - alpha */
    double p;         /* both sides; 1 where nothing can be told */
};

/* From the standard error. error 0 tells nothing, unless the change is 0. */
struct stats_difference stats_difference(double change, double error, double df, double alpha);

/* Student's test with a common variance; n values a side, at least three in all. Without any spread on either
 * side p is what the order of the runs alone gives: 2 / C(na + nb, na). */
struct stats_difference stats_two_sided(const double *a, size_t na, const double *b, size_t nb, double alpha);

/*
 * Exchanging runs between the sides in all ways (above 200,000 ways: in that many by chance, the same for a
 * seed): the share of them in which the means differ as much as they do. The least it can give is 2 / C(na +
 * nb, na) for sides of one size, so it is of use where stats_can_permute().
 */
double stats_permutation(const double *a, size_t na, const double *b, size_t nb);

/* Whether C(na + nb, na) >= 2 * tests / alpha: a permutation can be significant among so many tests. */
int stats_can_permute(size_t na, size_t nb, size_t tests, double alpha);

/*
 * Benjamini, Hochberg, Journal of the Royal Statistical Society B 57(1), 1995: q[i] is the least false
 * discovery rate at which test i is a discovery. With weights (NULL: all the same) p[i] counts as p[i] by its
 * weight in their mean: Genovese, Roeder, Wasserman, Biometrika 93(3), 2006; they must not be chosen by p. p
 * and q may be one array.
 */
void stats_discoveries(const double *p, const double *weight, double *q, size_t n);

/*
 * Variances of means over blocks of time by resampling whole blocks: what happens in one moment resembles the
 * next. value: rows by blocks (row * nblocks + block); weight: of each block, NULL: 1. error[row] gets the
 * standard error of sum(value) / sum(weight).
 */
void stats_block_errors(const double *value, const double *weight, size_t rows, size_t nblocks,
                        double *error);

#endif
