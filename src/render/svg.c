/* SPDX-License-Identifier: Apache-2.0 */
/* A static flame graph for a ticket: no script, works in any viewer, follows the viewer's dark mode where it
 * can. */
#include "base/units.h"
#include "render/figures.h"
#include "render/flame.h"
#include "render/markup.h"
#include "render/palette.h"
#include "render/renderer.h"

#include <stdio.h>
#include <string.h>

#define WIDTH      1200.0
#define MARGIN     12.0
#define ROW        17
#define LINE       16   /* of the header */
#define CHAR       6.65 /* of the 11 px monospace font: 0.6 em, the fixed pitch of the usual ones, rounded up */
#define MIN_PIXELS 0.4   /* narrower boxes are pruned */
#define MIN_ROW    0.02  /* of the whole: rows above that hold less are pruned, they would be mostly white */
#define MAX_BOXES  12000 /* about 3 MB */
#define BOX_BYTES  250

struct picture {
    const struct profile *p;
    const struct profile_metric *metric;
    struct flame flame;
    struct figures figures;
    struct buf *out;
    double per_unit; /* pixels */
    double top;      /* of the deepest row */
};

static void add_value(struct buf *out, const struct profile_metric *m, uint64_t v)
{
    char text[48];

    if (!strcmp(m->unit, "ns")) {
        buf_addstr(out, units_duration(text, sizeof(text), v));
        return;
    }
    if (!strcmp(m->unit, "bytes")) {
        buf_addstr(out, units_size(text, sizeof(text), v));
        return;
    }
    buf_addf(out, "%s ", units_count(text, sizeof(text), v));
    markup_text(out, v == 1 && !strcmp(m->unit, "samples") ? "sample" : m->unit);
}

static void add_text(struct picture *pic, double y, const char *class, const char *s)
{
    buf_addf(pic->out, "<text class=\"%s\" x=\"%.0f\" y=\"%.0f\">", class, MARGIN, y);
    markup_cut(pic->out, s, (size_t)((WIDTH - 2 * MARGIN) / CHAR));
    buf_addstr(pic->out, "</text>\n");
}

/* A line of figures in `room` characters. */
struct line {
    struct buf *out;
    size_t room;
    int any;
};

static void add_figure(struct line *l, const struct figure *x)
{
    size_t len = strlen(x->label) + strlen(x->value) + 4;

    if (len > l->room)
        return;
    l->room -= len;
    buf_addstr(l->out, l->any++ ? " \302\267 " : "");
    buf_addstr(l->out, x->bad ? "<tspan class=\"bad\" fill=\"#b3261e\">" : "");
    markup_text(l->out, x->label);
    buf_addch(l->out, ' ');
    markup_text(l->out, x->value);
    buf_addstr(l->out, x->bad ? "</tspan>" : "");
}

static void add_figures(struct picture *pic, double y, const struct figure *a, size_t n)
{
    struct line l = {pic->out, (size_t)((WIDTH - 2 * MARGIN) / CHAR), 0};

    buf_addf(pic->out, "<text class=\"m\" x=\"%.0f\" y=\"%.0f\">", MARGIN, y);
    for (size_t i = 0; i < n; i++)
        add_figure(&l, &a[i]);
    buf_addstr(pic->out, "</text>\n");
}

static void add_legend(struct picture *pic, double y)
{
    uint8_t seen[PALETTE_KINDS] = {0};
    double x = MARGIN;

    for (size_t i = 1; i < pic->flame.boxes.n; i++) {
        const struct flame_box *b = &pic->flame.boxes.a[i];
        unsigned kind = b->pruned ? FRAME_MARKER : pic->p->frames.a[pic->p->nodes.a[b->node].frame].kind;

        seen[kind < PALETTE_KINDS ? kind : FRAME_MARKER] = 1;
    }
    for (unsigned k = 0; k < PALETTE_KINDS; k++) {
        const struct palette_kind *kind = palette_kind(k);

        if (!seen[k])
            continue;
        buf_addf(pic->out,
                 "<rect class=\"%s-0\" fill=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"11\" height=\"11\"/>"
                 "<text class=\"m\" x=\"%.0f\" y=\"%.0f\">%s</text>\n",
                 kind->id, kind->light[0], x, y - 10, x + 16, y, kind->label);
        x += 16 + CHAR * (double)strlen(kind->label) + 18;
    }
}

