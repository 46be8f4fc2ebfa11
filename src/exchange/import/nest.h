/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of spans that begin and end: what a thread was in, from the outermost span that goes on to the
 * innermost. So operators, annotations, Python functions and API calls of a trace become the stack at which
 * each of them began.
 */
#ifndef WPROF_EXCHANGE_NEST_H
#define WPROF_EXCHANGE_NEST_H

#include "model/store.h"

enum { NEST_DEPTH_MAX = 512 };

/* In place of a frame: it is in no stack itself, but has that of the spans around it. */
#define NEST_AROUND UINT32_MAX

/*
 * Sets `stack` of the events from `first` on whose `attr` has a frame in frame_of[0..n) (0: none, it is in no
 * stack and gets none): the spans of its task around it, and itself. A span begins in another where it begins
 * before that ends; of those that begin at once, the longer is outside. Deeper than NEST_DEPTH_MAX, the stack
 * is that of the limit. Returns how many those were.
 */
uint64_t nest_spans(struct store *s, size_t first, const uint32_t *frame_of, size_t n);

/* Sets stack and task of each event from `first` on that ran on a device, or waited for one and has no task,
 * to those of the call with its correlation id (`value`): the runtime's where the driver's has the same; of
 * several processes' calls with that id, the last that began before it ran. Returns how many that ran on a
 * device have none. */
uint64_t nest_launches(struct store *s, size_t first, const struct gpu_works *works);

#endif
