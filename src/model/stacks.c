/* SPDX-License-Identifier: Apache-2.0 */
#include "model/stacks.h"

#include "base/hash.h"

#include <string.h>

struct wanted {
    const struct stack_node *nodes;
    struct stack_node key;
};

void stacks_release(struct stacks *s)
{
    vec_release(&s->nodes);
    index_release(&s->index);
}

static uint64_t node_hash(struct stack_node k)
{
    return hash_u64((uint64_t)k.parent << 32 | k.frame);
}

static int same(const void *ctx, uint32_t id)
{
    const struct wanted *w = ctx;

    return w->nodes[id - 1].parent == w->key.parent && w->nodes[id - 1].frame == w->key.frame;
}

/* As with strings: a trie from disk gets its index with the first push. */
static void build_index(struct stacks *s)
{
    index_release(&s->index);
    index_reserve(&s->index, s->nodes.n);
    for (uint32_t id = 1; id <= s->nodes.n; id++)
        index_add(&s->index, node_hash(s->nodes.a[id - 1]), id);
}

uint32_t stacks_push(struct stacks *s, uint32_t parent, uint32_t frame)
{
    struct wanted w = {s->nodes.a, {parent, frame}};
    uint64_t hash = node_hash(w.key);
    uint32_t id;

    if (s->index.n != s->nodes.n)
        build_index(s);
    id = index_find(&s->index, hash, same, &w);
    if (id)
        return id;
    *vec_push(&s->nodes) = w.key;
    id = (uint32_t)s->nodes.n;
    index_add(&s->index, hash, id);
    return id;
}
