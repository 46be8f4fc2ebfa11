/* SPDX-License-Identifier: Apache-2.0 */
/* What threads moved over sockets and pipes, added up, and the edges that this gives. */
#ifndef WPROF_RECORD_TOPOLOGY_FLOWS_H
#define WPROF_RECORD_TOPOLOGY_FLOWS_H

#include "base/map.h"
#include "model/graph.h"
#include "platform/bpf.h"

#include <stdint.h>

struct flows {
    struct bpfside_flows all; /* one for each thread and socket */
    struct index index;
    uint64_t left_bytes, left_messages; /* of more than we hold */
};

/* Times of the same; 0: none. */
static inline uint64_t flows_earlier(uint64_t a, uint64_t b)
{
    return !a || (b && b < a) ? b : a;
}

static inline uint64_t flows_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void flows_add(struct flows *f, const struct bpfside_flows *more); /* adds up those of the same thread */
void flows_copy(struct flows *to, const struct flows *from);       /* into an empty one */
void flows_release(struct flows *f);

struct flows_limits {
    uint64_t min_bytes, min_messages; /* connections below one of them: no edge */
    uint32_t launched;                /* pid of the command that waited at our gate; 0: none */
    uint64_t offset;                  /* CLOCK_REALTIME less CLOCK_MONOTONIC, ns */
    const int *ours;                  /* pids whose flows are none of what was recorded */
    size_t nours;
};

struct flows_told {
    uint64_t connections, small;
    uint64_t alone; /* whose other end is nobody that we know */
};

/* Puts them into a graph, beside what it has: edges that it has from a look get these figures. */
void flows_tell(struct graph *g, struct flows *f, const struct flows_limits *limits, struct flows_told *told);

#endif
