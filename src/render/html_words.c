/* SPDX-License-Identifier: Apache-2.0 */
#include "render/html_words.h"

#include "base/units.h"
#include "render/markup.h"
#include "render/palette.h"

#include <string.h>

enum { NOTES_OPEN = 5 };

#define TOP       30
#define FEW_FACTS 4 /* host, start, duration and event; the others unfold */

static void add_fact(struct buf *out, const struct figure *x)
{
    buf_addstr(out, "<span>");
    markup_text(out, x->label);
    buf_addstr(out, " <b>");
    markup_text(out, x->value);
    buf_addstr(out, "</b></span>\n");
}

void html_facts(struct buf *out, const struct figures *f)
{
    size_t few = f->facts.n < FEW_FACTS ? f->facts.n : FEW_FACTS;

    buf_addstr(out, f->facts.n > few ? "<details class=\"facts\"><summary>" : "<div class=\"facts\">");
    for (size_t i = 0; i < few; i++)
        add_fact(out, &f->facts.a[i]);
    buf_addstr(out, f->facts.n > few ? "</summary>\n" : "</div>\n");
    if (f->facts.n == few)
        return;
    for (size_t i = few; i < f->facts.n; i++)
        add_fact(out, &f->facts.a[i]);
    buf_addstr(out, "</details>\n");
}

static void add_figure(struct buf *out, const struct figure *x)
{
    buf_addf(out, "<span%s title=\"", x->bad ? " class=\"bad\"" : "");
    markup_text(out, x->help);
    buf_addstr(out, "\">");
    markup_text(out, x->label);
    buf_addstr(out, " <b>");
    markup_text(out, x->value);
    buf_addstr(out, "</b></span>\n");
}

/* What was not measured comes last, together. */
void html_quality(struct buf *out, const struct figures *f)
{
    size_t absent = 0;

    for (size_t i = 0; i < f->quality.n; i++)
        if (f->quality.a[i].measured)
            add_figure(out, &f->quality.a[i]);
    for (size_t i = 0; i < f->quality.n; i++) {
        if (f->quality.a[i].measured)
            continue;
        buf_addstr(out, absent++ ? ", " : "<span>not measured: ");
        markup_text(out, f->quality.a[i].label);
    }
    if (absent)
        buf_addstr(out, "</span>\n");
}

/* Many of them, a line or two for each of many imported files, would be all that is seen of the page. */
static void add_notes(struct buf *out, const struct figures *f)
{
    int fold = f->notes.n > NOTES_OPEN;

    if (fold) {
        buf_addf(out, "<details class=\"notes\"><summary>%zu notes on this recording: ", f->notes.n);
        markup_text(out, f->notes.a[0]);
        buf_addstr(out, ", ...</summary>\n");
    }
    for (size_t i = 0; i < f->notes.n; i++) {
        buf_addstr(out, "<p class=\"notice\">");
        markup_text(out, f->notes.a[i]);
        buf_addstr(out, "</p>\n");
    }
    if (fold)
        buf_addstr(out, "</details>\n");
}

void html_warnings(struct buf *out, const struct figures *f)
{
    if (f->warnings.n) {
        buf_addf(out, "<details class=\"warnings\"%s><summary>%zu %s about this recording</summary><ul>\n",
                 f->warnings.n <= 3 ? " open" : "", f->warnings.n,
                 f->warnings.n == 1 ? "warning" : "warnings");
        for (size_t i = 0; i < f->warnings.n; i++) {
            buf_addstr(out, "<li>");
            markup_text(out, f->warnings.a[i]);
            buf_addstr(out, "</li>\n");
        }
        buf_addstr(out, "</ul></details>\n");
    }
    add_notes(out, f);
}

void html_pruned(struct buf *out, const struct page_data_stats *s)
{
    char count[32], share[32];

    if (!s->pruned_nodes)
        return;
    buf_addf(
        out,
        "<p class=\"notice\" id=\"pruned\">To keep this file small, the %s lightest frames, below %.1g %% "
        "each, were pruned. %s of the weight ends in them: their callers have a [pruned] box for it. The "
        "list of "
        "functions counts all.</p>\n",
        units_count(count, sizeof(count), s->pruned_nodes), s->min_share * 100,
        units_share(share, sizeof(share), s->pruned_share));
}

static void add_row(struct buf *out, const struct functions *f, const struct profile *p, uint32_t i,
                    double sum)
{
    const struct profile_frame *frame = &p->frames.a[i];
    char self[32], total[32];

    buf_addf(out, "<tr><td>%s</td><td>%s</td><td>%s</td><td>",
             units_share(self, sizeof(self), (double)f->self[i] / sum),
             units_share(total, sizeof(total), (double)f->total[i] / sum), palette_kind(frame->kind)->label);
    markup_text(out, strtab_get(&p->strings, frame->func));
    buf_addstr(out, "</td><td>");
    markup_text(out, strtab_get(&p->strings, frame->file ? frame->file : frame->module));
    buf_addstr(out, "</td></tr>\n");
}

void html_top(struct buf *out, const struct functions *f, const struct profile *p, size_t metric)
{
    uint32_t top[TOP];
    size_t n = functions_top(f, top, TOP);

    if (!n) {
        buf_addstr(out, "<p class=\"notice\">No samples: nothing of this metric was recorded.</p>\n");
        return;
    }
    buf_addstr(out,
               "<table><tr><th>self</th><th>total</th><th>kind</th><th>function</th><th>where</th></tr>\n");
    for (size_t i = 0; i < n; i++)
        add_row(out, f, p, top[i], (double)p->metrics.a[metric].sum);
    buf_addstr(out, "</table>\n");
}
