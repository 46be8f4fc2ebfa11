/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile of calls instead of stacks: what each function cost itself, and what its calls of each other
 * function cost. Stacks are made of it by sharing each function's costs among its callers in proportion to
 * what their calls cost, as if it always did the same: an estimate, but of the right sums.
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
    uint64_t cut;      /* costs that were not followed down to who spent them, for they are small parts */
    uint64_t recursed; /* costs of calls of a function that is in the stack already */
};

void call_graph_release(struct call_graph *g);
uint32_t call_graph_function(struct call_graph *g, uint32_t frame); /* finds or adds: its index */

/* They add up. -1: beyond 64 bits. */
int call_graph_self(struct call_graph *g, uint32_t function, uint64_t cost);
int call_graph_call(struct call_graph *g, uint32_t caller, uint32_t callee, uint64_t cost);

/* A sample of `like` for each stack; their values add up to the sum of all functions' own costs. -1: costs go
 * beyond 64 bits. */
int call_graph_samples(const struct call_graph *g, struct store *s, const struct event *like,
                       struct call_stats *stats);

#endif
