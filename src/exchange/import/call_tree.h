/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph of calls without its circles: each function's own cost flows up to who called it, in proportion to
 * what the calls cost, until it is with the functions that begin it all. Calls that close a circle
 * (recursion) take no part, so each function's cost reaches the beginning, whole, on ways that have it once.
 */
#ifndef WPROF_EXCHANGE_CALL_TREE_H
#define WPROF_EXCHANGE_CALL_TREE_H

#include "exchange/import/call_graph.h"

struct call_flow {
    double inclusive; /* its own cost and what it paid for its calls */
    double begun;     /* that nobody paid for */
    uint32_t payer;   /* who paid most, index + 1; 0: it begins */
};

struct call_tree {
    uint32_t *order;         /* functions, callers before those that they call */
    struct call_flow *flows; /* by function */
    double *paid;            /* by edge: what the caller pays; 0: recursion */
    uint64_t recursed;       /* costs of calls that close a circle */
};

/* `g` stays as it is; its costs add up within 64 bits. */
void call_tree_make(struct call_tree *t, const struct call_graph *g);
void call_tree_release(struct call_tree *t);

#endif
