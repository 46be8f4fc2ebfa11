/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the comparison view: runs of one program beside runs of another.
 *
 *     struct compare *c = compare_new(&opts);
 *     compare_add(c, COMPARISON_BASE, &session, path, e) ...    one session after the other
 *     compare_finish(c, &comparison, e);
 *     compare_free(c);
 *
 * With several runs on both sides rows are tested by how much runs differ among each other: what is counted
 * varies as so many samples do, and each row besides by a share of its own; how much, is told from all rows
 * together (stats_spread.h). With one run a side it is resampled in blocks of time, which can't tell how runs
 * differ.
 */
#ifndef WPROF_ANALYZE_COMPARE_H
#define WPROF_ANALYZE_COMPARE_H

#include "base/err.h"
#include "model/comparison.h"
#include "model/session.h"

struct compare_opts {
    const char *metric;       /* as fold's; NULL: oncpu */
    const char *per;          /* "sample", "second", a kind of marks ("step"), or a number; NULL: sample */
    const char *only;         /* glob: rows and figures of other names are not tested; NULL: all are */
    enum comparison_level by; /* the level that the gate looks at */
    int self;                 /* rows by self; else by total */
    int tree;                 /* also compare stacks, and fill in the tree */
    int tree_alone;           /* that alone: nothing is tested */
    int self_alone;           /* and of that no totals, nor which children a node has in what order */
    int single;               /* one run on each side: samples are kept by their times */
    double alpha, min_share, fail_above;
};

struct compare;

struct compare *compare_new(const struct compare_opts *o);
void compare_free(struct compare *c);

/* Takes from a session what is compared; it may be released then. label: for people. -1 with `e`: it has no
 * such metric, or nothing to count by. */
int compare_add(struct compare *c, int side, const struct session *s, const char *label, struct err *e);

/* The same of a session that has stacks and their counts alone, which may be very many: what its store holds
 * is freed as soon as it is not needed any more. */
int compare_add_stacks(struct compare *c, int side, struct session *s, const char *label, struct err *e);

/* `out` is zeroed by the caller and released with comparison_release(). -1 with `e`: a side has no run. */
int compare_finish(struct compare *c, struct comparison *out, struct err *e);

#endif
