/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign text inside Markdown, also in a cell of a pipe table: it stays text, on one line, whatever it
 * holds. */
#ifndef WPROF_RENDER_MARKDOWN_TEXT_H
#define WPROF_RENDER_MARKDOWN_TEXT_H

#include "base/buf.h"

void markdown_text(struct buf *out, const char *s);

#endif
