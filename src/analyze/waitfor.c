/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/waitfor.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define FILL(v, n, value)                                                                                    \
    do {                                                                                                     \
        vec_reserve(v, n);                                                                                   \
        for (size_t i_ = 0; i_ < (n); i_++)                                                                  \
            (v)->a[i_] = (value);                                                                            \
        (v)->n = (n);                                                                                        \
    } while (0)

/* The cheapest way of every node to one that goes on by itself; `way` is its cost. */
static void find_ways(struct waitfor *w, uint32_t *way)
{
    int changed = 1;

    if (w->cost.n)
        memcpy(way, w->cost.a, w->cost.n * sizeof(*way));
    while (changed) {
        changed = 0;
        for (size_t i = 0; i < w->edges.n; i++) {
            uint32_t from = w->edges.a[i].from, to = w->edges.a[i].to;

            if (way[to] == WAITFOR_BLOCKED || way[to] + 1 >= way[from])
                continue;
            way[from] = way[to] + 1;
            w->next.a[from] = to + 1;
            changed = 1;
        }
    }
}

/* Those without a way wait for any of theirs, all of which are stuck too. */
static void lead_the_stuck(struct waitfor *w, const uint32_t *way)
{
    for (size_t i = 0; i < w->edges.n; i++)
        if (way[w->edges.a[i].from] == WAITFOR_BLOCKED && !w->next.a[w->edges.a[i].from])
            w->next.a[w->edges.a[i].from] = w->edges.a[i].to + 1;
}

/* Follows each node's way once. `seen` holds the number of the walk that came by. */
static void find_circles(struct waitfor *w, uint32_t *seen)
{
    for (uint32_t i = 0; i < w->next.n; i++) {
        uint32_t at = i;

        while (!seen[at]) {
            seen[at] = i + 1;
            if (!w->next.a[at])
                break;
            at = w->next.a[at] - 1;
        }
        if (seen[at] != i + 1 || !w->next.a[at] || w->circle.a[at])
            continue;
        w->circles++;
        for (; !w->circle.a[at]; at = w->next.a[at] - 1)
            w->circle.a[at] = w->circles;
    }
}

static void find_roots(struct waitfor *w)
{
    for (uint32_t i = 0; i < w->next.n; i++) {
        uint32_t at = i;

        while (w->next.a[at] && !w->circle.a[at])
            at = w->next.a[at] - 1;
        w->root.a[i] = w->circle.a[at] ? 0 : at + 1;
    }
}

void waitfor_solve(struct waitfor *w)
{
    size_t n = w->cost.n;
    uint32_t *way = mem_calloc(n, sizeof(*way)), *seen = mem_calloc(n, sizeof(*seen));

    FILL(&w->next, n, 0);
    FILL(&w->root, n, 0);
    FILL(&w->circle, n, 0);
    w->circles = 0;
    find_ways(w, way);
    lead_the_stuck(w, way);
    find_circles(w, seen);
    find_roots(w);
    free(way);
    free(seen);
}

void waitfor_release(struct waitfor *w)
{
    vec_release(&w->cost);
    vec_release(&w->edges);
    vec_release(&w->next);
    vec_release(&w->root);
    vec_release(&w->circle);
}
