/* SPDX-License-Identifier: Apache-2.0 */
/* Markdown whatever the names are, and tables in both forms. */
#include "render/report_parts.h"

#include "base/units.h"
#include "render/markup.h"

#include <math.h>
#include <string.h>

/* Trackers call somebody who is named after an @: a joiner, which has no width, keeps symbol versions from
 * it. */
#define WORD_JOINER "\342\201\240"

static void escaped(struct report_doc *d, const char *s)
{
    for (; *s; s++) {
        if (strchr("\\`*_[]<>|~&#", *s))
            buf_addch(d->out, '\\');
        buf_addch(d->out, *s);
        if (*s == '@' && !d->html)
            buf_addstr(d->out, WORD_JOINER);
    }
}

void report_plain(struct report_doc *d, const char *s)
{
    struct buf clean = {0};

    if (!s)
        return;
    text_clean(s, 0, &clean);
    escaped(d, buf_str(&clean));
    buf_release(&clean);
}

/* The fence is longer than any run of backticks inside. A bar would end a pipe table's cell even there. */
static void code_span(struct buf *out, const char *s, int in_table)
{
    size_t longest = 0, run = 0, n = strlen(s);

    for (size_t i = 0; i < n; i++) {
        run = s[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        buf_addch(out, '`');
    if (!n || *s == '`' || s[n - 1] == '`')
        buf_addch(out, ' ');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '|' && in_table)
            buf_addch(out, '\\');
        buf_addch(out, s[i]);
    }
    if (!n || *s == '`' || s[n - 1] == '`')
        buf_addch(out, ' ');
    for (size_t i = 0; i <= longest; i++)
        buf_addch(out, '`');
}

void report_code(struct report_doc *d, const char *s)
{
    struct buf clean = {0};

    text_clean(s ? s : "", 0, &clean);
    code_span(d->out, buf_str(&clean), 0);
    buf_release(&clean);
}

void report_heading(struct report_doc *d, unsigned level, const char *s)
{
    buf_addch(d->out, '\n');
    for (; level; level--)
        buf_addch(d->out, '#');
    buf_addch(d->out, ' ');
    report_plain(d, s);
    buf_addstr(d->out, "\n\n");
}

void report_block(struct report_doc *d, struct buf *html)
{
    buf_addf(d->out, "\n```wprof-block %zu\n```\n\n", d->blocks.n);
    *vec_push(&d->blocks) = html->data ? buf_detach(html) : mem_strdup("");
}

void report_link(struct report_doc *d)
{
    struct buf html = {0};

    buf_addstr(&html, "<p class=\"scripted-only\"><a href=\"#panes\">Flame graph, functions, timeline and "
                      "topology</a> are below "
                      "the tables.</p>");
    report_block(d, &html);
}

/* ---- tables ---- */

static int is_shown(const struct table *t, size_t c)
{
    const struct table_column *col = &t->columns[c];

    if (!col->title)
        return 0;
    for (size_t i = 0; i < table_rows(t); i++) {
        const union table_cell *v = &t->cells.a[i * t->ncolumns + c];

        if (!table_is_text(col->type) || v->text)
            return 1;
    }
    return 0;
}

/* A kernel's name may be pages long: its ends tell which it is. */
enum { CELL_MAX = 160 };

static void put_cell(const struct table *t, size_t c, const union table_cell *v, struct buf *out)
{
    if (t->columns[c].type == TABLE_TEXT)
        text_clean(v->text ? v->text : "", CELL_MAX, out);
    else
        text_cell(&t->columns[c], v, out);
}

static void pipe_row(struct report_doc *d, const struct table *t, size_t row)
{
    struct buf b = {0};

    for (size_t c = 0; c < t->ncolumns; c++) {
        const union table_cell *v = &t->cells.a[row * t->ncolumns + c];

        if (!is_shown(t, c))
            continue;
        buf_clear(&b);
        put_cell(t, c, v, &b);
        buf_addstr(d->out, "| ");
        if (t->columns[c].type == TABLE_TEXT && b.len)
            code_span(d->out, buf_str(&b), 1);
        else
            buf_addstr(d->out, buf_str(&b));
        buf_addch(d->out, ' ');
    }
    buf_addstr(d->out, "|\n");
    buf_release(&b);
}

