/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit's XML, as CI systems show it: a test case for each whole-run figure and row, failures where the gate
 * fails. */
#include "render/diff.h"
#include "render/diff_words.h"
#include "render/markup.h"

#include <math.h>
#include <stdlib.h>

static void attribute(struct buf *out, const char *name, const char *value)
{
    buf_addf(out, " %s=\"", name);
    markup_text(out, value);
    buf_addch(out, '"');
}

struct cases {
    const struct comparison *c;
    struct buf text;
    size_t n, failures, skipped;
};

static void add_case(struct cases *x, const char *suite, const char *name, enum comparison_unit unit,
                     const struct comparison_value *v, int fails)
{
    char change[64], relative[64];

    buf_addstr(&x->text, "  <testcase");
    attribute(&x->text, "classname", suite);
    attribute(&x->text, "name", name);
    x->n++;
    if (isnan(v->p)) {
        x->skipped++;
        buf_addstr(&x->text, "><skipped message=\"not tested\"/></testcase>\n");
        return;
    }
    if (!fails) {
        buf_addstr(&x->text, "/>\n");
        return;
    }
    x->failures++;
    buf_addstr(&x->text, "><failure type=\"slower\" message=\"");
    buf_addf(&x->text, "%s (%s), q %.2g", diff_value(change, sizeof(change), unit, v->change, 1),
             diff_relative(relative, sizeof(relative), v), v->q);
    buf_addstr(&x->text, "\"/></testcase>\n");
}

static void add_cases(struct cases *x, enum comparison_level by)
{
    const struct comparison *c = x->c;
    double above = c->fail_above;

    for (size_t i = 0; i < c->figures.n; i++) {
        const struct comparison_figure *f = &c->figures.a[i];
        int over = f->total && f->value.base > 0 && f->value.change / f->value.base > above;

        add_case(x, "whole run", f->name, f->unit, &f->value, above > 0 && over && f->value.significant);
    }
    for (size_t i = 0; i < c->level[by].rows.n; i++) {
        const struct comparison_row *r = &c->level[by].rows.a[i];

        add_case(x, comparison_level_name(by), r->name, c->level[by].unit, &r->value,
                 c->verdict == COMPARISON_FAILS && r->cost > above && r->value.significant);
    }
}

static void add_output(const struct comparison *c, const char *verdict, struct buf *out)
{
    buf_addstr(out, "  <system-out>");
    for (size_t i = 0; i < c->steps.n; i++) {
        char *step = diff_step(&c->steps.a[i]);

        markup_text(out, step);
        buf_addch(out, '\n');
        free(step);
    }
    if (verdict)
        markup_text(out, verdict);
    buf_addstr(out, "</system-out>\n");
}

static int render(const struct comparison *c, const struct diff_style *style, struct buf *out, struct err *e)
{
    struct cases x = {.c = c};
    char *verdict = diff_verdict(c);

    add_cases(&x, style->by);
    if (c->verdict == COMPARISON_NO_JUDGEMENT) {
        x.n++;
        buf_addstr(&x.text, "  <testcase classname=\"gate\" name=\"verdict\"><error");
        attribute(&x.text, "message", c->because);
        buf_addstr(&x.text, "/></testcase>\n");
    }
    buf_addf(out,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<testsuite name=\"wprof diff\" tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"%zu\">\n",
             x.n, x.failures, c->verdict == COMPARISON_NO_JUDGEMENT, x.skipped);
    buf_add(out, buf_str(&x.text), x.text.len);
    if (verdict || c->steps.n)
        add_output(c, verdict, out);
    buf_addstr(out, "</testsuite>\n");
    buf_release(&x.text);
    free(verdict);
    return 0;
}

const struct diff_renderer diff_junit = {
    .name = "junit",
    .summary = "JUnit's XML: a test case for each row",
    .render = render,
};
