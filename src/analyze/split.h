/* SPDX-License-Identifier: Apache-2.0 */
/* A session's events by the unit in which they happened: --split. */
#ifndef WPROF_ANALYZE_SPLIT_H
#define WPROF_ANALYZE_SPLIT_H

#include "analyze/units.h"

struct split {
    VEC(uint32_t) units; /* one for each event of the session: a string of its store */
};

/*
 * Replaces the session's events by their parts in each unit of the kind (as cut.h has it, whose units count
 * for which process), and in "[outside]". What happens in several is in each of them. kind NULL: nothing is
 * done. -1 with `e`: no such units. Release `x` in any case.
 */
int split_apply(struct split *x, struct session *s, const char *kind, struct err *e);
void split_release(struct split *x);

#endif
