/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls a function, and what it calls: each is a profile again, whose nodes below the root are the
 * function itself. */
#ifndef WPROF_ANALYZE_CALLS_H
#define WPROF_ANALYZE_CALLS_H

#include "base/err.h"
#include "model/profile.h"

/*
 * `name` is a function's name or label ("main", "forward (net.py)") exactly, else, where nothing is called
 * so, a part of it. Frames below another frame of the function count once. callers: from the function up to
 * the root; else everything below it. `out` is initialised and stands on its own. -1 with `e` naming the
 * nearest function where none fits.
 */
int calls_profile(struct profile *out, const struct profile *p, size_t metric, const char *name, int callers,
                  struct err *e);

#endif
