/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile of calls instead of stacks: what each function cost itself, and what its calls of each other
 * function cost. Stacks are made of it by sharing each function's costs among its callers in proportion to
 * what their calls cost, as if it always did the same: an estimate of the stacks; each function's own cost
 * is what it was.
 */
#ifndef WPROF_EXCHANGE_CALL_GRAPH_H
#define WPROF_EXCHANGE_CALL_GRAPH_H

#include "base/map.h"
#include "model/store.h"

struct call_edge {
    uint32_t caller, callee; /* indexes of functions */
    uint64_t cost;           /* with all that was called below */
    uint32_t next;           /* of the same caller, index + 1; 0: none */
};

struct call_function {
    uint32_t frame; /* of the store */
    uint64_t self;
    uint32_t first; /* edge of it as the caller, index + 1 */
};

struct call_graph {
    VEC(struct call_function) functions;
    VEC(struct call_edge) edges;
    struct map by_frame, by_pair; /* -> index + 1 */
};

struct call_stats {
    double cut;        /* costs that were not shared any further, for they are small parts: they are where
                          most of their function's are */
    uint64_t recursed; /* costs of calls that close a circle: recursion, which is folded */
};

void call_graph_release(struct call_graph *g);
uint32_t call_graph_function(struct call_graph *g, uint32_t frame); /* finds or adds: its index */

/* They add up. -1: beyond 64 bits. */
int call_graph_self(struct call_graph *g, uint32_t function, uint64_t cost);
int call_graph_call(struct call_graph *g, uint32_t caller, uint32_t callee, uint64_t cost);

/* A sample of `like` for each stack; the values of those that end in a function add up to its own cost. -1:
 * costs go beyond 64 bits. */
int call_graph_samples(const struct call_graph *g, struct store *s, const struct event *like,
                       struct call_stats *stats);

#endif
