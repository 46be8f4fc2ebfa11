/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes stacks, each given as what differs from the one before, into a store's trie and events: in a thread
 * of its own once they are many, so that reading text and building the trie go on side by side.
 */
#ifndef WPROF_EXCHANGE_STACK_LINES_H
#define WPROF_EXCHANGE_STACK_LINES_H

#include "model/store.h"

#include <stddef.h>
#include <stdint.h>

struct stack_lines;

/* Until stack_lines_finish, the store's stacks and events are not the caller's to touch. */
struct stack_lines *stack_lines_new(struct store *s);

/* A stack begins that shares its first `keep` frames with the one before; its other frames follow, root
 * first. */
void stack_lines_begin(struct stack_lines *l, size_t keep, uint64_t value);
void stack_lines_frame(struct stack_lines *l, uint32_t frame);

void stack_lines_finish(struct stack_lines *l); /* everything is in the store; frees l */

#endif
