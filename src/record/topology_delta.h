/* SPDX-License-Identifier: Apache-2.0 */
/* Without the kernel's help: what connections carried during the recording, by what the kernel's own counts
 * (TCP_INFO, bytes of a connection's whole life) grew from look to look. Exact but for the end of connections
 * that close between two looks, and those that no look met. */
#ifndef WPROF_RECORD_TOPOLOGY_DELTA_H
#define WPROF_RECORD_TOPOLOGY_DELTA_H

#include "base/vec.h"
#include "model/graph.h"

struct delta_edge {
    uint64_t before[4], sum[4]; /* bytes_ab, bytes_ba, messages_ab, messages_ba */
    int known;
};

struct delta {
    VEC(struct delta_edge) edges; /* of the graph's edges, by index */
    int looks;
};

/* `look` has just been merged into `all`. fresh: of the look's nodes, 1 where all that they are joined to was
 * made in the recording: in the first look, too. */
void delta_add(struct delta *d, const struct graph *all, const struct graph *look, const uint8_t *fresh);
void delta_tell(const struct delta *d, struct graph *all); /* the sums become the edges' */
void delta_release(struct delta *d);

#endif
