/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as Markdown, for a comment on a change: pipe tables as GitHub and GitLab show them. */
#include "render/diff.h"
#include "render/diff_words.h"
#include "render/markdown_text.h"

#include <stdlib.h>

static void add_row(const struct table *t, const union table_cell *row, struct buf *out)
{
    buf_addstr(out, "\n|");
    for (size_t i = 0; i < t->ncolumns; i++) {
        if (table_is_empty(t, i))
            continue;
        buf_addch(out, ' ');
        if (row[i].text)
            markdown_text(out, row[i].text);
        buf_addstr(out, " |");
    }
}

static void add_table(const struct table *t, struct buf *out)
{
    buf_addch(out, '|');
    for (size_t i = 0; i < t->ncolumns; i++)
        if (!table_is_empty(t, i))
            buf_addf(out, " %s |", t->columns[i].title);
    buf_addstr(out, "\n|");
    for (size_t i = 0; i < t->ncolumns; i++)
        if (!table_is_empty(t, i))
            buf_addstr(out, t->columns[i].type == TABLE_TEXT ? " --- |" : " ---: |");
    for (size_t i = 0; i < t->cells.n; i += t->ncolumns)
        add_row(t, &t->cells.a[i], out);
    buf_addch(out, '\n');
    if (t->left_out)
        buf_addf(out, "\n%llu more\n", (unsigned long long)t->left_out);
}

static void add_figures(const struct comparison *c, struct buf *out)
{
    struct table t;
    const char *tested = diff_figures_table(&t, c);

    buf_addf(out, "#### Whole runs%s%s\n\n", tested ? ", tested by: " : "", tested ? tested : "");
    add_table(&t, out);
    buf_addch(out, '\n');
    table_release(&t);
}

static void add_words(const struct comparison *c, const struct diff_style *style, struct buf *out)
{
    struct diff_words w = {0};

    diff_words(&w, c, style->by);
    for (size_t i = 0; i < w.list.n; i++) {
        buf_addstr(out, "- ");
        markdown_text(out, w.list.a[i]);
        buf_addch(out, '\n');
    }
    diff_words_release(&w);
}

static void add_level(const struct comparison *c, enum comparison_level level, const struct diff_style *style,
                      struct buf *out)
{
    char heading[160];
    struct table t;

    diff_table(&t, c, level, style->top);
    buf_addf(out, "#### %s\n\n", diff_heading(heading, sizeof(heading), c, level));
    add_table(&t, out);
    buf_addch(out, '\n');
    table_release(&t);
}

static void add_steps(const struct comparison *c, struct buf *out)
{
    for (size_t i = 0; i < c->steps.n; i++) {
        char *step = diff_step(&c->steps.a[i]);

        buf_addstr(out, "- ");
        markdown_text(out, step);
        buf_addstr(out, i + 1 < c->steps.n ? "\n" : "\n\n");
        free(step);
    }
}

static int render(const struct comparison *c, const struct diff_style *style, struct buf *out, struct err *e)
{
    char *verdict = diff_verdict(c);

    buf_addstr(out, "### wprof: new against base\n\n");
    if (verdict) {
        buf_addstr(out, c->verdict == COMPARISON_FAILS ? "**" : "");
        markdown_text(out, verdict);
        buf_addstr(out, c->verdict == COMPARISON_FAILS ? "**\n\n" : "\n\n");
    }
    add_steps(c, out);
    if (c->figures.n)
        add_figures(c, out);
    for (int l = 0; l < COMPARISON_LEVELS; l++)
        if (diff_shows(c, (enum comparison_level)l, style->by))
            add_level(c, (enum comparison_level)l, style, out);
    buf_addstr(out, "<details><summary>how it was compared</summary>\n\n");
    add_words(c, style, out);
    buf_addstr(out, "\n</details>\n");
    free(verdict);
    return 0;
}

const struct diff_renderer diff_md = {
    .name = "md",
    .summary = "Markdown, for a comment on a change",
    .render = render,
};
