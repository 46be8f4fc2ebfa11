/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the report of a session. */
#ifndef WPROF_ANALYZE_REPORT_H
#define WPROF_ANALYZE_REPORT_H

#include "analyze/rule.h"
#include "model/report.h"

struct report_opts {
    const struct rule_settings *rules; /* never NULL */
    size_t rows;                       /* of each table; 0: all */
};

/* `r` is zeroed by the caller and released by report_release(); it borrows the session's meta and `q`. -1
 * with `e`. */
int report_make(struct report *r, const struct session *s, const struct quality *q,
                const struct report_opts *o, struct err *e);

#endif
