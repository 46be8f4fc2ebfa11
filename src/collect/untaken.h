/* SPDX-License-Identifier: Apache-2.0 */
/* Why none of the targets could be taken. */
#ifndef WPROF_COLLECT_UNTAKEN_H
#define WPROF_COLLECT_UNTAKEN_H

#include "base/err.h"
#include "model/collector.h"

/* Always -1, with `e`: they are gone, or what they map may not be read. */
int untaken(const struct record_ctx *ctx, struct err *e);

/* Why what is there may not be read, and what helps: a constant. */
const char *untaken_why(void);

#endif
