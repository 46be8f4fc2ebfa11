/* SPDX-License-Identifier: Apache-2.0 */
/* Markdown to HTML, by cmark. markdown_none.c stands for it where wprof is built without. */
#ifndef WPROF_RENDER_MARKDOWN_H
#define WPROF_RENDER_MARKDOWN_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* A fenced code block whose info is this and a number is not code: the HTML block of that number takes its
 * place. CommonMark has no tables. */
#define MARKDOWN_BLOCK "wprof-block"

/* Appends the text as HTML. HTML inside the text is left out; links of other schemes than the usual, too. -1
 * with `e`: a block is asked for that there is none of, or wprof is built without cmark. */
int markdown_html(const char *text, size_t n, char *const *blocks, size_t nblocks, struct buf *out,
                  struct err *e);

#endif
