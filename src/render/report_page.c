/* SPDX-License-Identifier: Apache-2.0 */
/* The report as Markdown, and as a page: the same text with tables and pictures in HTML, above the page's
 * panes. */
#include "render/report_parts.h"

#include "render/markdown.h"
#include "render/timeline_svg.h"

#include <stdlib.h>
#include <string.h>

static void doc_init(struct report_doc *d, const struct report *r, struct buf *out)
{
    *d = (struct report_doc){.r = r, .out = out};
    figures_make(&d->figures, r->quality, r->meta);
}

static void doc_release(struct report_doc *d)
{
    for (size_t i = 0; i < d->blocks.n; i++)
        free(d->blocks.a[i]);
    vec_release(&d->blocks);
    figures_release(&d->figures);
}

/* At most one blank line in a row, none at the end. */
static void tidy(struct buf *b, size_t from)
{
    size_t n = from, lines = 2;

    for (size_t i = from; i < b->len; i++) {
        lines = b->data[i] == '\n' ? lines + 1 : 0;
        if (lines <= 2)
            b->data[n++] = b->data[i];
    }
    while (n > from + 1 && b->data[n - 1] == '\n' && b->data[n - 2] == '\n')
        n--;
    b->len = n;
    if (b->data)
        b->data[n] = '\0';
}

int report_md(const struct report *r, struct buf *out, struct err *e)
{
    size_t from = out->len;
    struct report_doc d;
    int rc;

    doc_init(&d, r, out);
    rc = report_doc_fill(&d, e);
    tidy(out, from);
    doc_release(&d);
    return rc;
}

/* What stands before a picture's own element has no place inside a page. */
static const char *element(const char *svg)
{
    const char *at = svg ? strstr(svg, "<svg") : NULL;

    return at ? at : svg;
}

static const struct renderer_ops *page_renderer(void)
{
    for (size_t i = 0; i < nrenderers; i++)
        if (!strcmp(renderers[i]->name, "html"))
            return renderers[i];
    return NULL;
}

int report_html(const struct report *r, const struct report_page *page, struct buf *out, struct err *e)
{
    struct render_input in = *page->in;
    struct buf text = {0}, html = {0}, timeline = {0};
    struct report_doc d;
    int rc;

    doc_init(&d, r, &text);
    d.html = 1;
    d.flame = element(page->flame);
    if (page->in->timeline)
        timeline_svg(page->in->timeline, &timeline);
    d.timeline = timeline.len ? buf_str(&timeline) : NULL;
    d.topology = element(page->topology);
    rc = report_doc_fill(&d, e);
    if (!rc)
        rc = markdown_html(buf_str(&text), text.len, d.blocks.a, d.blocks.n, &html, e);
    if (!rc) {
        in.report = buf_str(&html);
        in.max_bytes = page->max_bytes > html.len ? page->max_bytes - html.len : 1;
        rc = page_renderer()->render(&in, out, e);
    }
    doc_release(&d);
    buf_release(&text);
    buf_release(&html);
    buf_release(&timeline);
    return rc;
}
