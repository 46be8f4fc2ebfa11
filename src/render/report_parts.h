/* SPDX-License-Identifier: Apache-2.0 */
/* The report as Markdown whose tables are either pipe tables or HTML blocks beside it. */
#ifndef WPROF_RENDER_REPORT_PARTS_H
#define WPROF_RENDER_REPORT_PARTS_H

#include "base/vec.h"
#include "render/figures.h"
#include "render/report.h"

struct report_doc {
    const struct report *r;
    struct figures figures;
    struct buf *out;
    int html;                                /* tables and pictures go to `blocks` */
    VEC(char *) blocks;                      /* owned */
    const char *flame, *timeline, *topology; /* pictures; NULL: none */
};

/* Fills templates/report.md into d->out. -1 with `e`. */
int report_doc_fill(struct report_doc *d, struct err *e);

/* ---- Markdown, for the parts ---- */

void report_plain(struct report_doc *d, const char *s); /* a foreign text inside a sentence */
void report_code(struct report_doc *d, const char *s);  /* a foreign name */
void report_heading(struct report_doc *d, unsigned level, const char *s);
void report_table_put(struct report_doc *d, const struct table *t);
void report_block(struct report_doc *d, struct buf *html); /* takes the HTML over, and puts it here */

void report_link(struct report_doc *d); /* to the page's panes */

/* What slow steps or requests do: sentences; the page's differential flame graph. */
void report_slow(struct report_doc *d);
void report_slow_flame(struct report_doc *d);

/* A bar of time, `whole` long. */
void report_bar(struct report_doc *d, const struct report_part *parts, size_t n, uint64_t whole);

/* That of programs, where the main thread's time does not tell who used the CPUs. */
void report_program_bar(struct report_doc *d);

/* Those of accelerators, and why these were idle. */
void report_device_bars(struct report_doc *d);

#endif
