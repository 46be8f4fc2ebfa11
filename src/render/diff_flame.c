/* SPDX-License-Identifier: Apache-2.0 */
#include "render/diff_flame.h"

#include "model/frames.h"
#include "render/diff_words.h"
#include "render/flame.h"
#include "render/markup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH        DIFF_FLAME_WIDTH
#define MARGIN       DIFF_FLAME_MARGIN
#define ROW          17
#define CHAR         6.65 /* of the 11 px monospace font */
#define MIN_PIXELS   0.4
#define MIN_ROW      0.02
#define MAX_BOXES    6000
#define LEAST_CHANGE 0.0005 /* of the whole */

enum { SHADES = 5, LEGEND_LINE = 16 };

/* From little to much: more on the new side, less on it; by light and by dark. */
static const char *const more[2][SHADES] = {{"#fbe3dd", "#f7bfb0", "#f39d88", "#ee7d66", "#e5604b"},
                                            {"#43302d", "#633a33", "#87463a", "#9d4a3b", "#b34f3c"}};
static const char *const less[2][SHADES] = {{"#dde9f7", "#b3d0ee", "#93bce6", "#72a6de", "#5394d6"},
                                            {"#2b3440", "#2e4560", "#315a85", "#33659a", "#2f6fb5"}};
/* What tests don't tell from noise. */
static const char *const unsure[2][2] = {{"#f3ecea", "#e8edf2"}, {"#393533", "#31363c"}};
static const char *const same[2] = {"#eceef1", "#33383f"};

struct panel {
    const struct comparison *c;
    const struct profile *p;
    struct flame flame;
    struct buf *out;
    const struct comparison_row **row; /* of each frame, where its function was tested; else NULL */
    int tested;                        /* any was */
    double per_unit, top, most; /* most: the greatest change of a box that has a full colour, a share of the
                                   base side's whole */
};

void diff_flame_style(struct buf *out)
{
    buf_addstr(out, "text{font:11px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1b1f24}"
                    ".h{font-size:13px;font-weight:bold}.q{fill:#4b535d}\n");
    for (int dark = 0; dark < 2; dark++) {
        buf_addstr(
            out,
            dark ? "@media(prefers-color-scheme:dark){.ground{fill:#16191d}text{fill:#eceff2}.q{fill:#aab2bd}"
                 : "");
        buf_addf(out, ".s{fill:%s}.um{fill:%s}.ul{fill:%s}", same[dark], unsure[dark][0], unsure[dark][1]);
        for (int k = 0; k < SHADES; k++)
            buf_addf(out, ".m%d{fill:%s}.l%d{fill:%s}", k, more[dark][k], k, less[dark][k]);
        buf_addstr(out, dark ? "}\n" : "\n");
    }
}

/* A node's part of its side's whole, or what stands for it where quantities are compared: by the base's
 * whole. */
static double part_of(const struct comparison *c, int side, uint32_t node)
{
    const struct profile_metric *m = &c->tree.metrics.a[side];
    double whole = (double)c->tree.metrics.a[COMPARISON_BASE].sum / c->side[COMPARISON_BASE].per;

    return c->side[side].per > 0 && whole > 0 ? (double)m->total[node] / c->side[side].per / whole : 0;
}

static double change_of(const struct comparison *c, uint32_t node)
{
    return part_of(c, COMPARISON_NEW, node) - part_of(c, COMPARISON_BASE, node);
}

static void find_rows(struct panel *x)
{
    x->row = mem_calloc(x->p->frames.n + 1, sizeof(*x->row));
    for (size_t i = 0; i < x->c->level[COMPARISON_FUNCTIONS].rows.n; i++) {
        const struct comparison_row *r = &x->c->level[COMPARISON_FUNCTIONS].rows.a[i];

        if (!isnan(r->value.q) && r->frame < x->p->frames.n) {
            x->row[r->frame] = r;
            x->tested = 1;
        }
    }
}

static const struct comparison_row *row_of(const struct panel *x, const struct flame_box *b)
{
    return b->node ? x->row[x->p->nodes.a[b->node].frame] : NULL;
}

/* Whether its function changed, and in that direction, by more than noise does. Where nothing could be
 * tested, changes are shown as they are. */
static int is_sure(const struct panel *x, const struct flame_box *b)
{
    const struct comparison_row *r = row_of(x, b);

    if (!x->tested)
        return 1;
    return r && r->value.significant && (r->value.change > 0) == (change_of(x->c, b->node) > 0);
}

