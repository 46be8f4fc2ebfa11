/* SPDX-License-Identifier: Apache-2.0 */
#include "record/topology_delta.h"

#include "model/graph_ops.h"

#include <string.h>

static void counts_of(const struct graph_edge *e, uint64_t out[4])
{
    out[0] = e->bytes_ab;
    out[1] = e->bytes_ba;
    out[2] = e->messages_ab;
    out[3] = e->messages_ba;
}

static int is_flow(const struct graph_edge *e)
{
    return graph_relation(e->kind)->class == GRAPH_CLASS_FLOW;
}

/* A sum that got smaller is of fewer connections, or of another one: what is left may all be old. */
static void grow(struct delta_edge *d, const uint64_t now[4], int is_first)
{
    for (int i = 0; i < 4; i++) {
        if (d->known && now[i] > d->before[i])
            d->sum[i] += now[i] - d->before[i];
        else if (!d->known && !is_first)
            d->sum[i] += now[i];
        d->before[i] = now[i];
    }
    d->known = 1;
}

void delta_add(struct delta *d, const struct graph *all, const struct graph *look, const uint8_t *fresh)
{
    while (d->edges.n < all->edges.n)
        *vec_push(&d->edges) = (struct delta_edge){0};
    for (size_t i = 0; i < look->edges.n; i++) {
        const struct graph_edge *e = look->edges.a[i], *in;
        uint64_t now[4];

        if (!is_flow(e))
            continue;
        in = graph_edge_in(all, e);
        if (!in)
            continue;
        counts_of(in, now);
        grow(&d->edges.a[in->index], now, d->looks == 0 && !fresh[e->a->index] && !fresh[e->b->index]);
    }
    d->looks++;
}

void delta_tell(const struct delta *d, struct graph *all)
{
    for (size_t i = 0; i < all->edges.n && i < d->edges.n; i++) {
        struct graph_edge *e = all->edges.a[i];
        const uint64_t *sum = d->edges.a[i].sum;

        if (!is_flow(e))
            continue;
        e->bytes_ab = sum[0];
        e->bytes_ba = sum[1];
        e->messages_ab = sum[2];
        e->messages_ba = sum[3];
    }
}

void delta_release(struct delta *d)
{
    vec_release(&d->edges);
}
