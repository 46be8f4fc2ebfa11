/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of a session of several. */
#ifndef WPROF_ANALYZE_ONLY_RANK_H
#define WPROF_ANALYZE_ONLY_RANK_H

#include "base/err.h"
#include "model/session.h"

/*
 * Leaves out the events of other ranks, and of what is no rank's: machines, other hosts. A note in the
 * session's meta says so. text: "3". -1 with `e`, which names those that there are: it is none of them, and
 * nothing was left out. text NULL: nothing is.
 */
int only_rank_apply(struct session *s, const char *text, struct err *e);

#endif