static void add_style(struct buf *out)
{
    buf_addstr(out,
               "<style>\n"
               "text{font:11px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1b1f24}\n"
               ".t{font-size:14px;font-weight:bold}.m{fill:#4b535d}.bad{font-weight:bold;fill:#b3261e}\n"
               "@media(prefers-color-scheme:dark){#ground{fill:#16191d}text{fill:#eceff2}.m{fill:#aab2bd}"
               ".bad{fill:#ff8a80}\n");
    for (unsigned k = 0; k < PALETTE_KINDS; k++)
        for (unsigned s = 0; s < PALETTE_SHADES; s++)
            buf_addf(out, ".%s-%u{fill:%s}", palette_kind(k)->id, s, palette_kind(k)->dark[s]);
    buf_addstr(out, "}\n</style>\n");
}

/* The name of a box; for Python *file is the last part of its file's path, else NULL. */
static const char *box_name(const struct picture *pic, const struct flame_box *b, unsigned *kind,
                            const char **file)
{
    const struct profile_frame *f;

    *kind = FRAME_NONE;
    *file = NULL;
    if (b->pruned) {
        *kind = FRAME_MARKER;
        return "[pruned]";
    }
    if (!b->node)
        return "all";
    f = &pic->p->frames.a[pic->p->nodes.a[b->node].frame];
    *kind = f->kind;
    if (f->kind == FRAME_PYTHON && f->file) {
        const char *path = strtab_get(&pic->p->strings, f->file), *slash = strrchr(path, '/');

        *file = slash ? slash + 1 : path;
    }
    return strtab_get(&pic->p->strings, f->func);
}

static void add_title(struct picture *pic, const struct flame_box *b, const char *name)
{
    char share[32];

    buf_addstr(pic->out, "<title>");
    markup_text(pic->out, name);
    if (!b->pruned && b->node) {
        const struct profile_frame *f = &pic->p->frames.a[pic->p->nodes.a[b->node].frame];

        if (f->file) {
            buf_addstr(pic->out, "\n");
            markup_text(pic->out, strtab_get(&pic->p->strings, f->file));
            if (f->line)
                buf_addf(pic->out, ":%u", f->line);
        }
        if (f->module) {
            buf_addstr(pic->out, "\n");
            markup_text(pic->out, strtab_get(&pic->p->strings, f->module));
        }
    }
    buf_addstr(pic->out, "\n");
    add_value(pic->out, pic->metric, b->total);
    buf_addf(
        pic->out, ", %s</title>",
        units_share(share, sizeof(share), pic->flame.sum ? (double)b->total / (double)pic->flame.sum : 0));
}

