/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that programs number: "iteration 12", "batch_12", "step#12", "iter12". */
#ifndef WPROF_MODEL_NUMBERED_H
#define WPROF_MODEL_NUMBERED_H

#include "model/store.h"

/* Whether it is what programs usually call a unit of their work: "step", "request" and the like. */
int numbered_is_usual(const char *word, size_t n);

/* 0: it is none. 1: *word is the strtab id of "iteration": in stacks they are one frame, so that what they do
 * adds up; and *mark that of "iteration 12": each is a mark, so that they can be compared and cut out. */
int numbered_names(struct strtab *t, const char *text, uint32_t *word, uint32_t *mark);

/* Adds the mark of a span. */
void numbered_push(struct store *s, const struct event *span, uint32_t mark);

#endif
