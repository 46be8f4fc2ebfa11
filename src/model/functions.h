/* SPDX-License-Identifier: Apache-2.0 */
/* Self and total of each frame over a whole profile, whatever a picture of it leaves out. */
#ifndef WPROF_MODEL_FUNCTIONS_H
#define WPROF_MODEL_FUNCTIONS_H

#include "model/profile.h"

#include <stdint.h>

struct functions {
    uint64_t *self, *total; /* one per profile frame; a recursive function counts once in a stack */
    size_t n;
};

/* `f` is zeroed by the caller and released by functions_release(). The root is no function. */
void functions_sum(struct functions *f, const struct profile *p, size_t metric);

/* The same of groups of frames: `of` gives the group of each frame of the profile, below n. */
void functions_sum_groups(struct functions *f, const struct profile *p, size_t metric, const uint32_t *of,
                          size_t n);
void functions_release(struct functions *f);

/* The `max` heaviest by self, heaviest first, into out; gives how many there are with a weight. */
size_t functions_top(const struct functions *f, uint32_t *out, size_t max);

#endif
