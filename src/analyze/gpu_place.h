/* SPDX-License-Identifier: Apache-2.0 */
/* Which function of a stack says the most to a person. */
#ifndef WPROF_ANALYZE_GPU_PLACE_H
#define WPROF_ANALYZE_GPU_PLACE_H

#include "base/buf.h"
#include "model/store.h"

struct gpu_place_of {
    uint32_t where;  /* string: the innermost Python function outside of the standard library, else what
                        waits_place() gives; 0: none */
    uint32_t caller; /* the innermost outside of installed packages, too; 0: none, or the same */
};

struct gpu_place_of gpu_place_of(const struct store *s, uint32_t stack);

/* The stack without its innermost frame where that is the call itself, as traces of frameworks have it. name:
 * a string of the store. */
uint32_t gpu_place_outside(const struct store *s, uint32_t stack, uint32_t name);

/* "main;DataLoader.__next__;poll", root first. */
void gpu_place_spell(const struct store *s, uint32_t stack, struct buf *out);

#endif
