/* SPDX-License-Identifier: Apache-2.0 */
/* The report's part on steps and requests. */
#ifndef WPROF_ANALYZE_REPORT_UNITS_H
#define WPROF_ANALYZE_REPORT_UNITS_H

#include "model/report.h"

/* Fills in its tables, of at most `rows` rows (0: all), and what slow ones of the kind that there is most of
 * spend more time in. Nothing where nothing is marked. */
void report_units(struct report *r, const struct session *s, size_t rows);

#endif
