/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgvc keeps its state in globals, prints to stderr, and has been seen to abort on odd graphs. So each
 * picture is laid out in a process of its own (apart.h), which sends back what struct result holds.
 */
#include "render/gvc.h"

#include "base/self.h"
#include "render/apart.h"
#include "render/markup.h"
#include "render/picture_route.h"

#include <graphviz/gvc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the child; dot on 2,000 nodes and edges takes about a second of a 2020s CPU. */
#define MAX_CPU_S  15
#define MAX_WALL_S 120

#define FONT          "Helvetica,Arial,sans-serif"
#define MAX_LABELS    600 /* of edges; more could not be read, and finding room for them is slow */
#define LEGEND_COLUMN 9   /* cells in a row */

enum status { DRAWN, NO_ENGINE, NO_FORMAT };

/* What the child sends, followed by the places of nodes and boxes, then by the text and the picture. */
struct result {
    uint32_t status, text, picture; /* the last two: bytes */
    double width, height;
};

struct drawing {
    const struct picture *p;
    const struct gvc_job *job;
    Agraph_t *g;
    Agraph_t **boxes;
    Agnode_t **nodes;
    Agedge_t **edges;
    uint8_t *in_tree; /* of a node: a process that has made one that is shown, or was made by one */
};

/* libgvc's messages; its handler has no argument. Of the child alone. */
static struct buf messages;

static int keep_message(char *text)
{
    if (messages.len < 4000)
        buf_addstr(&messages, text);
    return 0;
}

/* ---- the picture as libcgraph's graph ---- */

static void set(void *of, const char *name, const char *value)
{
    agsafeset(of, (char *)name, (char *)value, (char *)"");
}

__attribute__((format(printf, 3, 4))) static void setf(void *of, const char *name, const char *fmt, ...)
{
    char text[96];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    set(of, name, text);
}

/* Labels and tooltips: Graphviz reads entities in them (&amp;), and backslashes (\N is the node's name). */
static void set_text(void *of, const char *name, const char *text)
{
    struct buf b = {0};

    for (; *text; text++)
        switch (*text) {
        case '\\':
            buf_addstr(&b, "\\\\");
            break;
        case '&':
            buf_addstr(&b, "&amp;");
            break;
        case '\n':
            buf_addstr(&b, "\\n");
            break;
        default:
            buf_addch(&b, *text);
        }
    set(of, name, buf_str(&b));
    buf_release(&b);
}

static void set_graph(const struct drawing *d)
{
    static const char *const of_graph[][2] = {
        {"rankdir", "LR"}, {"nodesep", "0.12"}, {"ranksep", "0.55"}, {"outputorder", "edgesfirst"},
        {"nslimit", "4"},  {"nslimit1", "4"},   {"mclimit", "0.5"},  {"forcelabels", "false"},
        {"sep", "+6"},     {"fontname", FONT},  {"fontsize", "10"},  {"bgcolor", "white"},
        {"pad", "0.2"},    {"charset", "UTF-8"}};

    for (size_t i = 0; i < ARRAY_SIZE(of_graph); i++)
        set(d->g, of_graph[i][0], of_graph[i][1]);
    set(d->g, "overlap", strcmp(d->job->engine, "nop") ? "prism" : "true");
    set(d->g, "splines", d->job->straight ? "line" : "true");
    set(d->g, "K", "0.9");
    agattr(d->g, AGNODE, (char *)"fontname", (char *)FONT);
    agattr(d->g, AGNODE, (char *)"fontsize", (char *)"10");
    agattr(d->g, AGNODE, (char *)"style", (char *)"filled");
    agattr(d->g, AGNODE, (char *)"color", (char *)"#5f6b76");
    agattr(d->g, AGNODE, (char *)"penwidth", (char *)"0.8");
    agattr(d->g, AGNODE, (char *)"fixedsize", (char *)"true");
    agattr(d->g, AGEDGE, (char *)"fontname", (char *)FONT);
    agattr(d->g, AGEDGE, (char *)"fontsize", (char *)"8");
    agattr(d->g, AGEDGE, (char *)"arrowsize", (char *)"0.6");
}

