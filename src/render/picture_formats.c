/* SPDX-License-Identifier: Apache-2.0 */
#include "render/picture_format.h"

#include "base/units.h"
#include "render/graph_text.h"

#include <stdlib.h>
#include <string.h>

static void write_text(const struct picture *p, const struct graph *g, struct buf *out)
{
    graph_text_render(g, out);
}

static const struct picture_format format_svg = {
    .name = "svg", .suffix = ".svg", .has_places = 1, .by = "svg"};
static const struct picture_format format_png = {
    .name = "png", .suffix = ".png", .has_places = 1, .by = "png"};
static const struct picture_format format_pdf = {
    .name = "pdf", .suffix = ".pdf", .has_places = 1, .by = "pdf"};
static const struct picture_format format_dot = {
    .name = "dot", .suffix = ".dot", .has_places = 1, .by = "dot"};
static const struct picture_format format_text = {
    .name = "text", .suffix = ".txt", .is_text = 1, .whole = 1, .write = write_text};

extern const struct picture_format format_drawio, format_gexf, format_gexf_12, format_mermaid;

const struct picture_format *const picture_formats[] = {
#define FORMAT(name) &format_##name,
#include "render/picture_formats.def"
#undef FORMAT
};

const size_t npicture_formats = ARRAY_SIZE(picture_formats);

const struct picture_format *picture_format_find(const char *name)
{
    for (size_t i = 0; i < npicture_formats; i++)
        if (!strcmp(picture_formats[i]->name, name))
            return picture_formats[i];
    return NULL;
}

static int write_picture(struct picture *p, const struct graph *g, const struct picture_format *f,
                         enum picture_layout how, struct buf *out, struct err *e)
{
    int rc = f->has_places ? picture_draw(p, how, f->by, out, e) : 0;

    if (!rc && f->write)
        f->write(p, g, out);
    return rc;
}

int picture_produce(const struct graph *g, const struct picture_wanted *w, struct buf *out, struct buf *notes,
                    struct err *e)
{
    const struct picture_format *f = picture_format_find(w->format);
    int how = picture_layout_find(w->layout ? w->layout : "default");
    struct picture_opts opts = {.title = w->title, .max_nodes = w->max_nodes};
    struct picture p;
    int rc;

    if (!f)
        return err_set(e, "'%s' is no format of a topology", w->format);
    if (how < 0)
        return err_set(e, "'%s' is no layout", w->layout);
    if (how != PICTURE_NESTED && !f->has_places)
        return err_set(
            e, "%s has no places for its nodes: --layout %s is for svg, png, pdf, dot, drawio and gexf",
            f->name, w->layout);
    if (f->whole) {
        f->write(NULL, g, out);
        return 0;
    }
    opts.flat = how != PICTURE_NESTED || f->flat;
    picture_init(&p, g, &opts);
    rc = write_picture(&p, g, f, (enum picture_layout)how, out, e);
    for (size_t i = 0; i < p.notes.n; i++)
        buf_addf(notes, "%s\n", p.notes.a[i]);
    picture_release(&p);
    return rc;
}
