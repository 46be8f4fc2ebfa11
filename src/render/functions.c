/* SPDX-License-Identifier: Apache-2.0 */
#include "render/functions.h"

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

void functions_sum(struct functions *f, const struct profile *p, size_t metric)
{
    const struct profile_node *nodes = p->nodes.a;
    const struct profile_metric *m;
    uint32_t *open, i;

    f->n = p->frames.n;
    f->self = mem_calloc(f->n, sizeof(*f->self));
    f->total = mem_calloc(f->n, sizeof(*f->total));
    if (metric >= p->metrics.n || !p->nodes.n)
        return;
    m = &p->metrics.a[metric];
    open = mem_calloc(f->n, sizeof(*open)); /* how often the frame is on the way from the root to here */
    i = nodes[0].child;
    while (i) {
        uint32_t frame = nodes[i].frame;

        fetch(p, m, nodes[i].next);
        f->self[frame] += m->self[i];
        if (!open[frame]++)
            f->total[frame] += m->total[i];
        if (nodes[i].child) {
            i = nodes[i].child;
            continue;
        }
        for (; i; i = nodes[i].parent) {
            open[nodes[i].frame]--;
            if (nodes[i].next)
                break;
        }
        i = i ? nodes[i].next : 0;
    }
    free(open);
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
