/* SPDX-License-Identifier: Apache-2.0 */
/* What of a span's time is its own: what a framework's operators, or a tracer's functions, took without those
 * that they called. */
#ifndef WPROF_ANALYZE_FOLD_SPANS_H
#define WPROF_ANALYZE_FOLD_SPANS_H

#include "model/store.h"

/* Whether an event of this work is such a span, where it has a thread. */
int fold_spans_counts(const struct gpu_work *w);

/* By the store's event: ns; 0 for all that is no span. A span that begins in another is part of it as far as
 * that goes. Owned by the caller. */
uint64_t *fold_spans_self(const struct store *s);

#endif
