/* SPDX-License-Identifier: Apache-2.0 */
#include "model/functions.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void functions_release(struct functions *f)
{
    free(f->self);
    free(f->total);
    *f = (struct functions){0};
}

/* A profile may have tens of millions of nodes, and siblings lie far apart in memory: fetching the next one
 * while this one's children are walked hides most of the wait. */
static void fetch(const struct profile *p, const struct profile_metric *m, uint32_t node)
{
    __builtin_prefetch(&p->nodes.a[node]);
    __builtin_prefetch(&m->self[node]);
    __builtin_prefetch(&m->total[node]);
}

void functions_sum_groups(struct functions *f, const struct profile *p, size_t metric, const uint32_t *of,
                          size_t n)
{
    const struct profile_node *nodes = p->nodes.a;
    const struct profile_metric *m;
    uint32_t *open, i;

    f->n = n;
    f->self = mem_calloc(f->n, sizeof(*f->self));
    f->total = mem_calloc(f->n, sizeof(*f->total));
    if (metric >= p->metrics.n || !p->nodes.n)
        return;
    m = &p->metrics.a[metric];
    open = mem_calloc(f->n, sizeof(*open)); /* how often the group is on the way from the root to here */
    i = nodes[0].child;
    while (i) {
        uint32_t group = of[nodes[i].frame];

        fetch(p, m, nodes[i].next);
        f->self[group] += m->self[i];
        if (!open[group]++)
            f->total[group] += m->total[i];
        if (nodes[i].child) {
            i = nodes[i].child;
            continue;
        }
        for (; i; i = nodes[i].parent) {
            open[of[nodes[i].frame]]--;
            if (nodes[i].next)
                break;
        }
        i = i ? nodes[i].next : 0;
    }
    free(open);
}

void functions_sum(struct functions *f, const struct profile *p, size_t metric)
{
    uint32_t *of = mem_alloc(p->frames.n * sizeof(*of));

    for (size_t i = 0; i < p->frames.n; i++)
        of[i] = (uint32_t)i;
    functions_sum_groups(f, p, metric, of, p->frames.n);
    free(of);
}

/* `max` is small: insertion into the sorted list. */
size_t functions_top(const struct functions *f, uint32_t *out, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++) {
        size_t at = n;

        if (!f->self[i])
            continue;
        while (at && f->self[out[at - 1]] < f->self[i])
            at--;
        if (at == max)
            continue;
        if (n < max)
            n++;
        memmove(&out[at + 1], &out[at], (n - at - 1) * sizeof(*out));
        out[at] = (uint32_t)i;
    }
    return n;
}