static void add_box(struct drawing *d, size_t i)
{
    const struct picture_box *b = &d->p->boxes.a[i];
    Agraph_t *parent = b->parent == PICTURE_NONE ? d->g : d->boxes[b->parent], *box;
    char name[32];

    snprintf(name, sizeof(name), "cluster_%zu", i);
    box = d->boxes[i] = agsubg(parent, name, 1);
    set_text(box, "label", b->label);
    set(box, "labeljust", "l");
    set(box, "labelloc", "t");
    set(box, "style", "rounded,filled");
    set(box, "color", b->kind == GRAPH_PROCESS ? "#9db89d" : "#9aa7b4");
    set(box, "fillcolor",
        b->kind == GRAPH_PROCESS ? "#f3f9f1"
        : b->kind == GRAPH_HOST  ? "#fafbfc"
                                 : "#eef4fb");
    set(box, "margin", "7");
    set_text(box, "tooltip", b->label);
}

static void add_node(struct drawing *d, size_t i)
{
    const struct picture_node *n = &d->p->nodes.a[i];
    int boxed = d->job->boxes && n->box != PICTURE_NONE;
    char name[32];
    Agnode_t *node;

    snprintf(name, sizeof(name), "n%zu", i);
    node = d->nodes[i] = agnode(d->g, name, 1);
    if (boxed)
        agsubnode(d->boxes[n->box], node, 1);
    set_text(node, "label", n->label);
    set_text(node, "tooltip", n->id);
    set(node, "shape", graph_kind(n->of->kind)->shape);
    set(node, "fillcolor", picture_color(n));
    setf(node, "width", "%.3f", n->at.w / 72);
    setf(node, "height", "%.3f", n->at.h / 72);
    if (n->count > 1)
        set(node, "penwidth", "1.8");
    if (!strcmp(d->job->engine, "nop"))
        setf(node, "pos", "%.2f,%.2f!", n->at.x, d->p->height - n->at.y);
}

/* The thicker the more went along it, by the logarithm: from a KiB on. */
static double thickness(const struct picture_edge *e)
{
    double bytes = (double)e->bytes_ab + (double)e->bytes_ba;

    return bytes < 1024 ? 0.8 : fmin(0.8 + log2(bytes / 1024) / 10, 3);
}

static int is_process(const struct picture *p, uint32_t node)
{
    return p->nodes.a[node].of->kind == GRAPH_PROCESS;
}

/* A flow between two processes that are in the tree of processes. */
static int among_relatives(const struct drawing *d, const struct picture_edge *e)
{
    return e->kind != GRAPH_EDGE_OWN && d->in_tree[e->a] && d->in_tree[e->b];
}

static void find_tree(struct drawing *d)
{
    d->in_tree = mem_calloc(d->p->nodes.n, 1);
    for (size_t i = 0; i < d->p->edges.n; i++) {
        const struct picture_edge *e = &d->p->edges.a[i];

        if (e->kind == GRAPH_EDGE_OWN && is_process(d->p, e->a) && is_process(d->p, e->b))
            d->in_tree[e->a] = d->in_tree[e->b] = 1;
    }
}

static void add_edge(struct drawing *d, size_t i)
{
    const struct picture_edge *e = &d->p->edges.a[i];
    const struct graph_relation_info *r = graph_relation(e->kind);
    struct buf text = {0};
    char name[32];
    Agedge_t *edge;

    snprintf(name, sizeof(name), "e%zu", i);
    edge = d->edges[i] = agedge(d->g, d->nodes[e->a], d->nodes[e->b], name, 1);
    picture_edge_text(e, &text);
    set_text(edge, "tooltip", buf_str(&text));
    buf_release(&text);
    set(edge, "color", r->color);
    setf(edge, "penwidth", "%.2f", thickness(e));
    if (among_relatives(d, e))
        set(edge, "constraint", "false"); /* the tree of processes gives the layers */
    set(edge, "dir", !r->directed ? "none" : e->both ? "both" : "forward");
    if (*e->label && d->p->edges.n <= MAX_LABELS) {
        set_text(edge, "label", e->label);
        set_text(edge, "labeltooltip", e->label);
        set(edge, "fontcolor", r->color);
    }
}

