/* SPDX-License-Identifier: Apache-2.0 */
/* How much a node tells: those that tell least are folded first. */
#ifndef WPROF_RENDER_CROWD_WORTH_H
#define WPROF_RENDER_CROWD_WORTH_H

#include "render/crowd.h"

struct crowd_worth {
    int does; /* a process or an accelerator */
    uint64_t time_ns, bytes;
    uint32_t edges;
};

/* Of each node, by its index, with those that it stands for. Owned by the caller: free(). */
struct crowd_worth *crowd_worths(const struct crowd *c);

/* < 0: a tells less than b. */
int crowd_worth_cmp(const struct crowd_worth *a, const struct crowd_worth *b);

#endif
