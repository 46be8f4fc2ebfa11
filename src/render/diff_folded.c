/* SPDX-License-Identifier: Apache-2.0 */
/* "a;b;c 12 15": a line a stack, its value on the base side, on the new side. The base side's are scaled to
 * what the new side's are of, so that equal programs have equal columns. */
#include "render/diff.h"

static int render(const struct comparison *c, const struct diff_style *style, struct buf *out, struct err *e)
{
    double scale =
        c->side[COMPARISON_BASE].per > 0 ? c->side[COMPARISON_NEW].per / c->side[COMPARISON_BASE].per : 1;

    return profile_folded_pair(&c->tree, c->tree.metrics.a[COMPARISON_BASE].self, scale,
                               c->tree.metrics.a[COMPARISON_NEW].self, style->two_column, style->sink, out,
                               e);
}

const struct diff_renderer diff_folded = {
    .name = "folded",
    .summary = "stacks with both values, as difffolded.pl writes them",
    .wants_tree = 1,
    .tree_alone = 1,
    .self_alone = 1,
    .render = render,
};
