/* SPDX-License-Identifier: Apache-2.0 */
/* Where a series of measurements changes its level. */
#ifndef WPROF_ANALYZE_STATS_STEP_H
#define WPROF_ANALYZE_STATS_STEP_H

#include <stddef.h>

struct stats_step {
    size_t at; /* the first group of the new level */
    double before, after;
    double p; /* of the best place among all, for each of which it was looked */
};

/*
 * n values in order, group[i] of each, rising from 0: a step lies between groups. The place where a t test of
 * what is before against what is after is surest, its p multiplied by the number of places (Bonferroni). 0:
 * there are fewer than two groups, or four values.
 */
int stats_step_find(struct stats_step *s, const double *value, const size_t *group, size_t n);

#endif
