/* SPDX-License-Identifier: Apache-2.0 */
/* Which way to record: the best that works here, found by opening what its collectors share. */
#ifndef WPROF_RECORD_TIERS_H
#define WPROF_RECORD_TIERS_H

#include "model/collector.h"

/* "A", "B" or "C" to TIER_A ...; 0: none of them. */
unsigned tiers_parse(const char *letter);

/*
 * forced: "A", "B", "C", or NULL for the best. Sets ctx->tier and ctx->meta->tier, and holds what the tier's
 * collectors share until tiers_release(). -1 with `e` where none works: why the best doesn't, and what grants
 * it.
 */
int tiers_choose(struct record_ctx *ctx, const char *forced, struct err *e);
void tiers_release(struct record_ctx *ctx);

#endif
