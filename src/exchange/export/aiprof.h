/* SPDX-License-Identifier: Apache-2.0 */
/* The files of AIProf's session directory that no other exporter makes. */
#ifndef WPROF_EXCHANGE_EXPORT_AIPROF_H
#define WPROF_EXCHANGE_EXPORT_AIPROF_H

#include "base/buf.h"
#include "model/session.h"

/* meta.json. */
void aiprof_meta(const struct session *s, struct buf *out);

/* cupti/kernels.jsonl: an object a line for what ran on accelerators, in the order of time; times are ns
 * since the session's start. Nothing where nothing did. */
void aiprof_kernels(const struct session *s, struct buf *out);

#endif
