/* SPDX-License-Identifier: Apache-2.0 */
/* `show --gpu`: what accelerators did, why they didn't, and what the host did meanwhile. */
#ifndef WPROF_CMD_SHOW_GPU_H
#define WPROF_CMD_SHOW_GPU_H

#include "base/json.h"
#include "model/session.h"
#include "render/text.h"

/* Warns where nothing of the kind was recorded. At most `top` rows a table (0: all). */
void show_gpu(const struct session *s, uint64_t top, const struct text_style *style, struct buf *out);

/* The part of it that the overview has; nothing where nothing ran on a GPU. */
void show_gpu_overview(const struct session *s, uint64_t top, const struct text_style *style,
                       struct buf *out);

/* Members of the open object. */
void show_gpu_json(const struct session *s, uint64_t top, struct json_writer *w);

#endif
