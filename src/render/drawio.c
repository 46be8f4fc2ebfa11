/* SPDX-License-Identifier: Apache-2.0 */
/* A topology for diagrams.net: mxGraphModel, uncompressed. Boxes are containers that move with what is in
 * them; each kind of node and edge has one style. */
#include "render/markup.h"
#include "render/picture_format.h"
#include "render/picture_route.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ours and Graphviz's shapes as diagrams.net has them. */
static const char *shape_of(const struct graph_kind_info *k)
{
    static const char *const shapes[][2] = {{"box", "rounded=0"},
                                            {"ellipse", "ellipse"},
                                            {"box3d", "shape=cube;size=6"},
                                            {"cds", "shape=hexagon;size=0.06"},
                                            {"folder", "shape=folder;tabWidth=20;tabHeight=6"},
                                            {"component", "shape=module;jettyWidth=6;jettyHeight=3"},
                                            {"tab", "shape=document;size=0.15"},
                                            {"note", "shape=note;size=8"},
                                            {"cylinder", "shape=cylinder3;size=4"}};

    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
        if (!strcmp(shapes[i][0], k->shape))
            return shapes[i][1];
    return "rounded=0";
}

static const struct picture_box *box_at(const struct picture *p, uint32_t box)
{
    return p->with_boxes && box != PICTURE_NONE ? &p->boxes.a[box] : NULL;
}

static void add_parent(const struct picture *p, uint32_t box, struct buf *out)
{
    if (box_at(p, box))
        buf_addf(out, " parent=\"b%u\"", box);
    else
        buf_addstr(out, " parent=\"1\"");
}

/* x, y is the corner; places are relative to the container. */
static void add_geometry(const struct picture *p, uint32_t in, struct picture_area at, struct buf *out)
{
    const struct picture_box *box = box_at(p, in);

    buf_addf(out, "<mxGeometry x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" as=\"geometry\"/>",
             at.x - (box ? box->at.x : 0), at.y - (box ? box->at.y : 0), at.w, at.h);
}

static void add_box(const struct picture *p, uint32_t i, struct buf *out)
{
    const struct picture_box *b = &p->boxes.a[i];
    int process = b->kind == GRAPH_PROCESS;

    buf_addf(out, "        <mxCell id=\"b%u\" value=\"", i);
    markup_text(out, b->label);
    buf_addf(
        out,
        "\" style=\"rounded=1;arcSize=8;absoluteArcSize=1;html=0;container=1;collapsible=%d;dropTarget=1;"
        "verticalAlign=top;align=left;spacingLeft=6;fontSize=10;fillColor=%s;strokeColor=%s\" vertex=\"1\"",
        !process,
        process                 ? "#f3f9f1"
        : b->kind == GRAPH_HOST ? "#fafbfc"
                                : "#eef4fb",
        process ? "#9db89d" : "#9aa7b4");
    add_parent(p, b->parent, out);
    buf_addch(out, '>');
    add_geometry(p, b->parent, b->at, out);
    buf_addstr(out, "</mxCell>\n");
}

static void add_lines(struct buf *out, const char *text)
{
    const char *end;

    for (; (end = strchr(text, '\n')); text = end + 1) {
        char *line = mem_strndup(text, (size_t)(end - text));

        markup_text(out, line);
        buf_addstr(out, "&#10;");
        free(line);
    }
    markup_text(out, text);
}

static void add_node(const struct picture *p, uint32_t i, struct buf *out)
{
    const struct picture_node *n = &p->nodes.a[i];
    const struct graph_kind_info *k = graph_kind(n->of->kind);
    struct picture_area corner = n->at;

    corner.x -= n->at.w / 2;
    corner.y -= n->at.h / 2;
    buf_addstr(out, "        <UserObject label=\"");
    add_lines(out, n->label);
    buf_addf(out, "\" kind=\"%s\" count=\"%u\" node=\"", k->name, n->count);
    markup_text(out, n->id);
    buf_addstr(out, "\" tooltip=\"");
    markup_text(out, n->id);
    buf_addf(out,
             "\" id=\"n%u\"><mxCell "
             "style=\"%s;html=0;whiteSpace=wrap;fontSize=10;fillColor=%s;strokeColor=#5f6b76",
             i, shape_of(k), k->color);
    buf_addf(out, "%s\" vertex=\"1\"", n->count > 1 ? ";strokeWidth=2" : "");
    add_parent(p, n->box, out);
    buf_addch(out, '>');
    add_geometry(p, n->box, corner, out);
    buf_addstr(out, "</mxCell></UserObject>\n");
}

/* Where it goes: diagrams.net draws a curve by the points, from border to border. Where its label stands:
 * along the way, from -1 to 1. */
static void add_way(const struct picture_arc *arc, double label, struct buf *out)
{
    static const double at[] = {0.25, 0.5, 0.75};

    buf_addf(out, "<mxGeometry x=\"%.2f\" relative=\"1\" as=\"geometry\"><Array as=\"points\">",
             2 * label - 1);
    for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
        const struct picture_point p = picture_arc_point(arc, at[i]);

        buf_addf(out, "<mxPoint x=\"%.1f\" y=\"%.1f\"/>", p.x, p.y);
    }
    buf_addstr(out, "</Array></mxGeometry>");
}

#define LABEL_CHAR 4.4 /* points, of the 8 point font, */
#define LABEL_HIGH 9.0

