/* SPDX-License-Identifier: Apache-2.0 */
/* Two topologies beside each other: what is gone, what is new, what carries more or less. */
#ifndef WPROF_ANALYZE_TOPOLOGY_DIFF_H
#define WPROF_ANALYZE_TOPOLOGY_DIFF_H

#include "base/vec.h"
#include "model/graph.h"

/* What went along an edge: [0] from a to b, [1] from b to a, in the order in which its name has them. */
struct topology_flow {
    uint64_t bytes[2], messages[2];
};

struct topology_change {
    const char *name;              /* the list's own */
    struct topology_flow from, to; /* edges: 0 where it is not in that one */
};

/* Heavier and lighter by the bytes of both directions; other: the same sum, otherwise divided, or in another
 * number of messages. */
enum topology_diff_kind {
    TOPOLOGY_GONE,
    TOPOLOGY_NEW,
    TOPOLOGY_HEAVIER,
    TOPOLOGY_LIGHTER,
    TOPOLOGY_OTHER,
    TOPOLOGY_CHANGES
};

struct topology_diff {
    struct {
        VEC(struct topology_change) list;
    } nodes[TOPOLOGY_CHANGES], edges[TOPOLOGY_CHANGES]; /* nodes: the first two; by name */
    VEC(char *) names;
};

/* by_name: processes and threads by their names and not by pids, ports that a client gets by chance, inodes
 * and the like not at all: two runs of one program are equal. What reads the same then is summed, and
 * messages, which are other ones in each run, don't count. */
void topology_diff(struct topology_diff *d, const struct graph *a, const struct graph *b, int by_name);
int topology_diff_equal(const struct topology_diff *d);
void topology_diff_release(struct topology_diff *d);

#endif
