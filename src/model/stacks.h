/* SPDX-License-Identifier: Apache-2.0 */
/* A trie of {parent, frame}: equal stacks have one id. Id 0 is the empty stack; a parent's id is below its child's. */
#ifndef WPROF_MODEL_STACKS_H
#define WPROF_MODEL_STACKS_H

#include "base/map.h"
#include "base/vec.h"

#include <stdint.h>

struct stack_node {
    uint32_t parent, frame;
};

struct stacks {
    VEC(struct stack_node) nodes; /* stack id is index + 1 */
    struct index index;
};

void stacks_release(struct stacks *s);
uint32_t stacks_push(struct stacks *s, uint32_t parent, uint32_t frame); /* finds or adds; root first */

static inline const struct stack_node *stacks_get(const struct stacks *s, uint32_t id)
{
    return id && id <= s->nodes.n ? &s->nodes.a[id - 1] : NULL;
}

#endif