/* ---- title, what was folded, and what the colours mean: the graph's label ---- */

#define TABLE "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"3\" CELLPADDING=\"2\">"

static void next_cell(struct buf *out, unsigned *cells)
{
    if (*cells && *cells % LEGEND_COLUMN == 0)
        buf_addstr(out, "</TR><TR>");
    ++*cells;
}

static void add_line(struct buf *out, const char *text, int bold)
{
    buf_addf(out, "<TR><TD ALIGN=\"LEFT\">%s", bold ? "<B>" : "");
    markup_text(out, text);
    buf_addstr(out, bold ? "</B></TD></TR>" : "</TD></TR>");
}

static void add_legend(const struct drawing *d, struct buf *out)
{
    unsigned cells = 0;

    buf_addstr(out, "<TR><TD ALIGN=\"LEFT\">" TABLE "<TR>");
    for (int k = 0; k < GRAPH_KINDS; k++)
        if (picture_has_kind(d->p, (enum graph_kind)k)) {
            next_cell(out, &cells);
            buf_addf(out, "<TD BGCOLOR=\"%s\">%s</TD>", graph_kind((enum graph_kind)k)->color,
                     graph_kind((enum graph_kind)k)->name);
        }
    for (int r = 0; r < GRAPH_RELATIONS; r++)
        if (picture_has_relation(d->p, (enum graph_relation)r)) {
            next_cell(out, &cells);
            buf_addf(out, "<TD><FONT COLOR=\"%s\">— %s</FONT></TD>",
                     graph_relation((enum graph_relation)r)->color,
                     graph_relation((enum graph_relation)r)->name);
        }
    while (!cells || cells % LEGEND_COLUMN) { /* what is left of the width goes to all cells alike */
        buf_addstr(out, "<TD></TD>");
        cells++;
    }
    buf_addstr(out, "</TR></TABLE></TD></TR>");
}

static void set_caption(struct drawing *d)
{
    struct buf b = {0};
    char *html;

    buf_addstr(&b, TABLE);
    add_line(&b, d->p->title, 1);
    for (size_t i = 0; i < d->p->notes.n; i++)
        add_line(&b, d->p->notes.a[i], 0);
    add_legend(d, &b);
    buf_addstr(&b, "</TABLE>");
    html = agstrdup_html(d->g, (char *)buf_str(&b));
    agset(d->g, (char *)"label", html);
    agstrfree(d->g, html);
    set(d->g, "labelloc", "t");
    set(d->g, "labeljust", "l");
    buf_release(&b);
}

static char drawing_name[] = "topology";

static void draw(struct drawing *d)
{
    d->g = agopen(drawing_name, Agdirected, NULL);
    d->boxes = mem_calloc(d->p->boxes.n, sizeof(Agraph_t *));
    d->nodes = mem_calloc(d->p->nodes.n, sizeof(Agnode_t *));
    d->edges = mem_calloc(d->p->edges.n, sizeof(Agedge_t *));
    set_graph(d);
    agattr(d->g, AGRAPH, (char *)"label", (char *)"");
    for (size_t i = 0; i < d->p->boxes.n && d->job->boxes; i++)
        add_box(d, i);
    for (size_t i = 0; i < d->p->nodes.n; i++)
        add_node(d, i);
    find_tree(d);
    for (size_t i = 0; i < d->p->edges.n; i++)
        add_edge(d, i);
    set_caption(d);
}

/* ---- ways and labels of edges that are better than libgvc's ---- */

#define ARROW 6.0 /* points: those of `arrowsize` 0.6 */
#define LABEL 9.0 /* how high a label is */

/* What libgvc draws as a socket ends above and below within its area. */
#define TIP_INSET 6.0