static double put_label(const struct picture_edge *e, const struct picture_arc *arc,
                        struct picture_labels *labels)
{
    if (!*e->label)
        return 0.5;
    return picture_labels_put(labels, arc, LABEL_CHAR * (double)strlen(e->label), LABEL_HIGH);
}

static void add_edge(const struct picture *p, uint32_t i, const struct picture_arc *arc,
                     struct picture_labels *labels, struct buf *out)
{
    const struct picture_edge *e = &p->edges.a[i];
    const struct graph_relation_info *r = graph_relation(e->kind);
    struct buf text = {0};

    picture_edge_text(e, &text);
    buf_addstr(out, "        <UserObject label=\"");
    markup_text(out, e->label);
    buf_addf(out, "\" kind=\"%s\" bytes_ab=\"%llu\" bytes_ba=\"%llu\" tooltip=\"", r->name,
             (unsigned long long)e->bytes_ab, (unsigned long long)e->bytes_ba);
    markup_text(out, buf_str(&text));
    buf_addf(out,
             "\" id=\"e%u\"><mxCell "
             "style=\"html=0;curved=1;labelBackgroundColor=#ffffff;fontSize=8;fontColor=%s;strokeColor=%s;"
             "endArrow=%s;startArrow=%s;"
             "endSize=4;startSize=4\" edge=\"1\" parent=\"1\" source=\"n%u\" target=\"n%u\">",
             i, r->color, r->color, r->directed ? "classic" : "none",
             r->directed && e->both ? "classic" : "none", e->a, e->b);
    add_way(arc, put_label(e, arc, labels), out);
    buf_addstr(out, "</mxCell></UserObject>\n");
    buf_release(&text);
}

static void add_edges(const struct picture *p, struct buf *out)
{
    struct picture_area *at = mem_calloc(p->nodes.n + 1, sizeof(*at));
    struct picture_labels labels = {.nodes = at, .nnodes = p->nodes.n};
    struct picture_arc *arcs;

    for (size_t i = 0; i < p->nodes.n; i++)
        at[i] = p->nodes.a[i].at;
    arcs = picture_route(p, at);
    for (uint32_t i = 0; i < p->edges.n; i++)
        add_edge(p, i, &arcs[i], &labels, out);
    picture_labels_release(&labels);
    free(arcs);
    free(at);
}

/* Title, what was folded and what the colours mean, above the picture. */
static void add_caption(const struct picture *p, struct buf *out)
{
    double y = -60 - 14.0 * (double)p->notes.n, x = 0;

    buf_addstr(out, "        <mxCell id=\"caption\" value=\"");
    markup_text(out, p->title);
    for (size_t i = 0; i < p->notes.n; i++) {
        buf_addstr(out, "&#10;");
        markup_text(out, p->notes.a[i]);
    }
    buf_addf(out,
             "\" style=\"text;html=0;align=left;verticalAlign=top;fontSize=11\" vertex=\"1\" parent=\"1\">"
             "<mxGeometry x=\"0\" y=\"%.1f\" width=\"%.1f\" height=\"20\" as=\"geometry\"/></mxCell>\n",
             y, fmax(p->width, 300));
    for (int k = 0; k < GRAPH_KINDS; k++) {
        const struct graph_kind_info *info = graph_kind((enum graph_kind)k);

        if (!picture_has_kind(p, (enum graph_kind)k))
            continue;
        buf_addf(
            out,
            "        <mxCell id=\"legend-%s\" value=\"%s\" style=\"%s;html=0;fontSize=9;fillColor=%s;"
            "strokeColor=#5f6b76\" vertex=\"1\" parent=\"1\"><mxGeometry x=\"%.1f\" y=\"-36\" width=\"80\" "
            "height=\"20\" as=\"geometry\"/></mxCell>\n",
            info->name, info->name, shape_of(info), info->color, x);
        x += 88;
    }
}

static void write_drawio(const struct picture *p, const struct graph *g, struct buf *out)
{
    buf_addstr(out,
               "<mxfile host=\"wprof\" type=\"device\">\n  <diagram id=\"topology\" name=\"topology\">\n");
    buf_addf(out,
             "    <mxGraphModel dx=\"800\" dy=\"600\" grid=\"1\" gridSize=\"10\" guides=\"1\" tooltips=\"1\" "
             "connect=\"1\" arrows=\"1\" fold=\"1\" page=\"0\" pageScale=\"1\" pageWidth=\"%.0f\" "
             "pageHeight=\"%.0f\" math=\"0\" shadow=\"0\">\n      <root>\n",
             ceil(p->width) + 40, ceil(p->height) + 40);
    buf_addstr(out, "        <mxCell id=\"0\"/>\n        <mxCell id=\"1\" parent=\"0\"/>\n");
    add_caption(p, out);
    for (uint32_t i = 0; p->with_boxes && i < p->boxes.n; i++)
        add_box(p, i, out);
    for (uint32_t i = 0; i < p->nodes.n; i++)
        add_node(p, i, out);
    add_edges(p, out);
    buf_addstr(out, "      </root>\n    </mxGraphModel>\n  </diagram>\n</mxfile>\n");
}

extern const struct picture_format format_drawio;
const struct picture_format format_drawio = {
    .name = "drawio", .suffix = ".drawio", .has_places = 1, .write = write_drawio};
