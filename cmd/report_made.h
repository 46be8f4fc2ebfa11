/* SPDX-License-Identifier: Apache-2.0 */
/* Reports in their formats, and those that sessions keep. */
#ifndef WPROF_CMD_REPORT_MADE_H
#define WPROF_CMD_REPORT_MADE_H

#include "analyze/rule.h"
#include "base/opt.h"

/* The command line. */
struct report_line {
    const char *format, *output;
    struct opt_list rules, set;
    int all, refresh, rules_page;
};

/* Appends the session's report: the one it keeps, where it has one that was made without options and is not
 * older than the session; else a new one, which is kept then. -1 with `e`. */
int report_made(const struct report_line *o, const struct rule_settings *set, struct session *s,
                struct buf *out, struct err *e);

/* Appends wprof-rules(7). */
void report_rules_page(struct buf *out);

#endif
