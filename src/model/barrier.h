/* SPDX-License-Identifier: Apache-2.0 */
/* What all ranks leave together, and none before the last has entered it. */
#ifndef WPROF_MODEL_BARRIER_H
#define WPROF_MODEL_BARRIER_H

#include <stddef.h>

/* A mark of a kind that is one: "barrier 7", "collective", "allreduce" ..., or of one of the n in `more`. */
int barrier_is_mark(const char *text, char *const *more, size_t n);

/* A kernel of NCCL or RCCL that is one: all-reduce, all-gather, reduce-scatter; broadcasts and single
 * messages are none. */
int barrier_is_kernel(const char *name);

#endif
