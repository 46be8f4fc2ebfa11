/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `wprof diff`. */
#ifndef WPROF_CMD_DIFF_H
#define WPROF_CMD_DIFF_H

#include "analyze/compare.h"
#include "base/err.h"
#include "render/diff.h"

/* git bisect run: 125 is "this one can't be tested", from 128 on it stops. */
enum { DIFF_BISECT_SKIP = 125, DIFF_BISECT_STOP = 128 };

/* diff --topology: writes what differs; gives the exit code. */
struct diff_topology_opts {
    int by_name, json;
    const char *output; /* NULL: stdout */
};
int diff_topology(const char *a, const char *b, const struct diff_topology_opts *o);

/* The paths of a side: sessions, files of folded stacks, and folders whose sessions are all taken. */
struct diff_paths {
    VEC(char *) list;
};

/* Adds what a path is or holds. -1 with `e`: there is nothing to compare. */
int diff_paths_add(struct diff_paths *p, const char *path, struct err *e);
void diff_paths_release(struct diff_paths *p);

/* Reads every path of both sides into the comparison. */
int diff_load(struct compare *c, const struct diff_paths side[COMPARISON_SIDES], struct err *e);

/* The texts of options that comparisons have in common; those that are NULL leave what there is. -1 with `e`:
 * one makes no sense. */
int diff_how(struct compare_opts *how, const char *by, const char *min_share, const char *alpha,
             const char *fail_above, struct err *e);

/* Loads both sides and compares them, for that renderer. */
int diff_compare(struct comparison *out, struct compare_opts *how,
                 const struct diff_paths side[COMPARISON_SIDES], const struct diff_renderer *r,
                 struct err *e);

struct diff_product {
    const struct diff_renderer *renderer;
    const char *output; /* a file; NULL: stdout */
    struct diff_style style;
};

/* Puts it out, and the verdict as the last line that is said. */
int diff_put(const struct diff_product *p, const struct comparison *c, struct err *e);

/* The exit code of a verdict. */
int diff_code(const struct comparison *c, int bisect);

#endif
