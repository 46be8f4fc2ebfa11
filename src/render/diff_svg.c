/* SPDX-License-Identifier: Apache-2.0 */
/* Both directions of the differential flame graph in one picture, for a ticket. */
#include "render/diff.h"
#include "render/diff_flame.h"
#include "render/diff_words.h"
#include "render/markup.h"

#include <stdlib.h>

#define LINE       16
#define MOST_CHARS 176

static double add_header(const struct comparison *c, const struct diff_style *style, struct buf *out)
{
    struct diff_words w = {0};
    char *verdict = diff_verdict(c);
    double y = 24;

    buf_addf(out, "<text class=\"h\" x=\"%.0f\" y=\"%.0f\">new against base</text>\n", DIFF_FLAME_MARGIN, y);
    diff_words(&w, c, style->by);
    if (verdict)
        *vec_push(&w.list) = verdict;
    for (size_t i = 0; i < w.list.n; i++) {
        y += LINE;
        buf_addf(out, "<text x=\"%.0f\" y=\"%.0f\">", DIFF_FLAME_MARGIN, y);
        markup_cut(out, w.list.a[i], MOST_CHARS);
        buf_addstr(out, "</text>\n");
    }
    diff_words_release(&w);
    y += 1.5 * LINE;
    diff_flame_legend(y, out);
    return y + 2 * LINE;
}

static int render(const struct comparison *c, const struct diff_style *style, struct buf *out, struct err *e)
{
    struct buf body = {0};
    double height = add_header(c, style, &body);

    height += diff_flame_panel(c, COMPARISON_NEW, height, &body);
    height += diff_flame_panel(c, COMPARISON_BASE, height, &body);
    buf_addf(out,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
             "width=\"%.0f\" "
             "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" font-size=\"11\">\n<style>",
             DIFF_FLAME_WIDTH, height, DIFF_FLAME_WIDTH, height);
    diff_flame_style(out);
    buf_addstr(out, "</style>\n<rect class=\"ground\" fill=\"#ffffff\" width=\"100%\" height=\"100%\"/>\n");
    buf_add(out, buf_str(&body), body.len);
    buf_addstr(out, "</svg>\n");
    buf_release(&body);
    return 0;
}

const struct diff_renderer diff_svg = {
    .name = "svg",
    .summary = "the differential flame graph, both directions",
    .wants_tree = 1,
    .render = render,
};
