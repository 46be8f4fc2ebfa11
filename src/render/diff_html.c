/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as one page: the verdict, the tables, the flame graph in both directions. It needs no script.
 */
#include "base/templates.h"
#include "render/diff.h"
#include "render/diff_flame.h"
#include "render/diff_words.h"
#include "render/markup.h"

#include <stdlib.h>
#include <string.h>

enum { TOPOLOGY_LINES = 200 };

struct page {
    const struct comparison *c;
    const struct diff_style *style;
    struct buf *out;
};

static void put_title(struct page *p)
{
    markup_text(p->out, p->c->side[COMPARISON_NEW].runs.a[0]);
    buf_addstr(p->out, " against ");
    markup_text(p->out, p->c->side[COMPARISON_BASE].runs.a[0]);
    buf_addstr(p->out, " - wprof");
}

static void put_style(struct page *p)
{
    diff_flame_style(p->out);
}

static void put_verdict(struct page *p)
{
    char *verdict = diff_verdict(p->c);

    if (verdict) {
        buf_addf(p->out, "<p class=\"verdict %s\">", p->c->verdict == COMPARISON_FAILS ? "fail" : "pass");
        markup_text(p->out, verdict);
        buf_addstr(p->out, "</p>");
    }
    free(verdict);
    for (size_t i = 0; i < p->c->steps.n; i++) {
        char *step = diff_step(&p->c->steps.a[i]);

        buf_addstr(p->out, "<p class=\"verdict\">");
        markup_text(p->out, step);
        buf_addstr(p->out, "</p>");
        free(step);
    }
}

static void put_words(struct page *p)
{
    struct diff_words w = {0};

    diff_words(&w, p->c, p->style->by);
    for (size_t i = 0; i < w.list.n; i++) {
        buf_addstr(p->out, "<li>");
        markup_text(p->out, w.list.a[i]);
        buf_addstr(p->out, "</li>\n");
    }
    diff_words_release(&w);
}

/* The mark that says which changes are significant is a class of the row. */
static void add_row(struct page *p, const struct table *t, const union table_cell *row)
{
    const char *class = "";

    for (size_t i = 0; i < t->ncolumns; i++)
        if (!strcmp(t->columns[i].key, "mark") && row[i].text)
            class = *row[i].text == '+' ? " class=\"more\"" : " class=\"less\"";
    buf_addf(p->out, "<tr%s>", class);
    for (size_t i = 0; i < t->ncolumns; i++) {
        int name = !strcmp(t->columns[i].key, "name");

        if (table_is_empty(t, i))
            continue;
        buf_addf(p->out, "<td%s>",
                 t->columns[i].type == TABLE_FIGURE ? " class=\"n\""
                 : name                             ? " class=\"name\""
                                                    : " class=\"t\"");
        markup_text(p->out, row[i].text);
        buf_addstr(p->out, "</td>");
    }
    buf_addstr(p->out, "</tr>\n");
}

static void add_table(struct page *p, const struct table *t)
{
    buf_addstr(p->out, "<div class=\"scroll\"><table><thead><tr>");
    for (size_t i = 0; i < t->ncolumns; i++)
        if (!table_is_empty(t, i))
            buf_addf(p->out, "<th%s>%s</th>", t->columns[i].type == TABLE_FIGURE ? " class=\"n\"" : "",
                     t->columns[i].title);
    buf_addstr(p->out, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < t->cells.n; i += t->ncolumns)
        add_row(p, t, &t->cells.a[i]);
    buf_addstr(p->out, "</tbody></table></div>\n");
    if (t->left_out)
        buf_addf(p->out, "<p>%llu more (--top 0 shows all)</p>\n", (unsigned long long)t->left_out);
}

static void put_figures(struct page *p)
{
    const char *tested;
    struct table t;

    if (!p->c->figures.n)
        return;
    buf_addstr(p->out, "<h2>Whole runs</h2>\n");
    tested = diff_figures_table(&t, p->c);
    if (tested)
        buf_addf(p->out, "<p>tested by: %s</p>\n", tested);
    add_table(p, &t);
    table_release(&t);
}

static void put_levels(struct page *p)
{
    for (int l = 0; l < COMPARISON_LEVELS; l++) {
        char heading[160];
        struct table t;

        if (!diff_shows(p->c, (enum comparison_level)l, p->style->by))
            continue;
        buf_addf(p->out, "<h2>%s</h2>\n",
                 diff_heading(heading, sizeof(heading), p->c, (enum comparison_level)l));
        diff_table(&t, p->c, (enum comparison_level)l, p->style->top);
        add_table(p, &t);
        table_release(&t);
    }
}

static void add_svg(struct page *p, const struct buf *body, double height)
{
    buf_addf(p->out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
             "height=\"%.0f\">\n",
             DIFF_FLAME_WIDTH, height, DIFF_FLAME_WIDTH, height);
    buf_add(p->out, buf_str(body), body->len);
    buf_addstr(p->out, "</svg>");
}

static void put_legend(struct page *p)
{
    struct buf body = {0};

    diff_flame_legend(14, &body);
    add_svg(p, &body, 40);
    buf_release(&body);
}

static void add_panel(struct page *p, int side)
{
    struct buf body = {0};
    double height = diff_flame_panel(p->c, side, 0, &body);

    add_svg(p, &body, height);
    buf_release(&body);
}

static void put_after(struct page *p)
{
    add_panel(p, COMPARISON_NEW);
}

static void put_before(struct page *p)
{
    add_panel(p, COMPARISON_BASE);
}

static void put_topology(struct page *p)
{
    if (!p->c->topology.n)
        return;
    buf_addstr(p->out, "<h2>Topology: what one side alone has</h2>\n<ul>\n");
    for (size_t i = 0; i < p->c->topology.n && i < TOPOLOGY_LINES; i++) {
        buf_addstr(p->out, "<li>");
        markup_text(p->out, p->c->topology.a[i]);
        buf_addstr(p->out, "</li>\n");
    }
    buf_addstr(p->out, "</ul>\n");
    if (p->c->topology.n > TOPOLOGY_LINES)
        buf_addf(p->out, "<p>%zu more</p>\n", p->c->topology.n - TOPOLOGY_LINES);
}

static const struct part {
    const char *name;
    void (*put)(struct page *p);
} parts[] = {
    {"title", put_title},     {"style", put_style},       {"verdict", put_verdict}, {"words", put_words},
    {"figures", put_figures}, {"levels", put_levels},     {"legend", put_legend},   {"after", put_after},
    {"before", put_before},   {"topology", put_topology},
};

static int put_part(struct page *p, const char *name, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (strlen(parts[i].name) == n && !memcmp(parts[i].name, name, n)) {
            parts[i].put(p);
            return 0;
        }
    return -1;
}

static int render(const struct comparison *c, const struct diff_style *style, struct buf *out, struct err *e)
{
    struct page p = {c, style, out};
    const char *text = template_get("diff.html", NULL), *open, *close;

    while ((open = strstr(text, "{{")) && (close = strstr(open, "}}"))) {
        size_t n = (size_t)(close - open) - 2;

        buf_add(out, text, (size_t)(open - text));
        if (put_part(&p, open + 2, n))
            return err_set(e, "diff.html asks for an unknown part '%.*s'", (int)n, open + 2);
        text = close + 2;
    }
    buf_addstr(out, text);
    return 0;
}

const struct diff_renderer diff_html = {
    .name = "html",
    .summary = "one page with the tables and the differential flame graph",
    .wants_tree = 1,
    .render = render,
};