static void find_most(struct panel *x)
{
    for (size_t i = 1; i < x->flame.boxes.n; i++) {
        const struct flame_box *b = &x->flame.boxes.a[i];

        if (!b->pruned && is_sure(x, b))
            x->most = fmax(x->most, fabs(change_of(x->c, b->node)));
    }
}

/* The class of a change, "m3", and its colour for viewers without style sheets; differences that are too
 * small to see are none. */
static void add_colour(const struct panel *x, const struct flame_box *b, double change)
{
    double part = x->most > 0 ? sqrt(fabs(change) / x->most) : 0;
    int shade = (int)(part * SHADES);

    shade = shade < SHADES ? shade : SHADES - 1;
    if (fabs(change) < LEAST_CHANGE)
        buf_addf(x->out, "class=\"s\" fill=\"%s\"", same[0]);
    else if (!is_sure(x, b))
        buf_addf(x->out, "class=\"u%c\" fill=\"%s\"", change > 0 ? 'm' : 'l', unsure[0][change < 0]);
    else
        buf_addf(x->out, "class=\"%c%d\" fill=\"%s\"", change > 0 ? 'm' : 'l', shade,
                 change > 0 ? more[0][shade] : less[0][shade]);
}

/* What the test of its function says, which may stand in other places, too. */
static void add_test(const struct panel *x, const struct flame_box *b)
{
    const struct comparison_row *r = row_of(x, b);
    enum comparison_unit unit = x->c->level[COMPARISON_FUNCTIONS].unit;
    char change[48], low[48], high[48];

    if (!r || isnan(r->value.low)) {
        buf_addstr(x->out, b->node && x->tested ? "\nthe function was not tested" : "");
        return;
    }
    buf_addf(x->out, "\nthe function, %s: %s (%s .. %s at %.4g %%), q %.2g, %ssignificant", x->c->what,
             diff_value(change, sizeof(change), unit, r->value.change, 1),
             diff_value(low, sizeof(low), unit, r->value.low, 1),
             diff_value(high, sizeof(high), unit, r->value.high, 1), 100 * (1 - x->c->alpha), r->value.q,
             r->value.significant ? "" : "not ");
}

static void add_title(const struct panel *x, const struct flame_box *b, const char *name)
{
    const struct profile_frame *f = &x->p->frames.a[x->p->nodes.a[b->node].frame];
    char base[48], new[48], change[48];

    buf_addstr(x->out, "<title>");
    markup_text(x->out, name);
    if (b->node && (f->file || f->module)) {
        buf_addch(x->out, '\n');
        markup_text(x->out, strtab_get(&x->p->strings, f->file ? f->file : f->module));
    }
    buf_addf(x->out, "\nbase %s, new %s: %s%s",
             diff_value(base, sizeof(base), COMPARISON_SHARE, part_of(x->c, COMPARISON_BASE, b->node), 0),
             diff_value(new, sizeof(new), COMPARISON_SHARE, part_of(x->c, COMPARISON_NEW, b->node), 0),
             diff_value(change, sizeof(change), COMPARISON_SHARE, change_of(x->c, b->node), 1),
             x->c->level[COMPARISON_FUNCTIONS].unit == COMPARISON_SHARE ? " points"
                                                                        : " of the base side's whole");
    add_test(x, b);
    buf_addstr(x->out, "</title>");
}

/* A name, and behind it by how much it changed: colours alone don't tell everyone. */
static void add_label(const struct panel *x, const char *name, double change, double at, double y,
                      double width)
{
    struct buf label = {0};

    buf_addstr(&label, name);
    if (fabs(change) >= LEAST_CHANGE)
        buf_addf(&label, " %+.1f", 100 * change);
    buf_addf(x->out, "<text x=\"%.2f\" y=\"%.0f\">", at + 3, y + ROW - 5);
    markup_cut(x->out, buf_str(&label), (size_t)((width - 5) / CHAR));
    buf_addstr(x->out, "</text>");
    buf_release(&label);
}

