/* SPDX-License-Identifier: Apache-2.0 */
/* show --metrics. */
#ifndef WPROF_CMD_SHOW_METRICS_H
#define WPROF_CMD_SHOW_METRICS_H

#include "render/text.h"

#include <stdint.h>

/* Tables of the machine, control groups, processes and threads, as text; at most `top` processes and threads
 * (0: all). */
void show_metrics(const struct session *s, uint64_t top, const struct text_style *style, struct buf *out);

/* The same as members of the open object: metrics, used_by_processes, used_by_threads. */
void show_metrics_json(const struct session *s, uint64_t top, struct json_writer *w);

#endif
