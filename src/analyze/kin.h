/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of one name in one process, and processes of one name with one parent, where there are many: what
 * is told of each of them is told of all. */
#ifndef WPROF_ANALYZE_KIN_H
#define WPROF_ANALYZE_KIN_H

#include "model/store.h"

/* By task id, the task that stands for it: itself where there are few of its kind. Owned by the caller. */
uint32_t *kin_find(const struct store *s);

/* Which of a kind were seen together with something. Zeroed: none. */
struct kin_seen {
    struct map known;
};

int kin_add(struct kin_seen *x, uint32_t with, uint32_t task); /* 1: for the first time */
void kin_seen_release(struct kin_seen *x);

#endif
