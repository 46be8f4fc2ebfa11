/* SPDX-License-Identifier: Apache-2.0 */
/* Finishes in user space what the kernel's side could not walk: from the registers and the piece of stack it
 * sent. */
#ifndef WPROF_UNWIND_FINISH_H
#define WPROF_UNWIND_FINISH_H

#include "unwind/track.h"
#include "unwind/walk_user.h"

enum { FINISH_DEPTH = WALK_USER_DEPTH };

/* Writes the frames from s->regs on into frames[0..FINISH_DEPTH), and asks for the tables that were missing.
 * `stack` is the sample's copy, may be empty. Never fails: *res says how far it came. */
void finish_walk(struct track *t, struct process *p, const struct wire_sample *s, const uint8_t *stack,
                 struct walk_frame *frames, struct walk_result *res);

#endif
