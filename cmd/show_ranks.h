/* SPDX-License-Identifier: Apache-2.0 */
/* `show --ranks`. */
#ifndef WPROF_CMD_SHOW_RANKS_H
#define WPROF_CMD_SHOW_RANKS_H

#include "base/err.h"
#include "base/json.h"
#include "model/session.h"
#include "render/text.h"

/* -1 with `e`: the session is of one recording. */
int show_ranks(const struct session *s, uint64_t top, const struct text_style *style, struct buf *out,
               struct err *e);
int show_ranks_json(const struct session *s, uint64_t top, struct json_writer *w, struct err *e);

#endif
