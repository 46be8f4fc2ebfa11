/* SPDX-License-Identifier: Apache-2.0 */
/* The same as pprof_profile.h of speedscope's format: one profile, of folded stacks, without an order of
 * time. */
#ifndef WPROF_EXCHANGE_SPEEDSCOPE_PROFILE_H
#define WPROF_EXCHANGE_SPEEDSCOPE_PROFILE_H

#include "exchange/export/export.h"

struct json_writer;

/* What a file begins with, into the object that is open. */
void speedscope_about(const struct meta *m, struct json_writer *w);

const char *speedscope_unit(const char *unit); /* of a metric: "nanoseconds", "bytes", "none" */

int speedscope_profile(const struct export_input *in, struct buf *out, struct err *e);

#endif
