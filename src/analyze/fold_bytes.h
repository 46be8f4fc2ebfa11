/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of accelerators as a metric: which allocations count, and what stands below where they were made. */
#ifndef WPROF_ANALYZE_FOLD_BYTES_H
#define WPROF_ANALYZE_FOLD_BYTES_H

#include "base/buf.h"
#include "model/store.h"

/* A bit an event: an allocation that was not given back yet when its pool, a device's memory of one kind,
 * held the most; of several such moments the first. Owned by the caller. */
uint8_t *fold_bytes_at_peak(const struct store *s);

/* "[GPU 0 device memory]": of which pool it is. */
void fold_bytes_label(const struct gpu_work *w, struct buf *out);

#endif
