/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels of several ranks are one collective: those that end at a time. Their numbers don't tell, as
 * traces of ranks begin apart and lack some. What two clocks differ by is the offset with which most of the
 * ends agree: zero, or the median of the differences, in order or shifted by a few.
 */
#ifndef WPROF_ANALYZE_GPU_PAIRS_H
#define WPROF_ANALYZE_GPU_PAIRS_H

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

/* Ends of one collective, seen by clocks that agree, differ by less. */
#define GPU_PAIRS_SLACK_NS 1000000

/* A kernel of a collective. */
struct gpu_part {
    uint32_t name, rank; /* rank: an index from 0 on */
    int64_t end;         /* ns, by its rank's clock */
    uint64_t dur;
};

struct gpu_pairs {
    VEC(uint32_t) of; /* rows of as many as there are ranks: the part of each, of one collective */
};

/* Sorts the parts, and finds the collectives that all ranks are seen in. Release with vec_release(&of). */
void gpu_pairs_find(struct gpu_pairs *p, struct gpu_part *a, size_t n, uint32_t ranks);

#endif