enum { WAVES = 3 }; /* pieces of a curve: so many go up and down at the columns that it passes */

/* In libgvc's coordinates. */
static struct picture_area *areas_of(const struct drawing *d)
{
    struct picture_area *at = mem_calloc(d->p->nodes.n + 1, sizeof(*at));

    for (size_t i = 0; i < d->p->nodes.n; i++) {
        const pointf c = ND_coord(d->nodes[i]);

        at[i] = (struct picture_area){c.x, c.y, d->p->nodes.a[i].at.w, d->p->nodes.a[i].at.h};
        if (!strcmp(graph_kind(d->p->nodes.a[i].of->kind)->shape, "cds"))
            at[i].h -= 2 * TIP_INSET;
    }
    return at;
}

/* Nodes by columns: its curves run behind what stands between two in one column. By layers: those that do not
 * make these. */
static int is_ours(const struct drawing *d, size_t i)
{
    const splines *s = ED_spl(d->edges[i]);

    if (!s || !s->size || d->job->straight)
        return 0;
    return !strcmp(d->job->engine, "nop") ||
           (!strcmp(d->job->engine, "dot") && among_relatives(d, &d->p->edges.a[i]) &&
            s->list[0].size > 3 * WAVES);
}

static void widen(boxf *b, pointf p)
{
    b->LL.x = fmin(b->LL.x, p.x);
    b->LL.y = fmin(b->LL.y, p.y);
    b->UR.x = fmax(b->UR.x, p.x);
    b->UR.y = fmax(b->UR.y, p.y);
}

/* From a point towards another one. */
static pointf towards(pointf from, double x, double y, double by)
{
    const double dx = x - from.x, dy = y - from.y, length = fmax(hypot(dx, dy), 1);

    return (pointf){from.x + dx / length * by, from.y + dy / length * by};
}

/* As a cubic curve, which ends where the heads of its arrows begin. */
static void put_way(struct drawing *d, size_t i, const struct picture_arc *arc)
{
    splines *s = ED_spl(d->edges[i]);
    bezier *b = &s->list[0];
    pointf from = {arc->x0, arc->y0}, to = {arc->x2, arc->y2}, *way = mem_calloc(4, sizeof(*way));

    b->sp = from;
    b->ep = to;
    if (b->sflag)
        from = towards(from, arc->x1, arc->y1, ARROW);
    if (b->eflag)
        to = towards(to, arc->x1, arc->y1, ARROW);
    way[0] = from;
    way[1] = (pointf){from.x + (arc->x1 - from.x) * 2 / 3, from.y + (arc->y1 - from.y) * 2 / 3};
    way[2] = (pointf){to.x + (arc->x1 - to.x) * 2 / 3, to.y + (arc->y1 - to.y) * 2 / 3};
    way[3] = to;
    b->list = way; /* the old one is the engine's, whose process ends soon */
    b->size = 4;
    s->size = 1;
    s->bb = (boxf){b->sp, b->sp};
    widen(&s->bb, b->ep);
    for (double t = 0.1; t < 1; t += 0.1) {
        const struct picture_point p = picture_arc_point(arc, t);

        widen(&s->bb, (pointf){p.x, p.y});
    }
    widen(&GD_bb(d->g), s->bb.LL);
    widen(&GD_bb(d->g), s->bb.UR);
}

/* What libgvc has not found room for stands where it covers least. */
static void put_label(struct drawing *d, size_t i, const struct picture_arc *arc,
                      struct picture_labels *labels)
{
    textlabel_t *label = ED_label(d->edges[i]);
    struct picture_point p;

    if (!label)
        return;
    p = picture_arc_point(arc, picture_labels_put(labels, arc, label->dimen.x, LABEL));
    label->pos = (pointf){p.x, p.y};
    label->set = 1;
}

static void take_label(struct drawing *d, size_t i, struct picture_labels *labels)
{
    const textlabel_t *label = ED_label(d->edges[i]);

    if (label && label->set)
        *vec_push(&labels->taken) = (struct picture_area){label->pos.x, label->pos.y, label->dimen.x, LABEL};
}

