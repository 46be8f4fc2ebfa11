/* SPDX-License-Identifier: Apache-2.0 */
/* A report in its formats. All append to `out`. */
#ifndef WPROF_RENDER_REPORT_H
#define WPROF_RENDER_REPORT_H

#include "model/report.h"
#include "render/renderer.h"
#include "render/text.h"

/* For a terminal: at most a screen, unless `all`. */
void report_text(const struct report *r, const struct text_style *style, int all, struct buf *out);

/* One object, also inside an array: the writer's. */
void report_json(const struct report *r, struct json_writer *w);

/* Markdown with pipe tables, as issue trackers take it; made of templates/report.md. */
int report_md(const struct report *r, struct buf *out, struct err *e);

/*
 * A page that can be read as it is, printed and without a script, with the flame graph, functions and
 * timeline of `in` below it. flame: a picture (SVG), for those who have no script; topology: the same, or
 * NULL.
 */
struct report_page {
    const struct render_input *in;
    const char *flame, *topology; /* NULL: none */
    size_t max_bytes;
};

int report_html(const struct report *r, const struct report_page *page, struct buf *out, struct err *e);

#endif