static void add_box(struct picture *pic, const struct flame_box *b)
{
    double x = MARGIN + (double)b->start * pic->per_unit, w = (double)b->total * pic->per_unit;
    double y = pic->top + (double)(pic->flame.depth - b->depth) * ROW;
    unsigned kind, shade;
    const char *file, *name = box_name(pic, b, &kind, &file);
    const struct palette_kind *k = palette_kind(kind);

    if (w < 0.05)
        return;
    shade = palette_shade(name);
    buf_addstr(pic->out, "<g>");
    add_title(pic, b, name);
    buf_addf(pic->out,
             "<rect class=\"%s-%u\" fill=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\"/>", k->id,
             shade, k->light[shade], x, y, w > 1 ? w - 0.5 : w, ROW - 1);
    if (w >= 3 * CHAR + 4) {
        struct buf label = {0};

        buf_addstr(&label, name);
        if (file)
            buf_addf(&label, " (%s)", file);
        buf_addf(pic->out, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
        markup_cut(pic->out, buf_str(&label), (size_t)((w - 5) / CHAR));
        buf_addstr(pic->out, "</text>");
        buf_release(&label);
    }
    buf_addstr(pic->out, "</g>\n");
}

static void add_pruned(struct picture *pic, double y)
{
    const struct flame *f = &pic->flame;
    char count[32], share[32], least[48];
    struct buf text = {0};

    if (!f->pruned_nodes)
        return;
    buf_addf(&text, "[pruned]: %s frames lighter than %s", units_count(count, sizeof(count), f->pruned_nodes),
             units_share(least, sizeof(least), (double)f->min_total / (double)f->sum));
    if (f->depth > f->last_row)
        buf_addf(&text, " or deeper than %u", f->last_row);
    buf_addf(&text, ", too small to see; %s of the weight ends in them",
             units_share(share, sizeof(share), (double)f->pruned_weight / (double)f->sum));
    add_text(pic, y, "m", buf_str(&text));
    buf_release(&text);
}

static void add_header(struct picture *pic, const struct render_input *in)
{
    char *command = figures_command(in->meta);
    struct buf title = {0};

    buf_addstr(&title, in->title ? in->title : command);
    if (pic->metric) {
        buf_addf(&title, " - %s, ", pic->metric->name);
        add_value(&title, pic->metric, pic->flame.sum);
    }
    add_text(pic, 24, "t", buf_str(&title));
    add_figures(pic, 24 + LINE * 1.2, pic->figures.facts.a, pic->figures.facts.n);
    add_figures(pic, 24 + LINE * 2.2, pic->figures.quality.a, pic->figures.quality.n);
    add_legend(pic, 24 + LINE * 3.4);
    add_pruned(pic, 24 + LINE * 4.4);
    buf_release(&title);
    free(command);
}

static void draw(struct picture *pic, const struct render_input *in)
{
    double head = 24 + LINE * (pic->flame.pruned_nodes ? 5.0 : 4.0), height;

    pic->top = head + 4;
    height = pic->top + (pic->flame.depth + 1.0) * ROW + MARGIN;
    buf_addf(pic->out,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
             "viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" font-size=\"11\">\n",
             WIDTH, height, WIDTH, height);
    add_style(pic->out);
    buf_addstr(pic->out, "<rect id=\"ground\" fill=\"#ffffff\" width=\"100%\" height=\"100%\"/>\n");
    add_header(pic, in);
    if (!pic->flame.sum)
        add_text(pic, pic->top + ROW - 5, "m", "No samples: nothing of this metric was recorded.");
    for (size_t i = 0; pic->flame.sum && i < pic->flame.boxes.n; i++)
        add_box(pic, &pic->flame.boxes.a[i]);
    buf_addstr(pic->out, "</svg>\n");
}

static int render(const struct render_input *in, struct buf *out, struct err *e)
{
    struct picture pic = {.p = in->profile, .out = out};
    struct flame_limits lim = {.max_boxes = in->max_bytes ? in->max_bytes / BOX_BYTES : MAX_BOXES};
    struct flame_weights weights;

    if (in->profile->metrics.n) {
        pic.metric = &in->profile->metrics.a[0];
        lim.min_row = (uint64_t)((in->min_row > 0 ? in->min_row : MIN_ROW) * (double)pic.metric->sum);
        lim.min_total = (uint64_t)((double)pic.metric->sum * MIN_PIXELS / (WIDTH - 2 * MARGIN));
    }
    weights = flame_metric(in->profile, 0);
    flame_layout(&pic.flame, in->profile, &weights, &lim);
    if (pic.flame.sum)
        pic.per_unit = (WIDTH - 2 * MARGIN) / (double)pic.flame.sum;
    figures_make(&pic.figures, in->quality, in->meta);
    draw(&pic, in);
    figures_release(&pic.figures);
    flame_release(&pic.flame);
    return 0;
}

const struct renderer_ops renderer_svg = {
    .name = "svg",
    .suffix = ".svg",
    .summary = "a static flame graph, for a ticket",
    .render = render,
};