/* An arc by its ends and middle. */
static struct picture_arc arc_of(const bezier *b)
{
    const pointf *p = b->list, *end = p + b->size - 1, *joint = p + (b->size - 1) / 6 * 3;
    pointf m = *joint;

    if (b->size == 4)
        m = (pointf){(p[0].x + 3 * p[1].x + 3 * p[2].x + p[3].x) / 8,
                     (p[0].y + 3 * p[1].y + 3 * p[2].y + p[3].y) / 8};
    return (struct picture_arc){p->x,   p->y,  2 * m.x - (p->x + end->x) / 2, 2 * m.y - (p->y + end->y) / 2,
                                end->x, end->y};
}

/* Those that stay as they are, and lack a label's place only. */
static void complete_edge(struct drawing *d, size_t i, struct picture_labels *labels)
{
    const splines *s = ED_spl(d->edges[i]);
    struct picture_arc arc;

    if (!s || !s->size || !ED_label(d->edges[i]) || ED_label(d->edges[i])->set)
        return;
    arc = arc_of(&s->list[s->size / 2]);
    put_label(d, i, &arc, labels);
}

static void improve_edges(struct drawing *d)
{
    struct picture_area *at = areas_of(d);
    struct picture_arc *arcs = picture_route(d->p, at);
    struct picture_labels labels = {.nodes = at, .nnodes = d->p->nodes.n};

    for (size_t i = 0; i < d->p->edges.n; i++)
        if (!is_ours(d, i))
            take_label(d, i, &labels);
    for (size_t i = 0; i < d->p->edges.n; i++) {
        if (is_ours(d, i)) {
            put_way(d, i, &arcs[i]);
            put_label(d, i, &arcs[i], &labels);
        } else {
            complete_edge(d, i, &labels);
        }
    }
    picture_labels_release(&labels);
    free(arcs);
    free(at);
}

/* ---- in the child ---- */

static void add_area(struct buf *out, struct picture_area at)
{
    buf_add(out, &at, sizeof(at));
}

/* libgvc's y goes up from below. */
static void add_places(const struct drawing *d, struct result *r, struct buf *out)
{
    boxf all = GD_bb(d->g);

    r->width = all.UR.x - all.LL.x;
    r->height = all.UR.y - all.LL.y;
    for (size_t i = 0; i < d->p->nodes.n; i++) {
        pointf c = ND_coord(d->nodes[i]);
        struct picture_area at = d->p->nodes.a[i].at;

        at.x = c.x - all.LL.x;
        at.y = all.UR.y - c.y;
        add_area(out, at);
    }
    for (size_t i = 0; i < d->p->boxes.n && d->job->boxes; i++) {
        boxf b = GD_bb(d->boxes[i]);

        add_area(out, (struct picture_area){b.LL.x - all.LL.x, all.UR.y - b.UR.y, b.UR.x - b.LL.x,
                                            b.UR.y - b.LL.y});
    }
}

static uint32_t lay_out(struct drawing *d, GVC_t *gvc, struct result *r, struct buf *places, char **data,
                        unsigned *len)
{
    if (gvLayout(gvc, d->g, d->job->engine))
        return NO_ENGINE;
    if (d->job->format)
        improve_edges(d);
    add_places(d, r, places);
    if (d->job->format && gvRenderData(gvc, d->g, d->job->format, data, len))
        return NO_FORMAT;
    return DRAWN;
}

static void run(void *arg, struct buf *out)
{
    struct drawing *d = arg;
    struct result r = {0};
    struct buf places = {0};
    unsigned len = 0;
    char *data = NULL;
    char *plugins = self_part(SELF_PLUGINS);
    GVC_t *gvc;

    if (plugins) /* the host's are for another libgvc; of this process alone */
        setenv("GVBINDIR", plugins, 1);
    free(plugins);
    agseterrf(keep_message);
    gvc = gvContext();
    draw(d);
    r.status = lay_out(d, gvc, &r, &places, &data, &len);
    r.text = (uint32_t)messages.len;
    r.picture = len;
    buf_add(out, &r, sizeof(r));
    buf_add(out, buf_str(&places), places.len);
    buf_add(out, buf_str(&messages), messages.len);
    if (data)
        buf_add(out, data, len);
}

