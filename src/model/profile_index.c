/* SPDX-License-Identifier: Apache-2.0 */
#include "model/profile_index.h"

#include "base/hash.h"

enum { LIST_MAX = 4 }; /* children of a node that are looked at one by one */

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

/* Of so many of a node's children as are looked at the last one; *steps: how many. */
static uint32_t last_of_first(const struct profile_node *nodes, uint32_t parent, uint32_t *steps)
{
    uint32_t last = 0;

    *steps = 0;
    for (uint32_t id = nodes[parent].child; id && *steps < LIST_MAX; id = nodes[id].next, ++*steps)
        last = id;
    return last;
}

void profile_index_adopt(struct index *x, struct profile *p)
{
    struct profile_node *nodes = p->nodes.a;

    for (size_t i = 0; i < p->nodes.n; i++)
        nodes[i].child = 0;
    for (size_t i = 1; i < p->nodes.n; i++) {
        uint32_t steps, last = last_of_first(nodes, nodes[i].parent, &steps);

        if (steps == LIST_MAX)
            profile_index_add(x, p, last);
        nodes[i].next = nodes[nodes[i].parent].child;
        nodes[nodes[i].parent].child = (uint32_t)i;
    }
}

uint32_t profile_index_child(struct index *x, struct profile *p, uint32_t parent, uint32_t frame)
{
    const struct profile_node *nodes = p->nodes.a;
    uint32_t first = nodes[parent].child, last = 0, steps = 0, id;

    for (id = first; id && steps < LIST_MAX; id = nodes[id].next, steps++) {
        if (nodes[id].frame == frame)
            return id;
        last = id;
    }
    id = id ? profile_index_find(x, p, parent, frame) : 0;
    if (id)
        return id;
    if (steps == LIST_MAX) /* it is pushed out of the first few */
        profile_index_add(x, p, last);
    id = (uint32_t)p->nodes.n;
    *vec_push(&p->nodes) = (struct profile_node){parent, frame, 0, first};
    p->nodes.a[parent].child = id;
    return id;
}
