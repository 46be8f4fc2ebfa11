/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile_index.h"

#include "base/hash.h"

struct wanted {
    const struct profile_node *nodes;
    uint32_t parent, frame;
};

static uint64_t hash(uint32_t parent, uint32_t frame)
{
    return hash_u64((uint64_t)parent << 32 | frame);
}

static int same(const void *ctx, uint32_t id)
{
    const struct wanted *w = ctx;

    return w->nodes[id].parent == w->parent && w->nodes[id].frame == w->frame;
}

uint32_t profile_index_find(const struct index *x, const struct profile *p, uint32_t parent, uint32_t frame)
{
    struct wanted w = {p->nodes.a, parent, frame};

    return index_find(x, hash(parent, frame), same, &w);
}

void profile_index_add(struct index *x, const struct profile *p, uint32_t node)
{
    const struct profile_node *n = &p->nodes.a[node];

    index_add(x, hash(n->parent, n->frame), node);
}