/* ---- here ---- */

static int take_places(struct picture *p, const struct gvc_job *job, const struct result *r, struct cursor *c)
{
    for (size_t i = 0; i < p->nodes.n; i++) {
        const void *at = cursor_bytes(c, sizeof(struct picture_area));

        if (at)
            memcpy(&p->nodes.a[i].at, at, sizeof(struct picture_area));
    }
    for (size_t i = 0; i < p->boxes.n && job->boxes; i++) {
        const void *at = cursor_bytes(c, sizeof(struct picture_area));

        if (at)
            memcpy(&p->boxes.a[i].at, at, sizeof(struct picture_area));
    }
    p->width = r->width;
    p->height = r->height;
    p->placed = 1;
    p->with_boxes = job->boxes;
    return c->bad ? -1 : 0;
}

static enum gvc_end cannot(const struct gvc_job *job, const struct result *r, const char *text, struct err *e)
{
    if (r->status == NO_ENGINE)
        err_set(
            e,
            "Graphviz here cannot lay out with %s: %.*s(is libgvc installed with its plugins, and `dot -c` "
            "run?)",
            job->engine, (int)r->text, text);
    else if (self_is_portable())
        err_set(e,
                "the portable wprof writes no %s: it has the part of Graphviz that makes svg and dot (an "
                "installed wprof "
                "makes it of the same session)",
                job->format);
    else
        err_set(e,
                "Graphviz here cannot write %s: %.*s(png and pdf need its cairo or pango plugin; svg and dot "
                "its core)",
                job->format, (int)r->text, text);
    return GVC_CANNOT;
}

static enum gvc_end take(struct picture *p, const struct gvc_job *job, const struct buf *from,
                         struct buf *out, struct err *e)
{
    struct cursor c = cursor_init(buf_str(from), from->len);
    const void *head = cursor_bytes(&c, sizeof(struct result));
    struct result r = {0};
    const char *text, *data;

    if (head)
        memcpy(&r, head, sizeof(r));
    if (head && r.status != NO_ENGINE && take_places(p, job, &r, &c))
        head = NULL;
    text = cursor_bytes(&c, r.text);
    data = cursor_bytes(&c, r.picture);
    if (!head || c.bad) {
        err_set(e, "Graphviz died laying out %zu nodes and %zu edges", p->nodes.n, p->edges.n);
        return GVC_TOO_MUCH;
    }
    if (r.status != DRAWN)
        return cannot(job, &r, text, e);
    if (strstr(text, "too large for cairo"))
        picture_note(p, "the picture is too large for a bitmap at full size and was made smaller: svg has no "
                        "such limit");
    if (r.picture)
        buf_add(out, data, r.picture);
    return GVC_DONE;
}

enum gvc_end gvc_run(struct picture *p, const struct gvc_job *job, struct buf *out, struct err *e)
{
    struct drawing d = {.p = p, .job = job};
    struct apart a = {.run = run, .arg = &d, .cpu_s = MAX_CPU_S, .wall_s = MAX_WALL_S};
    struct buf from = {0};
    enum gvc_end end = GVC_TOO_MUCH;

    switch (apart_run(&a, &from, e)) {
    case APART_DONE:
        end = take(p, job, &from, out, e);
        break;
    case APART_TOO_LONG:
        err_set(e, "Graphviz took more than %d s to lay out %zu nodes and %zu edges by %s", MAX_CPU_S,
                p->nodes.n, p->edges.n, job->engine);
        break;
    case APART_DIED:
        err_set(e, "Graphviz died laying out %zu nodes and %zu edges by %s", p->nodes.n, p->edges.n,
                job->engine);
        break;
    default:
        end = GVC_CANNOT;
    }
    buf_release(&from);
    return end;
}
