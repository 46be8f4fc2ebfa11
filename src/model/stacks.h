/* SPDX-License-Identifier: Apache-2.0 */
/* A trie of {parent, frame}: equal stacks have one id. Id 0 is the empty stack; a parent's id is below its
 * child's. */
#ifndef WPROF_MODEL_STACKS_H
#define WPROF_MODEL_STACKS_H

#include "base/map.h"
#include "base/vec.h"

#include <stdint.h>

struct stack_node {
    uint32_t parent, frame;
};

/* The children of a stack, the youngest first. */
struct stack_link {
    uint32_t child, next; /* ids; 0: none. child's top bit: many children, they are in `wide` */
};

struct stacks {
    VEC(struct stack_node) nodes; /* stack id is index + 1 */
    VEC(struct stack_link)
    links;             /* by stack id; made with the first push, a trie that is only read has none */
    struct index wide; /* of stacks with many siblings, by {parent, frame} */
};

void stacks_release(struct stacks *s);
void stacks_reserve(struct stacks *s, size_t n); /* room for n in all, where very many are to come */
uint32_t stacks_push(struct stacks *s, uint32_t parent, uint32_t frame); /* finds or adds; root first */

/* Frees what only pushing needs, half of the trie or more; a later push makes it anew. */
void stacks_settle(struct stacks *s);

static inline const struct stack_node *stacks_get(const struct stacks *s, uint32_t id)
{
    return id && id <= s->nodes.n ? &s->nodes.a[id - 1] : NULL;
}

#endif
