/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the page that stand there without a script: what ran, the figures, the heaviest functions. */
#ifndef WPROF_RENDER_HTML_WORDS_H
#define WPROF_RENDER_HTML_WORDS_H

#include "base/buf.h"
#include "model/functions.h"
#include "render/figures.h"
#include "render/page_data.h"

void html_facts(struct buf *out, const struct figures *f);
void html_quality(struct buf *out, const struct figures *f);
void html_warnings(struct buf *out, const struct figures *f); /* and notes; nothing where there are none */
void html_pruned(struct buf *out, const struct page_data_stats *s);
void html_top(struct buf *out, const struct functions *f, const struct profile *p, size_t metric);

#endif
