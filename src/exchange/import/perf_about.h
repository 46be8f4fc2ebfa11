/* SPDX-License-Identifier: Apache-2.0 */
/* What perf script --header says before the samples: "# hostname : box". */
#ifndef WPROF_EXCHANGE_PERF_ABOUT_H
#define WPROF_EXCHANGE_PERF_ABOUT_H

#include "model/session.h"

/* Takes what a line tells of the machine and the recording; others are passed over. */
void perf_about_line(struct meta *m, const char *line, size_t n);

#endif
