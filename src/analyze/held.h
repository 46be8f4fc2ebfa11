/* SPDX-License-Identifier: Apache-2.0 */
/* What --gil and --idle do to a profile. */
#ifndef WPROF_ANALYZE_HELD_H
#define WPROF_ANALYZE_HELD_H

#include "analyze/fold.h"
#include "model/session.h"

/*
 * Takes --gil (what threads did with the GIL in their hands alone) and --idle (samples of threads off the
 * CPU, too) over into `fold`, whose metric is set, and adds a note of each to the session's meta. -1 with `e`
 * where the session cannot tell, or the metric makes no sense with it.
 */
int held_apply(struct fold_opts *fold, struct session *s, int gil, int idle, struct err *e);

#endif
