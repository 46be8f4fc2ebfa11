/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Most stacks have a few children, and most pushes follow a chain that was pushed a moment ago or is new as a
 * whole: lists of children keep both in the cache, where one large hash table would miss it every time.
 */
#include "model/stacks.h"

#include "base/hash.h"

enum { LIST_MAX = 4 }; /* children before a stack's are hashed */

#define WIDE 0x80000000u

struct wanted {
    const struct stack_node *nodes;
    struct stack_node key;
};

void stacks_settle(struct stacks *s)
{
    vec_release(&s->links);
    index_release(&s->wide);
}

void stacks_release(struct stacks *s)
{
    vec_release(&s->nodes);
    stacks_settle(s);
}

void stacks_reserve(struct stacks *s, size_t n)
{
    vec_reserve(&s->nodes, n);
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

static void make_wide(struct stacks *s, uint32_t parent)
{
    for (uint32_t c = s->links.a[parent].child; c; c = s->links.a[c].next)
        index_add(&s->wide, node_hash(s->nodes.a[c - 1]), c);
    s->links.a[parent].child |= WIDE;
}

static uint32_t find(struct stacks *s, struct stack_node key)
{
    uint32_t c = s->links.a[key.parent].child, steps = 0;
    struct wanted w = {s->nodes.a, key};

    if (c & WIDE)
        return index_find(&s->wide, node_hash(key), same, &w);
    for (; c; c = s->links.a[c].next) {
        if (s->nodes.a[c - 1].frame == key.frame)
            return c;
        steps++;
    }
    if (steps >= LIST_MAX)
        make_wide(s, key.parent);
    return 0;
}

/* Node `id` becomes its parent's first child. */
static void link_node(struct stacks *s, uint32_t id)
{
    struct stack_node key = s->nodes.a[id - 1];
    struct stack_link *l = vec_push(&s->links), *p = &s->links.a[key.parent];

    l->child = 0;
    l->next = p->child & ~WIDE;
    if (p->child & WIDE)
        index_add(&s->wide, node_hash(key), id);
    p->child = id | (p->child & WIDE);
}

static void build_links(struct stacks *s)
{
    vec_clear(&s->links);
    index_release(&s->wide);
    vec_reserve(&s->links, s->nodes.cap + 1);
    *vec_push(&s->links) = (struct stack_link){0};
    for (uint32_t id = 1; id <= s->nodes.n; id++)
        link_node(s, id);
}

uint32_t stacks_push(struct stacks *s, uint32_t parent, uint32_t frame)
{
    struct stack_node key = {parent, frame};
    uint32_t id;

    if (s->links.n != s->nodes.n + 1)
        build_links(s);
    id = find(s, key);
    if (id)
        return id;
    *vec_push(&s->nodes) = key;
    id = (uint32_t)s->nodes.n;
    link_node(s, id);
    return id;
}
