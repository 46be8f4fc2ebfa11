/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for a terminal. */
#include "render/diff.h"
#include "render/diff_words.h"

#include <stdio.h>
#include <stdlib.h>

enum { TOPOLOGY_LINES_SHOWN = 10, INDENT = 2 };

static void add_words(const struct comparison *c, const struct diff_style *style, struct buf *out)
{
    struct diff_words w = {0};

    diff_words(&w, c, style->by);
    for (size_t i = 0; i < w.list.n; i++)
        text_wrap(out, w.list.a[i], style->text.width, INDENT, 0);
    diff_words_release(&w);
}

static void add_topology(const struct comparison *c, const struct diff_style *style, struct buf *out)
{
    if (!c->topology.n)
        return;
    buf_addf(out, "\nTopology: %zu node%s and edges on one side alone (wprof diff --topology --by-name)\n",
             c->topology.n, c->topology.n == 1 ? "" : "s");
    for (size_t i = 0; i < c->topology.n && i < TOPOLOGY_LINES_SHOWN; i++) {
        buf_addstr(out, "  ");
        text_wrap(out, c->topology.a[i], style->text.width, 2 * INDENT, INDENT);
    }
    if (c->topology.n > TOPOLOGY_LINES_SHOWN)
        buf_addf(out, "  ... %zu more\n", c->topology.n - TOPOLOGY_LINES_SHOWN);
}

static void add_level(const struct comparison *c, enum comparison_level level, const struct diff_style *style,
                      struct buf *out)
{
    char heading[160];
    struct table t;

    diff_table(&t, c, level, style->top);
    buf_addch(out, '\n');
    text_table(&t, diff_heading(heading, sizeof(heading), c, level), &style->text, out);
    table_release(&t);
}

static void add_figures(const struct comparison *c, const struct diff_style *style, struct buf *out)
{
    char heading[160];
    const char *tested;
    struct table t;

    if (!c->figures.n)
        return;
    tested = diff_figures_table(&t, c);
    snprintf(heading, sizeof(heading), "Whole runs%s%s", tested ? ", tested by: " : "", tested ? tested : "");
    buf_addch(out, '\n');
    text_table(&t, heading, &style->text, out);
    table_release(&t);
}

static void add_steps(const struct comparison *c, const struct diff_style *style, struct buf *out)
{
    for (size_t i = 0; i < c->steps.n; i++) {
        char *step = diff_step(&c->steps.a[i]);

        text_wrap(out, step, style->text.width, INDENT, 0);
        free(step);
    }
}

static int render(const struct comparison *c, const struct diff_style *style, struct buf *out, struct err *e)
{
    char *verdict = diff_verdict(c);

    add_words(c, style, out);
    add_figures(c, style, out);
    for (int l = 0; l < COMPARISON_LEVELS; l++)
        if (diff_shows(c, (enum comparison_level)l, style->by))
            add_level(c, (enum comparison_level)l, style, out);
    add_topology(c, style, out);
    if (verdict || c->steps.n)
        buf_addch(out, '\n');
    add_steps(c, style, out);
    if (verdict)
        text_wrap(out, verdict, style->text.width, INDENT, 0);
    free(verdict);
    return 0;
}

const struct diff_renderer diff_text = {
    .name = "text",
    .summary = "tables for a terminal",
    .render = render,
};