static void pipe_table(struct report_doc *d, const struct table *t)
{
    for (size_t c = 0; c < t->ncolumns; c++)
        if (is_shown(t, c))
            buf_addf(d->out, "| %s ", t->columns[c].title);
    buf_addstr(d->out, "|\n");
    for (size_t c = 0; c < t->ncolumns; c++)
        if (is_shown(t, c))
            buf_addstr(d->out, t->columns[c].type == TABLE_TEXT ? "|---" : "|---:");
    buf_addstr(d->out, "|\n");
    for (size_t i = 0; i < table_rows(t); i++)
        pipe_row(d, t, i);
    buf_addch(d->out, '\n');
}

static void html_cell(struct buf *out, const struct table_column *c, const char *text, const char *tag)
{
    buf_addf(out, "<%s%s>", tag, c->type == TABLE_TEXT ? "" : " class=\"n\"");
    markup_text(out, text);
    buf_addf(out, "</%s>", tag);
}

static void html_table(struct report_doc *d, const struct table *t)
{
    struct buf html = {0}, b = {0};

    buf_addstr(&html, "<div class=\"wide\"><table><thead><tr>");
    for (size_t c = 0; c < t->ncolumns; c++)
        if (is_shown(t, c))
            html_cell(&html, &t->columns[c], t->columns[c].title, "th");
    buf_addstr(&html, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < table_rows(t); i++) {
        buf_addstr(&html, "<tr>");
        for (size_t c = 0; c < t->ncolumns; c++) {
            if (!is_shown(t, c))
                continue;
            buf_clear(&b);
            put_cell(t, c, &t->cells.a[i * t->ncolumns + c], &b);
            html_cell(&html, &t->columns[c], buf_str(&b), "td");
        }
        buf_addstr(&html, "</tr>\n");
    }
    buf_addstr(&html, "</tbody></table></div>");
    report_block(d, &html);
    buf_release(&b);
}

void report_table_put(struct report_doc *d, const struct table *t)
{
    char count[32];

    if (d->html)
        html_table(d, t);
    else
        pipe_table(d, t);
    if (t->left_out)
        buf_addf(d->out, "%s more %s left out.\n\n", units_count(count, sizeof(count), t->left_out),
                 t->left_out == 1 ? "row is" : "rows are");
}

/* ---- the bar ---- */

enum { CELLS = 60 };

static void text_bar(struct report_doc *d, const struct report_part *parts, size_t n, uint64_t whole)
{
    uint64_t sum = 0;
    size_t at = 0;

    buf_addstr(d->out, "```\n");
    for (size_t i = 0; i < n; i++) {
        const struct report_part *p = &parts[i];
        const char *cell = !p->blocked ? "█" : !strcmp(p->key, "runq") ? "▒" : "░";

        sum += p->ns;
        for (; at < CELLS && (double)at + 0.5 < (double)sum / (double)whole * CELLS; at++)
            buf_addstr(d->out, cell);
    }
    for (; at < CELLS; at++)
        buf_addstr(d->out, "·");
    buf_addstr(d->out, "\n```\n\n");
}

void report_bar(struct report_doc *d, const struct report_part *parts, size_t n, uint64_t whole)
{
    struct buf html = {0};
    char ns[32], share[32];

    if (!d->html) {
        text_bar(d, parts, n, whole);
        return;
    }
    buf_addstr(&html, "<div class=\"wall\">");
    for (size_t i = 0; i < n; i++) {
        const struct report_part *p = &parts[i];
        double part = (double)p->ns / (double)whole;

        buf_addf(&html, "<span class=\"%s\" style=\"width:%.3f%%\" title=\"%s: %s, %s\">",
                 !p->blocked               ? "ran"
                 : !strcmp(p->key, "runq") ? "queue"
                                           : "wait",
                 part * 100, p->label, units_duration(ns, sizeof(ns), p->ns),
                 units_share(share, sizeof(share), part));
        if (part > 0.08)
            buf_addf(&html, "%s %s", p->label, units_share(share, sizeof(share), part));
        buf_addstr(&html, "</span>");
    }
    buf_addstr(&html, "</div>");
    report_block(d, &html);
}
