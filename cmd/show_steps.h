/* SPDX-License-Identifier: Apache-2.0 */
/* show --steps and --units. */
#ifndef WPROF_CMD_SHOW_STEPS_H
#define WPROF_CMD_SHOW_STEPS_H

#include "base/err.h"
#include "render/text.h"

/* The table of a kind's units, and what slow ones spend more time in, as text; -1 with `e`: there are none.
 */
int show_steps(const struct session *s, const char *kind, uint64_t top, const struct text_style *style,
               struct buf *out, struct err *e);

/* The same as members of the open object: units, units_left_out, units_median_ns, units_figures, units_slow.
 */
int show_steps_json(const struct session *s, const char *kind, uint64_t top, struct json_writer *w,
                    struct err *e);

#endif
