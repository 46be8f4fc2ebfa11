/* SPDX-License-Identifier: Apache-2.0 */
/* From CUPTI's clock to CLOCK_MONOTONIC, by readings of both that the agent has paired. */
#ifndef WPROF_COLLECT_GPU_CLOCK_H
#define WPROF_COLLECT_GPU_CLOCK_H

#include "base/vec.h"

#include <stdint.h>

struct gpu_clock_pair {
    uint64_t theirs, ours; /* ns */
};

struct gpu_clock {
    VEC(struct gpu_clock_pair) pairs; /* by rising `theirs` */
    uint64_t widest;                  /* ns: how far a pair may be off */
};

void gpu_clock_release(struct gpu_clock *c);
/* One that goes back in time is left out. */
void gpu_clock_add(struct gpu_clock *c, uint64_t theirs, uint64_t ours, uint64_t width);
/* Interpolated between two pairs; before the first and after the last as far from it as there. 0: no pair. */
uint64_t gpu_clock_ours(const struct gpu_clock *c, uint64_t theirs);

#endif
