/* SPDX-License-Identifier: Apache-2.0 */
/* A profile's stacks as folded text, the heaviest first. */
#ifndef WPROF_ANALYZE_HEAVIEST_H
#define WPROF_ANALYZE_HEAVIEST_H

#include "model/profile.h"

struct heaviest_stack {
    const char *text; /* "a;b;c", without a NUL behind it */
    size_t len;
    uint64_t value;
};

struct heaviest {
    struct buf folded; /* what the texts lie in */
    VEC(struct heaviest_stack) list;
};

/* All with a value of their own; of equal ones in the order of their texts. `h` is zeroed by the caller. */
void heaviest_stacks(struct heaviest *h, const struct profile *p, size_t metric);
void heaviest_release(struct heaviest *h);

/* The stack in at most about `max` bytes: frames in its middle give way to "[...]". 1: some did. */
int heaviest_text(const struct heaviest_stack *s, size_t max, struct buf *out);

#endif
