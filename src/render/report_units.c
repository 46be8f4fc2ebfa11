/* SPDX-License-Identifier: Apache-2.0 */
/* Slow steps or requests against typical ones, as a flame graph. */
#include "render/report_parts.h"

#include "render/diff_flame.h"

/* Of a page of 3 MB; tooltips are most of it. */
enum { MOST_BYTES = 400000 };

void report_slow(struct report_doc *d)
{
    if (!d->r->slow_units)
        return;
    report_plain(d, d->r->slow_units);
    buf_addstr(d->out, "\n\n");
}

/* The page's own rules for pictures stay out of it, and the other way round: colours are the boxes' own. */
void report_slow_flame(struct report_doc *d)
{
    const struct comparison *c = &d->r->slow;
    struct buf body = {0}, html = {0};
    double height;

    if (!d->html || !c->tree.nodes.n)
        return;
    height = diff_flame_panel(c, COMPARISON_NEW, 0, &body);
    if (body.len <= MOST_BYTES) {
        buf_addf(&html,
                 "<figure class=\"slow-units\"><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f "
                 "%.0f\" "
                 "width=\"%.0f\" height=\"%.0f\" style=\"background:#fff\" fill=\"#1b1f24\" font-size=\"11\" "
                 "font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace\">\n",
                 DIFF_FLAME_WIDTH, height, DIFF_FLAME_WIDTH, height);
        buf_add(&html, buf_str(&body), body.len);
        buf_addstr(&html,
                   "</svg><figcaption>The new side is a slow one, the base side a typical one. Red is what a "
                   "slow one spends more time in, blue what less; numbers are percentage points, of all that "
                   "a typical one takes.</figcaption></figure>");
        report_block(d, &html);
    } else {
        buf_addstr(
            d->out,
            "Their flame graph is too large for this page: wprof show --steps --json has their stacks.\n\n");
    }
    buf_release(&body);
}
