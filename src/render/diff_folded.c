/* SPDX-License-Identifier: Apache-2.0 */
/* "a;b;c 12 15": a line a stack, its value on the base side, on the new side. The base side's are scaled to
 * what the new side's are of, so that equal programs have equal columns. */
#include "render/diff.h"

#include <stdlib.h>

static uint64_t *scaled(const struct comparison *c)
{
    const struct profile *p = &c->tree;
    double by = c->side[0].per > 0 ? c->side[1].per / c->side[0].per : 1;
    uint64_t *v = mem_alloc((p->nodes.n + 1) * sizeof(*v));

    for (size_t i = 0; i < p->nodes.n; i++)
        v[i] = (uint64_t)((double)p->metrics.a[COMPARISON_BASE].self[i] * by + 0.5);
    return v;
}

static int render(const struct comparison *c, const struct diff_style *style, struct buf *out, struct err *e)
{
    uint64_t *base = scaled(c);
    int rc = profile_folded_pair(&c->tree, base, c->tree.metrics.a[COMPARISON_NEW].self, style->two_column,
                                 style->sink, out, e);

    free(base);
    return rc;
}

const struct diff_renderer diff_folded = {
    .name = "folded",
    .summary = "stacks with both values, as difffolded.pl writes them",
    .wants_tree = 1,
    .render = render,
};
