/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of sessions. */
#ifndef WPROF_RENDER_SESSIONS_H
#define WPROF_RENDER_SESSIONS_H

#include "model/sessions.h"
#include "render/text.h"

void sessions_text_table(const struct sessions *s, const struct text_style *style, struct buf *out);
void sessions_json(const struct sessions *s, struct buf *out);

/* A page: the list, which can be filtered, each session a link to its page, or else its directory. `from`:
 * the directory that the page is going to lie in, absolute; `here`: what the list's paths are relative to. */
void sessions_page(const struct sessions *s, const char *from, const char *here, struct buf *out);

#endif
