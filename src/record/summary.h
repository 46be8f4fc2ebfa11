/* SPDX-License-Identifier: Apache-2.0 */
/* The few lines that end a recording: where it is, how well it was measured, what is heaviest, what to type
 * next. */
#ifndef WPROF_RECORD_SUMMARY_H
#define WPROF_RECORD_SUMMARY_H

#include "model/profile.h"
#include "model/quality.h"
#include "record/recorder.h"

struct heavy {
    uint32_t func, file; /* strings of the profile */
    uint64_t self;
};

/* The n functions with the largest self value of a metric, in order. Returns how many there are, <= n. */
size_t summary_heaviest(const struct profile *p, size_t metric, struct heavy *out, size_t n);

/* What the main thread waited for, as one phrase, and the share of the time. */
struct summary_wait {
    struct buf text; /* empty: nothing worth a line */
    double share;
};

/* p may be NULL or have no metric: nothing was sampled. Lines end with '\n'. */
void summary_text(struct buf *out, const struct recorder_report *r, const struct profile *p,
                  const struct quality *q, const struct summary_wait *w);

#endif
