/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a sample: the chain that the kernel took, or what walking the copied stack finds. */
#ifndef WPROF_EXCHANGE_PERF_DATA_STACK_H
#define WPROF_EXCHANGE_PERF_DATA_STACK_H

#include "exchange/import/perf_data_maps.h"

struct perf_stack_stats {
    uint64_t walked;   /* copied stacks, */
    uint64_t ended;    /* of them: not to the thread's start */
    uint64_t unwalked; /* not of x86-64's 64-bit code */
    uint64_t deferred; /* the user's part came in a record of its own */
    uint64_t branches; /* with branch records, which aren't used */
};

struct perf_stack {
    struct perf_maps *maps;
    VEC(uint32_t) frames; /* of the sample at hand, the innermost first */
    struct perf_stack_stats stats;
};

void perf_stack_release(struct perf_stack *x);

/* The id of the sample's stack in the store; 0: it has none. */
uint32_t perf_stack_of(struct perf_stack *x, const struct perf_attr *a, const struct perf_sample *s,
                       enum perf_mode mode);

#endif
