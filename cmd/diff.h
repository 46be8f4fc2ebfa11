/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `wprof diff`. */
#ifndef WPROF_CMD_DIFF_H
#define WPROF_CMD_DIFF_H

#include "analyze/compare.h"
#include "base/err.h"

/* diff --topology: prints what differs; gives the exit code. */
int diff_topology(const char *a, const char *b, int by_name, int json);

/* The paths of a side: sessions, files of folded stacks, and folders whose sessions are all taken. */
struct diff_paths {
    VEC(char *) list;
};

/* Adds what a path is or holds. -1 with `e`: there is nothing to compare. */
int diff_paths_add(struct diff_paths *p, const char *path, struct err *e);
void diff_paths_release(struct diff_paths *p);

/* Reads every path of both sides into the comparison. */
int diff_load(struct compare *c, const struct diff_paths side[COMPARISON_SIDES], struct err *e);

#endif
