/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that make a page share. */
#ifndef WPROF_CMD_PAGE_H
#define WPROF_CMD_PAGE_H

#include "analyze/fold.h"

/* Adds the metrics that the session has, but for fold.metric, behind the profile's own: a page lets its
 * reader choose. */
int page_add_metrics(struct profile *p, const struct session *s, struct fold_opts fold, struct err *e);

#endif
