/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPUs, NUMA nodes and the like, as the kernel writes them: lists "0-3,8" and masks "ff,ffffffff". */
#ifndef WPROF_TOPO_IDSET_H
#define WPROF_TOPO_IDSET_H

#include "base/buf.h"
#include "base/vec.h"

#include <stdint.h>

enum { IDSET_MAX = 1 << 16 }; /* greater numbers are refused: no kernel has as many CPUs */

struct idset {
    VEC(uint64_t) words;
};

void idset_release(struct idset *s);
void idset_add(struct idset *s, unsigned id); /* below IDSET_MAX */
int idset_has(const struct idset *s, unsigned id);
int64_t idset_first(const struct idset *s); /* -1: it is empty */
/* The next one after `id`, -1: no more. for (int64_t i = idset_first(s); i >= 0; i = idset_next(s, i)) */
int64_t idset_next(const struct idset *s, int64_t id);
size_t idset_count(const struct idset *s);
int idset_meets(const struct idset *a, const struct idset *b);  /* they have one in common */
int idset_within(const struct idset *a, const struct idset *b); /* all of a are in b */
int idset_equal(const struct idset *a, const struct idset *b);
void idset_unite(struct idset *a, const struct idset *b);     /* a = a | b */
void idset_intersect(struct idset *a, const struct idset *b); /* a = a & b */

/* Add what the text says; white space at its ends is left out. -1: it is no such text, and the set then has
 * what came before. An empty text is an empty set. */
int idset_parse_list(struct idset *s, const char *text);
int idset_parse_mask(struct idset *s, const char *text);

void idset_text(const struct idset *s, struct buf *out); /* as a list, appended */

#endif
