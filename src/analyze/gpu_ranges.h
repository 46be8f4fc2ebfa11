/* SPDX-License-Identifier: Apache-2.0 */
/* Unions of pieces of time: what is busy is counted once, however much runs at a time. */
#ifndef WPROF_ANALYZE_GPU_RANGES_H
#define WPROF_ANALYZE_GPU_RANGES_H

#include "base/vec.h"

#include <stdint.h>

struct gpu_range {
    uint64_t start, end; /* ns */
};

struct gpu_ranges {
    VEC(struct gpu_range) list; /* sorted and disjoint after gpu_ranges_settle() */
};

/* Pieces without length are left out. */
void gpu_ranges_add(struct gpu_ranges *r, uint64_t start, uint64_t end);
void gpu_ranges_settle(struct gpu_ranges *r); /* those that touch become one */
void gpu_ranges_release(struct gpu_ranges *r);

/* Of settled ones: ns in all, ns that two have in common, ns within a piece of time, what of `from` is in
 * none of `of`. */
uint64_t gpu_ranges_sum(const struct gpu_ranges *r);
uint64_t gpu_ranges_common(const struct gpu_ranges *a, const struct gpu_ranges *b);
uint64_t gpu_ranges_within(const struct gpu_ranges *r, struct gpu_range within);
void gpu_ranges_gaps(struct gpu_ranges *gaps, const struct gpu_ranges *of, struct gpu_range from);

/* The first that ends after ts; n where there is none. */
size_t gpu_ranges_find(const struct gpu_ranges *r, uint64_t ts);

#endif
