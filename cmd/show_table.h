/* SPDX-License-Identifier: Apache-2.0 */
/* How `show` puts its tables. Both release what they are given. */
#ifndef WPROF_CMD_SHOW_TABLE_H
#define WPROF_CMD_SHOW_TABLE_H

#include "base/json.h"
#include "render/text.h"

/* Below what stands in `out` already; nothing where there are no rows. */
void show_table_text(struct table *t, const char *heading, const struct text_style *style, struct buf *out);

/* An array, and how many rows --top left out: "functions", "functions_left_out". */
void show_table_json(struct table *t, const char *key, struct json_writer *w);

#endif
