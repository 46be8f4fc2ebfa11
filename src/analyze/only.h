/* SPDX-License-Identifier: Apache-2.0 */
/* What --only does. */
#ifndef WPROF_ANALYZE_ONLY_H
#define WPROF_ANALYZE_ONLY_H

#include "analyze/cut.h"

/*
 * Cuts the session down to what `text` says (units_choose()), and adds a note that says so to its meta. The
 * figures on how well it was measured count its events: compute them before. `c` serves timeline_build(), and
 * is released with cut_release(), also after a failure. -1 with `e`: nothing was cut. text NULL: nothing is.
 */
int only_apply(struct cut *c, struct session *s, const char *text, struct err *e);

#endif