static void add_box(struct panel *x, const struct flame_box *b)
{
    double at = MARGIN + (double)b->start * x->per_unit, w = (double)b->total * x->per_unit;
    double y = x->top + (double)b->depth * ROW, change = b->pruned ? 0 : change_of(x->c, b->node);
    const struct profile_frame *f = &x->p->frames.a[x->p->nodes.a[b->node].frame];
    const char *name = b->pruned ? "[pruned]" : b->node ? strtab_get(&x->p->strings, f->func) : "all";

    if (w < 0.05)
        return;
    buf_addstr(x->out, "<g>");
    if (!b->pruned)
        add_title(x, b, name);
    buf_addstr(x->out, "<rect ");
    add_colour(x, b, change);
    buf_addf(x->out, " x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\"/>", at, y, w > 1 ? w - 0.5 : w,
             ROW - 1);
    if (w >= 3 * CHAR + 4)
        add_label(x, name, change, at, y, w);
    buf_addstr(x->out, "</g>\n");
}

static void add_heading(struct panel *x, int side, double y)
{
    const struct comparison_side *s = &x->c->side[side];

    buf_addf(x->out,
             "<text class=\"h\" x=\"%.0f\" y=\"%.0f\">%s</text>\n<text class=\"q\" x=\"%.0f\" y=\"%.0f\">",
             MARGIN, y,
             side == COMPARISON_NEW ? "AFTER: widths of the new side, coloured by what changed"
                                    : "BEFORE: widths of the base side, coloured by what becomes of it",
             MARGIN, y + 16);
    buf_addf(x->out, "%s: ", s->label);
    for (size_t i = 0; i < s->runs.n; i++) {
        buf_addstr(x->out, i ? ", " : "");
        markup_text(x->out, s->runs.a[i]);
    }
    buf_addstr(x->out, "</text>\n");
}

double diff_flame_panel(const struct comparison *c, int side, double top, struct buf *out)
{
    struct panel x = {.c = c, .p = &c->tree, .out = out, .top = top + 40};
    const struct profile_metric *m = &c->tree.metrics.a[side];
    struct flame_limits lim = {.max_boxes = MAX_BOXES,
                               .min_row = (uint64_t)(MIN_ROW * (double)m->sum),
                               .min_total = (uint64_t)((double)m->sum * MIN_PIXELS / (WIDTH - 2 * MARGIN))};
    struct flame_weights weights = flame_metric(&c->tree, (size_t)side);
    double height;

    flame_layout(&x.flame, x.p, &weights, &lim);
    if (x.flame.sum)
        x.per_unit = (WIDTH - 2 * MARGIN) / (double)x.flame.sum;
    find_rows(&x);
    find_most(&x);
    add_heading(&x, side, top + 14);
    for (size_t i = 0; x.flame.sum && i < x.flame.boxes.n; i++)
        add_box(&x, &x.flame.boxes.a[i]);
    if (!x.flame.sum)
        buf_addf(out, "<text class=\"q\" x=\"%.0f\" y=\"%.0f\">nothing was recorded on this side</text>\n",
                 MARGIN, x.top + 12);
    height = 40 + (x.flame.depth + 1.0) * ROW + MARGIN;
    flame_release(&x.flame);
    free(x.row);
    return height;
}

static double swatch(double at, double y, const char *class, int shade, struct buf *out)
{
    buf_addf(out, "<rect class=\"%s", class);
    if (shade >= 0)
        buf_addf(out, "%d", shade);
    buf_addf(out, "\" x=\"%.0f\" y=\"%.0f\" width=\"18\" height=\"11\"/>", at, y - 10);
    return at + 18;
}

static double words(double at, double y, const char *text, struct buf *out)
{
    buf_addf(out, "<text class=\"q\" x=\"%.0f\" y=\"%.0f\">%s</text>", at, y, text);
    return at + CHAR * (double)strlen(text) + 10;
}

void diff_flame_legend(double y, struct buf *out)
{
    double at = words(MARGIN, y, "takes less on the new side", out);

    for (int k = SHADES; k-- > 0;)
        at = swatch(at, y, "l", k, out);
    at = swatch(at, y, "s", -1, out);
    for (int k = 0; k < SHADES; k++)
        at = swatch(at, y, "m", k, out);
    words(at + 8, y, "takes more; numbers are percentage points, of what a frame and all it calls take", out);
    at = swatch(MARGIN, y + LEGEND_LINE, "ul", -1, out);
    at = swatch(at, y + LEGEND_LINE, "um", -1, out);
    words(at + 8, y + LEGEND_LINE,
          "less, more, but by no more than noise: the function's change is not significant", out);
    buf_addch(out, '\n');
}
