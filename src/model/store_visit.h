/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaving out of a store, while it is being filled, what nothing refers to any more: strings, frames, stacks
 * and waits get new ids (tasks and modules keep theirs), and so do an accelerator's works, which events alone
 * hold. Who holds such ids is visited twice: first to say which, so that they stay, then, `moved`, to have
 * them replaced. Both times it does the same:
 *     store_visit_stack(v, &c->stack);
 * and forgets its caches when v->moved, rather than to keep alive what is in them.
 */
#ifndef WPROF_MODEL_STORE_VISIT_H
#define WPROF_MODEL_STORE_VISIT_H

#include "base/map.h"
#include "model/store.h"

struct store_visit {
    int moved;
    uint64_t pass; /* another number each time: an object that several share sees whether it was visited */
    const struct store *store;
    uint8_t *used_string, *used_frame, *used_stack, *used_wait; /* by id */
    uint32_t *string, *frame, *stack, *wait;                    /* old id to new */
};

void store_visit_string(struct store_visit *v, uint32_t *id);
void store_visit_frame(struct store_visit *v, uint32_t *id);
void store_visit_stack(struct store_visit *v, uint32_t *id);
void store_visit_wait(struct store_visit *v, uint32_t *id);
/* A wait that is not in the table yet. */
void store_visit_wait_itself(struct store_visit *v, struct wait *w);
/* A cache: emptied when ids have moved. */
void store_visit_cache(struct store_visit *v, struct map *cache);

/* Fills the empty `to` with what of `from` its events and those who are visited need. Ends with
 * store_visit_move() or store_visit_drop(). */
typedef void (*store_visitor)(void *arg, struct store_visit *v);
void store_visit_begin(struct store_visit *v, struct store *to, struct store *from, store_visitor each,
                       void *arg);
/* `to` takes the place of `from`; everybody gets the new ids. */
void store_visit_move(struct store_visit *v, struct store *to, struct store *from, store_visitor each,
                      void *arg);
void store_visit_drop(struct store_visit *v, struct store *to);

#endif
