/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a profile that is being built, found by parent and frame. */
#ifndef WPROF_MODEL_PROFILE_INDEX_H
#define WPROF_MODEL_PROFILE_INDEX_H

#include "base/map.h"
#include "model/profile.h"

#include <stdint.h>

/* The child of `parent` with that frame; 0: there is none. */
uint32_t profile_index_find(const struct index *x, const struct profile *p, uint32_t parent, uint32_t frame);
void profile_index_add(struct index *x, const struct profile *p,
                       uint32_t node); /* not the root, and not yet in */

/*
 * Finds or adds that child; a new one becomes its parent's first. The index holds those children alone that
 * are not among the first few of their parent: mostly none, so that trees of tens of millions of nodes need
 * no table. Not to be mixed with the functions above.
 */
uint32_t profile_index_child(struct index *x, struct profile *p, uint32_t parent, uint32_t frame);

/* Makes the empty x, and the links of all nodes, such that more can be added so. No two children of one node
 * have the same frame. */
void profile_index_adopt(struct index *x, struct profile *p);

#endif
